// SPDX-License-Identifier: Apache-2.0
// HotSpot's attach protocol, version 1: a request over the JVM's socket in its /tmp, which it opens when it
// finds a file of ours and gets a SIGQUIT. A JVM that does not expect that prints a thread dump instead, or
// dies: Wake makes sure.
//
//     1 NUL load NUL path NUL true NUL options NUL  -->
//                                                   <--  code, line feed, text, end
//
// Thread safety: full. Waits are bounded; a JVM that is stopped or in a long pause answers late.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "analyzer/attach/answer.h"
#include "analyzer/attach/target.h"
#include "trace/status.h"

namespace anttracks::analyzer {

// The JVM takes no longer text in one argument.
inline constexpr size_t kMostArgument = 1024;

// After this the JVM listens at its socket, or there is an obstacle.
Obstacle Wake(const Target& target, std::chrono::milliseconds wait);

// command and at most three arguments. An error says what the socket did. Only the process itself must have
// opened it: where a /tmp is shared, another one may have the same number within its namespace.
trace::Result<Answer> Execute(const Target& target, const std::vector<std::string>& words,
                              std::chrono::milliseconds wait);

}  // namespace anttracks::analyzer
