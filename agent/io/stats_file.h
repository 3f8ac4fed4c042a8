// SPDX-License-Identifier: Apache-2.0
// The file of stats=: the agent's counters as one JSON object, replaced as a whole each time.
//
// Thread safety: one thread at a time.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "trace/status.h"

namespace anttracks::io {

class StatsFile {
 public:
  // An error if it would be a file of the trace's.
  static trace::Status CheckName(const std::string& path, const std::string& trace, bool rotates);

  // Makes the file, so that a wrong path is told at once. An existing one is an error unless overwrite and it
  // is empty or has counters: they take the place of what is there.
  static trace::Result<std::unique_ptr<StatsFile>> Create(const std::string& path, bool overwrite);

  // A reader sees the old text or the new one, never a part (trace/output_file.h).
  trace::Status Write(std::string_view text);
  // For a trace that never began: nothing was written. Only what Create made: not an old file that was to be
  // replaced, nor what somebody put in its place.
  void Remove();

 private:
  explicit StatsFile(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;  // 0: there was a file
};

}  // namespace anttracks::io
