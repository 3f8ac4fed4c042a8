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

// The same for values that keep the order of their keys, which take time that grows with the square of their
// number. is_discarded() also if there are more of them than any agent writes.
inline nlohmann::ordered_json ParseOrderedJson(std::string_view text) {
  constexpr int kMostDepth = 64;
  constexpr size_t kMostValues = 10'000;
  using nlohmann::ordered_json;
  size_t values = 0;
  bool bounded = true;
  const auto take = [&](int depth, ordered_json::parse_event_t, const ordered_json&) {
    bounded &= depth <= kMostDepth && ++values <= kMostValues;
    return bounded;
  };
  ordered_json json = ordered_json::parse(text, take, /*allow_exceptions=*/false);
  return bounded ? json : ordered_json(ordered_json::value_t::discarded);
}

}  // namespace anttracks::trace
