// SPDX-License-Identifier: Apache-2.0
// Parses the files in /proc/PID. The process controls parts of their contents.
//
// Thread safety: full.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/attach/target.h"

namespace anttracks::analyzer {

// From /proc/PID/status: users, groups, process numbers, state, signals.
void ReadStatus(std::string_view status, Target* target);

// From a line of /proc/PID/maps: the path of the JVM's or the agent's library, if it is mapped there.
void ReadMapsLine(std::string_view line, Target* target);

// The NUL-terminated strings in the text. Empty ones are left out, as each would take many times its byte in
// memory.
std::vector<std::string> Strings(std::string_view text);

// From /proc/PID/environ: the variables with options for a JVM.
void ReadEnvironment(std::string_view environment, Target* target);

}  // namespace anttracks::analyzer
