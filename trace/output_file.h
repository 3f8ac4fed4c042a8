// SPDX-License-Identifier: Apache-2.0
// Creates and replaces files: which file may be replaced, and how to write one as a whole or not at all.
//
// Files are made readable for their owner only (mode 0600), since a trace contains the command line and the
// names of classes and methods. If the last part of a path is a symbolic link, it is never followed.
//
// Thread safety: none needed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "trace/status.h"

namespace anttracks::trace {

inline constexpr unsigned kFileMode = 0600;

// What a file with this beginning is, for messages: "a gzip archive", "empty", "something else".
std::string_view KindOfContents(std::span<const uint8_t> start);

// Whether a file with this beginning is a file of a trace. So is one that is empty or has a part of the magic
// number: a process that died when it began a trace leaves such files.
bool IsTraceFile(std::span<const uint8_t> start);

// Why the file at the path must not be replaced: what it is, if it is not a regular file or `ours` returns
// false for its first 64 bytes. Empty: it may be replaced, or does not exist.
std::string WhyNotReplaced(const std::string& path, bool (*ours)(std::span<const uint8_t> start));
// Whether to replace a file.
enum class Replace : bool { kNo, kYes };
// Files that may be replaced by one of their sort.
struct FileSort {
  const char* what;                                // "a flame graph"; "": they have no name
  bool (*is_one)(std::span<const uint8_t> start);  // of a file's first 64 bytes
};
// Error, with what to do: there is something at the path that is not to be replaced.
Status MayWrite(const std::string& path, const FileSort& sort, Replace replace);
// What to say of an error when the path was written: an errno value; EEXIST with Replace::kNo.
Status CannotWrite(const std::string& path, int error);

// What is at the path if it is not a regular file: "a FIFO", "a folder". Empty: a regular file, or nothing.
// Follows links.
std::string NotRegular(const std::string& path);

// Writes a file beside path, with an unpredictable name, and renames it to path: a reader sees the old contents
// or the new ones. Returns 0 or an errno value; with kNo EEXIST if there is something at the path by then.
[[nodiscard]] int WriteWhole(const std::string& path, std::span<const uint8_t> bytes,
                             Replace replace = Replace::kYes);
// The same after MayWrite.
Status WriteFile(const std::string& path, std::span<const uint8_t> bytes, const FileSort& sort,
                 Replace replace);
// The same for a file that is written in parts. Its functions return 0 or an errno value.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string path) : path_(std::move(path)) {}
  ~UnfinishedFile();  // deletes the file, unless Finish has renamed it
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  [[nodiscard]] int Create();
  [[nodiscard]] int Write(std::span<const uint8_t> bytes);
  // Renames it to path, as WriteWhole. Without effect if a call before has failed.
  [[nodiscard]] int Finish(Replace replace = Replace::kYes);

 private:
  const std::string path_;
  std::string name_;  // while it exists
  int fd_ = -1;
  int error_ = 0;
};

// Deletes files that processes left when they died in WriteWhole of that path. Must not run while a process may
// be in WriteWhole.
void RemoveUnfinished(const std::string& path);
// Whether path + text may be the name of such an unfinished file.
bool IsUnfinishedSuffix(std::string_view text);

}  // namespace anttracks::trace
