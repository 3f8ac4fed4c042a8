// SPDX-License-Identifier: Apache-2.0
// Files for the agent's answers to requests, and free names for further traces.
//
// Thread safety: none needed.
#pragma once

#include <string>
#include <string_view>

#include "trace/status.h"

namespace anttracks::io {

// Writes the answer into a file that the requesting process has made. Error: it is not an empty regular file of
// this process's user.
trace::Status WriteReply(const std::string& path, std::string_view text);

// The path, or the next free one if it exists: a.trace, a-2.trace, a-3.trace. PATH also counts as existing if
// PATH.0 does, the first data file of a rotated trace. A device or a FIFO is always free: it can be written to
// again.
std::string FreeName(const std::string& path);

}  // namespace anttracks::io
