// SPDX-License-Identifier: Apache-2.0
// Descriptors in a process that is somebody else's.
//
// Thread safety: none needed.
#pragma once

#include <string>
#include <string_view>

namespace anttracks::io {

// Like open() of a file, a new one with mode 0600, with O_CLOEXEC and O_NOCTTY, above the standard streams.
// Never waits: a FIFO that nobody reads is ENXIO. -1 and errno on errors.
int Open(const std::string& path, int flags);

// The descriptor, or in the place of 0, 1 or 2 a copy above: where the host has closed its standard streams,
// what it prints must not go to a file of the agent. Negative ones stay; -1 and errno on errors.
int AboveStandardStreams(int fd);

// Closes all descriptors, but the standard streams, of files whose names are the prefix and a number, whatever
// follows. The prefix is absolute and without links. For a child after a fork: async-signal-safe, no memory is
// taken.
void CloseNumbered(std::string_view prefix) noexcept;

}  // namespace anttracks::io
