// SPDX-License-Identifier: Apache-2.0
// Parses JSON that comes from a trace, which may be damaged or hostile.
//
// Thread safety: full.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace anttracks::trace {

// Whether brackets are nested at most `most` deep. Copying and printing recurse, so that deeper values could
// overflow the stack.
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

// is_discarded() if the text is not JSON, or is nested too deeply.
template <class Json>
Json ParseJson(std::string_view text) {
  if (!IsShallow(text)) return Json(nlohmann::detail::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace anttracks::trace
