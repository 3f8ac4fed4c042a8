// SPDX-License-Identifier: Apache-2.0
// A trace file on disk.
//
// Thread safety: one thread at a time; CloseInForkedChild is async-signal-safe and touches the descriptor only.
// Ownership: owns the descriptor.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>

#include "agent/io/sink.h"

namespace anttracks::io {

class TraceFile : public Sink {
 public:
  // An existing file is an error unless overwrite. Then a trace, or an empty file, makes place for a new one, a
  // FIFO or a character device (also behind a link) is written to, and anything else is an error.
  static trace::Result<std::unique_ptr<TraceFile>> Create(const std::string& path, bool overwrite);
  ~TraceFile() override;

  trace::Status Write(std::span<const uint8_t> bytes) override;
  trace::Status Close() override;
  trace::Status Check() override;
  // For a trace that never began. Also after Close.
  void Remove() override;
  void CloseInForkedChild() override;

  // An error if Create with overwrite would be one because of what is there.
  static trace::Status CheckReplaced(const std::string& path);

  const std::string& path() const { return path_; }

 private:
  TraceFile(std::string path, int fd);

  const std::string path_;
  std::atomic<int> fd_;
  bool regular_ = false;  // not a device or pipe
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t size_ = 0;  // behind the last complete write
};

}  // namespace anttracks::io
