// SPDX-License-Identifier: Apache-2.0
// What a command prints as JSON.
//
// Thread safety: none.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {

using Words = std::vector<std::string>;

// words: the command and its options, without --json. It must end with 0.
inline nlohmann::json Json(const std::string& trace, Words words) {
  words.emplace_back("--json");
  const CommandResult result = Anttracks(trace, words);
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  return nlohmann::json::parse(result.out);
}

}  // namespace anttracks::testing
