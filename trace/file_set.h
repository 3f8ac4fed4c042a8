// SPDX-License-Identifier: Apache-2.0
// The files of a trace: opens those that the user named, and finds the others of a rotated trace.
//
// A definitions file stands for all its data files, which are found in its folder. For a data file that is
// named without its definitions file, the latter is found by name. The provenance file of the first data file
// is opened with it, if there is one; the others would add nothing to what the events say.
//
// Thread safety: none. Ownership: a FileSet owns its open files, so that a file can be read even after the
// agent has deleted it.
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
  uint64_t bytes = 0;  // when it was opened; what a running agent appends later is not read
  uint16_t major = 0, minor = 0;
  uint32_t header_bytes = 0;
  uint64_t wall_clock_ns = 0;  // since 1970-01-01 UTC
  uint64_t trace_id = 0;
  uint64_t process_id = 0;
  uint32_t index = 0;
  uint32_t flags = 0;            // kFileDefinitions, …
  uint64_t whole_bytes = 0;      // of a provenance file when it was written; 0: its header does not say
  uint64_t truncated_bytes = 0;  // after the last complete chunk; known once the file was read

  bool is_definitions() const { return (flags & kFileDefinitions) != 0; }
  bool is_provenance() const { return !is_definitions() && (flags & kFileProvenance) != 0; }
  bool provenance_in_part() const { return is_provenance() && (flags & kFileProvenanceInPart) != 0; }
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

  // The number of bytes read: fewer than out.size() only at the end of the file. -1 and errno: an error.
  ssize_t ReadAt(uint64_t offset, std::span<uint8_t> out) const;
  // The file's present size. False: an error, with errno set; errno 0 if it is not a regular file.
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
  // Files that look like parts of the trace by their names but were left out, and why.
  std::vector<std::string> warnings;
};

// Error: a file is not a trace (the text says what it is), or a file of a rotated trace is missing.
Result<FileSet> OpenFileSet(const std::vector<std::string>& paths);

// The data files beside that definitions file with this index or a later one, by their index; what is not to be
// opened, or not of the trace, is left out.
FileSet OpenNewDataFiles(const FileInfo& definitions, uint64_t from_index);

// Splits the path of a data file into the path of its definitions file and the index. False: it does not end in
// a number.
bool SplitDataPath(const std::string& path, std::string* definitions, uint64_t* index);

}  // namespace anttracks::trace
