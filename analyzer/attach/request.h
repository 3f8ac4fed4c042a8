// SPDX-License-Identifier: Apache-2.0
// Sends a request to the agent in a JVM: has the JVM load the agent's library, again if need be, with options
// that name the request and a file for the reply (request=NAME,reply=PATH,OPTIONS).
//
// Thread safety: none. The file is in a new folder in the JVM's /tmp, which only the JVM's user can write to;
// both are removed afterwards.
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

// Reports every obstacle that can be found before it does anything to the process. Sets *reply to the agent's
// reply, even if it refused.
Obstacle Ask(const Target& target, const Question& question, nlohmann::ordered_json* reply);

// Makes the paths of file= and stats= absolute, as seen from folder. default_file: adds file= if it is missing.
// folder must be empty if the process sees other file names than we do.
std::string WithAbsolutePaths(std::string_view options, const std::string& folder, bool default_file);

}  // namespace anttracks::analyzer
