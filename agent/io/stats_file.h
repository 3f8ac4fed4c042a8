// SPDX-License-Identifier: Apache-2.0
// The file of stats=: the agent's counters as one JSON object, replaced as a whole each time.
//
// Thread safety: one thread at a time.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "agent/base/policies.h"
#include "trace/status.h"

namespace anttracks::io {

class StatsFile {
 public:
  // Error: path would be a file of the trace. rotates: whether the trace rotates.
  static trace::Status CheckName(const std::string& path, const std::string& trace, bool rotates);

  // Makes the file, so that a wrong path is reported at once. An existing file is an error with kRefuse; with
  // kReplace it is replaced at the first Write if it is empty or has counters, otherwise an error.
  static trace::Result<std::unique_ptr<StatsFile>> Create(const std::string& path, core::IfExists if_exists);

  // Replaces the whole file: a reader sees the old text or the new one (trace/output_file.h).
  trace::Status Write(std::string_view text);
  // For a trace that never began: deletes the file that Create made, but not an older file, nor what somebody
  // put in its place.
  void Remove();

 private:
  explicit StatsFile(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;  // 0: the file existed before
};

}  // namespace anttracks::io
