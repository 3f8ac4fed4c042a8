// SPDX-License-Identifier: Apache-2.0
// The files a trace consists of: opens those that the user named and finds the others of a rotated trace.
//
// A definitions file stands for all its data files: they are found by listing its folder. A data file that is
// named without its definitions file finds it by its name. Files that are named are taken as they are named.
// The first data file brings its provenance file with it, if there is one; those of the others say nothing that
// the events do not.
//
// Thread safety: none. Ownership: a FileSet owns its open files, so that a file which the agent deletes later
// can still be read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trace/format.h"
#include "trace/status.h"

namespace anttracks::trace {

struct FileInfo {
  std::string path;
  uint64_t bytes = 0;  // when it was opened; what a running agent adds later is not read
  uint16_t major = 0, minor = 0;
  uint32_t header_bytes = 0;
  uint64_t wall_clock_ns = 0;  // since 1970-01-01 UTC
  uint64_t trace_id = 0;
  uint64_t process_id = 0;
  uint32_t index = 0;
  uint32_t flags = 0;            // kFileDefinitions, kFileData, kFileProvenance
  uint64_t truncated_bytes = 0;  // behind the last complete chunk; known when the file was read

  bool is_definitions() const { return (flags & kFileDefinitions) != 0; }
  bool is_provenance() const { return !is_definitions() && (flags & kFileProvenance) != 0; }
  bool is_data() const { return !is_definitions() && !is_provenance() && (flags & kFileData) != 0; }
  bool has_events() const { return !is_definitions() && !is_provenance(); }
};

// A file open for reading.
class InputFile {
 public:
  explicit InputFile(int descriptor) : descriptor_(descriptor) {}
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Bytes read, less than asked for only at the end of the file; -1 with errno set.
  ssize_t ReadAt(uint64_t offset, std::span<uint8_t> out) const;
  // Bytes of the file now; false with errno set, or with errno 0 if it is no regular file.
  bool Size(uint64_t* bytes) const;

 private:
  int descriptor_;
};

struct TraceFile {
  FileInfo info;
  std::unique_ptr<InputFile> file;
};

struct FileSet {
  // The definitions file first if there is one, then the first data file's provenance file if there is one,
  // then data files by their index. Never empty.
  std::vector<TraceFile> files;
  // Files beside a definitions file that have the name of a data file and were left out, and why.
  std::vector<std::string> warnings;
};

// The error says what a file is when it is no trace, or which file of a rotated trace is missing.
Result<FileSet> OpenFileSet(const std::vector<std::string>& paths);

// Takes the path of a data file apart: that of its definitions file, and the index. False if it does not end in
// a number.
bool SplitDataPath(const std::string& path, std::string* definitions, uint64_t* index);

}  // namespace anttracks::trace
