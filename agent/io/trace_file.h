// SPDX-License-Identifier: Apache-2.0
// A trace file on disk.
//
// Thread safety: one thread at a time; CloseInForkedChild is async-signal-safe and uses the descriptor only.
// Ownership: owns the descriptor, unless the program closes it by mistake and opens a file of its own with that
// number: that is noticed, and left alone.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>

#include "agent/base/policies.h"
#include "agent/io/sink.h"

namespace anttracks::io {

class TraceFile : public Sink {
 public:
  // An existing file is an error with kRefuse. With kReplace a trace or an empty file is replaced, a FIFO or a
  // character device (also through a link) is written to, and anything else is an error.
  static trace::Result<std::unique_ptr<TraceFile>> Create(const std::string& path, core::IfExists if_exists);
  ~TraceFile() override;

  trace::Status Write(std::span<const uint8_t> bytes) override;
  trace::Status Close() override;
  trace::Status Check() override;
  // See Sink.
  void Remove() override;
  void CloseInForkedChild() override;

  // Error: there is a file that Create with kReplace would not replace.
  static trace::Status CheckReplaced(const std::string& path);

  const std::string& path() const { return path_; }

 private:
  TraceFile(std::string path, int fd);
  // Whether a file is the one that was opened here.
  bool IsOurs(const struct stat& file) const;
  // Whether the descriptor is open, and that of another file. Async-signal-safe.
  bool IsOthers(int fd) const;
  trace::Status DescriptorLost();

  const std::string path_;
  std::atomic<int> fd_;
  bool known_ = false;    // device and inode
  bool regular_ = false;  // not a device or pipe
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t size_ = 0;  // after the last complete write
};

}  // namespace anttracks::io
