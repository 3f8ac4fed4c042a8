// SPDX-License-Identifier: Apache-2.0
// Files that are made and replaced: what may be replaced, and how something appears whole or not at all.
//
// Everything made here is for its owner alone (mode 0600): a trace has the command line, names of classes and
// of methods. The last part of a path is never followed if it is a symbolic link.
//
// Thread safety: none needed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace anttracks::trace {

inline constexpr unsigned kFileMode = 0600;

// What begins like that: "a gzip archive", "empty", "something else".
std::string_view KindOfContents(std::span<const uint8_t> start);

// Whether a file that begins like that is one of a trace, or what a process leaves that dies when it begins
// one: empty, or with less than the magic number.
bool IsTraceFile(std::span<const uint8_t> start);

// Why the file at the path is not to be replaced: what it is, if it is no regular file or `ours` does not take
// its first 64 bytes. Empty: it may be, or there is none.
std::string WhyNotReplaced(const std::string& path, bool (*ours)(std::span<const uint8_t> start));
// The same for what is no regular file: "a FIFO", "a folder". Empty: a regular file, or there is none. Follows
// links.
std::string NotRegular(const std::string& path);

// Writes a file beside path, with a name that nobody can know before, and gives it the name: a reader sees the
// old contents or the new ones. 0, or the number of the error.
[[nodiscard]] int WriteWhole(const std::string& path, std::span<const uint8_t> bytes);
// Deletes what processes have left that died in WriteWhole of that path. Not while one may be in it.
void RemoveUnfinished(const std::string& path);
// Whether path + text may be such a file's name.
bool IsUnfinishedSuffix(std::string_view text);

}  // namespace anttracks::trace
