// SPDX-License-Identifier: Apache-2.0
// JSON output: two blanks a level, keys in the order given, invalid UTF-8 replaced.
//
// Thread safety: full.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace anttracks::analyzer {

inline std::string JsonText(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace anttracks::analyzer
