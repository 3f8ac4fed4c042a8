// SPDX-License-Identifier: Apache-2.0
// Files by which the agent answers, and names for traces that begin again.
//
// Thread safety: none needed.
#pragma once

#include <string>
#include <string_view>

#include "trace/status.h"

namespace anttracks::io {

// Into a file that the one who asked has made: regular, empty, and of this process's user; nothing else is
// written to.
trace::Status WriteReply(const std::string& path, std::string_view text);

// The path, or if it is taken the next free one: a.trace, a-2.trace, a-3.trace. A trace that rotates takes
// PATH.0, too. A device or a FIFO is never taken: it can be written again, and beside it is no place for files.
std::string FreeName(const std::string& path);

}  // namespace anttracks::io
