// SPDX-License-Identifier: Apache-2.0
// The answers to a request: the JVM's, from its socket, and the agent's, from a file. The process may be
// hostile, so size, depth and types of both are checked here, once.
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

inline constexpr size_t kMostAnswer = 1 << 20;  // the most that is read of each of the two

struct Answer {
  int code = 0;  // 0: success
  std::string text;
};

// "code, line feed, text".
trace::Result<Answer> ParseAnswer(std::string_view bytes);

// Sets *reply to the agent's reply, even if it refused: an object whose members, if they exist, have the types
// that the agent uses. If there is no obstacle it has all members that a reply to this request must have.
Obstacle ParseReply(std::string_view request, const Answer& answer, std::string_view file,
                    nlohmann::ordered_json* reply);

}  // namespace anttracks::analyzer
