// SPDX-License-Identifier: Apache-2.0
// Output of attach and ctl. Text from another process is printed without its control characters.
//
// Thread safety: none.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/attach/target.h"
#include "analyzer/cli/session.h"

namespace anttracks::analyzer {

// Prints why it cannot be done; returns the exit code.
int Refuse(Session& session, const Obstacle& obstacle);

// Prints JSON with escapes for all characters that are not ASCII, as terminals do not act on control characters
// only.
void PrintJson(Session& session, const nlohmann::ordered_json& json);

// Prints the agent's reply to the request, which ParseReply must have checked; returns the exit code.
int Report(Session& session, const std::string& request, const Target& target, nlohmann::ordered_json reply);

}  // namespace anttracks::analyzer
