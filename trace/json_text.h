// SPDX-License-Identifier: Apache-2.0
// JSON that a trace holds.
//
// Thread safety: full.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace anttracks::trace {

// Whether no bracket lies within more than that many others. Deep values would be copied and printed by
// recursion.
inline bool IsShallow(std::string_view json, size_t most = 32) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); i++) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') i++;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > most) return false;
    } else if ((c == ']' || c == '}') && depth != 0) {
      depth--;
    }
  }
  return true;
}

// Discarded (is_discarded()) if it is no JSON, or too deep.
template <class Json>
Json ParseJson(std::string_view text) {
  if (!IsShallow(text)) return Json(nlohmann::detail::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace anttracks::trace
