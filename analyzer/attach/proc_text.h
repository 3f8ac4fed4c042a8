// SPDX-License-Identifier: Apache-2.0
// What the texts in /proc/PID say about a process. Parts of them are the process' own words.
//
// Thread safety: full.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/attach/target.h"

namespace anttracks::analyzer {

// Of /proc/PID/status: users, groups, numbers, state, signals.
void ReadStatus(std::string_view status, Target* target);

// A line of /proc/PID/maps: the JVM and the agent, if it is a file's of that name.
void ReadMapsLine(std::string_view line, Target* target);

// The strings that NULs end, without empty ones: a string takes many times the byte that an empty one is.
std::vector<std::string> Strings(std::string_view text);

// Of /proc/PID/environ: the variables that hold options for a JVM.
void ReadEnvironment(std::string_view environment, Target* target);

}  // namespace anttracks::analyzer
