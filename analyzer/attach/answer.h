// SPDX-License-Identifier: Apache-2.0
// What comes back from a process that was asked: the JVM's answer at its socket, and the agent's in a file.
// Both are the process' own words, so size, depth and types are checked here, once.
//
// Thread safety: full. Units: bytes.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "analyzer/attach/target.h"
#include "trace/status.h"

namespace anttracks::analyzer {

inline constexpr size_t kMostAnswer = 1 << 20;  // what is read, of each of the two

struct Answer {
  int code = 0;  // 0: it was done
  std::string text;
};

// "code, line feed, text".
trace::Result<Answer> ParseAnswer(std::string_view bytes);

// *reply: what the agent said, also when it refused; an object whose members have the types that the agent
// gives them, as far as they are there. What a request of that name must answer is there unless there is an
// obstacle.
Obstacle ParseReply(std::string_view request, const Answer& answer, std::string_view file,
                    nlohmann::ordered_json* reply);

}  // namespace anttracks::analyzer
