// SPDX-License-Identifier: Apache-2.0
// HotSpot's attach protocol, version 1: a request over the JVM's socket in its /tmp, which it opens when it finds a
// file of ours and gets a SIGQUIT. A JVM that does not expect that prints a thread dump instead, or dies: Wake makes sure.
//
//     1 NUL load NUL path NUL true NUL options NUL  -->
//                                                   <--  code, line feed, text, end
//
// Thread safety: full. Waits are bounded; a JVM that is stopped or in a long pause answers late.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "analyzer/attach/target.h"
#include "trace/status.h"

namespace anttracks::analyzer {

struct Answer {
  int code = 0;  // 0: it was done
  std::string text;
};

// The JVM takes no longer text in one argument.
inline constexpr size_t kMostArgument = 1024;

// The /tmp that the process sees, which its user may own: never by a path, as links in it would lead anywhere.
// A descriptor to be closed; -1: errno says why.
int OpenTmp(const Target& target);

// After this the JVM listens at target.socket(), or there is an obstacle.
Obstacle Wake(const Target& target, std::chrono::milliseconds wait);

// command and at most three arguments. An error says what the socket did. server: the process that must have opened the
// socket: where a /tmp is shared, another one may have the same number within its namespace.
trace::Result<Answer> Execute(const std::string& socket, pid_t server, const std::vector<std::string>& words,
                              std::chrono::milliseconds wait);

}  // namespace anttracks::analyzer
