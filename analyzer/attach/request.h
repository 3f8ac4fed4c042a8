// SPDX-License-Identifier: Apache-2.0
// Asks the agent in a JVM for something: has the JVM load the library, once more if need be, with options that
// name a request and a file for the answer (agent: request=NAME,reply=PATH,OPTIONS).
//
// Thread safety: none. The file is in a folder of its own in the /tmp that the JVM sees, which only the JVM's
// user can write; both are removed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "analyzer/attach/target.h"

namespace anttracks::analyzer {

struct Question {
  std::string name;     // attach, start, stop, rotate, status, dump-stats
  std::string options;  // of attach and start
  std::string library;  // as the process names it
};

// Everything that is wrong with a process is told before it is touched. *reply: what the agent said, also when
// it refused.
Obstacle Ask(const Target& target, const Question& question, nlohmann::ordered_json* reply);

// The options with file= and stats= made absolute, relative to the folder. default_file: file= is added if it
// is not there. folder is empty when the process names files differently.
std::string WithAbsolutePaths(std::string_view options, const std::string& folder, bool default_file);

}  // namespace anttracks::analyzer
