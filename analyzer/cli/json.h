// SPDX-License-Identifier: Apache-2.0
// JSON output: indented by two blanks per level, keys in the given order, invalid UTF-8 replaced, and
// characters that a terminal would act on escaped.
//
// Thread safety: full.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/cli/text.h"

namespace anttracks::analyzer {

// In one line, without its end.
inline std::string JsonLine(const nlohmann::ordered_json& json) {
  return EscapedJson(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

inline std::string JsonText(const nlohmann::ordered_json& json) {
  return EscapedJson(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n";
}

}  // namespace anttracks::analyzer
