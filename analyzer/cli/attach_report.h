// SPDX-License-Identifier: Apache-2.0
// What attach and ctl print. What another process said goes to the terminal without its control characters.
//
// Thread safety: none.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/attach/target.h"
#include "analyzer/cli/session.h"

namespace anttracks::analyzer {

// Prints why it cannot be done; the exit code.
int Refuse(Session& session, const Obstacle& obstacle);

// Prints it with escapes for all that is not ASCII, as a terminal may act on more than control characters.
void PrintJson(Session& session, const nlohmann::ordered_json& json);

// Prints what the agent answered to the request of that name, as ParseReply lets it through; the exit code.
int Report(Session& session, const std::string& request, const Target& target, nlohmann::ordered_json reply);

}  // namespace anttracks::analyzer
