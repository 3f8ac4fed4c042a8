// SPDX-License-Identifier: Apache-2.0
// File descriptors in a process that is not ours.
//
// Thread safety: none needed.
#pragma once

#include <string>
#include <string_view>

namespace anttracks::io {

// Like open() with O_CLOEXEC and O_NOCTTY; new files get mode 0600. The descriptor is above the standard
// streams. Never waits: a FIFO without a reader gives ENXIO. -1 and errno: an error.
int Open(const std::string& path, int flags);

// Moves a descriptor that is 0, 1 or 2 above these; returns others, and negative ones, unchanged. If the host
// has closed its standard streams, its output must not go to a file of the agent. -1 and errno: an error.
int AboveStandardStreams(int fd);

// Closes all descriptors, except the standard streams, of files whose paths begin with the prefix and a number.
// The prefix must be absolute and free of symbolic links. For a child after a fork: async-signal-safe,
// allocates no memory.
void CloseNumbered(std::string_view prefix) noexcept;

}  // namespace anttracks::io
