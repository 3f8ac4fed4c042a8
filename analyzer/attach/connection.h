// SPDX-License-Identifier: Apache-2.0
// HotSpot's attach protocol, version 1: a request over a socket in the JVM's /tmp. The JVM opens the socket
// when it gets a SIGQUIT and finds a certain file. A JVM that does not expect that prints a thread dump, or
// dies, so Wake checks first.
//
//     1 NUL load NUL path NUL true NUL options NUL  -->
//                                                   <--  code, line feed, text, end
//
// Thread safety: full. All waits are bounded; a JVM that is stopped or in a long pause may not answer in time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "analyzer/attach/answer.h"
#include "analyzer/attach/target.h"
#include "trace/status.h"

namespace anttracks::analyzer {

// The JVM accepts no longer argument.
inline constexpr size_t kMostArgument = 1024;

// Makes the JVM listen at its socket, or returns why it does not.
Obstacle Wake(const Target& target, std::chrono::milliseconds wait);

// words: the command and at most three arguments. Error: the text says what failed at the socket. Also checks
// that the target has opened the socket: with a shared /tmp another process may have the same number in its
// namespace.
trace::Result<Answer> Execute(const Target& target, const std::vector<std::string>& words,
                              std::chrono::milliseconds wait);

}  // namespace anttracks::analyzer
