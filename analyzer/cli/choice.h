// SPDX-License-Identifier: Apache-2.0
// The values of an option that takes one of a few words: a table of enumerators and their names, in which each
// is looked up in one place only.
//
// Thread safety: full.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/nearest.h"

namespace anttracks::analyzer {

template <class Enum>
struct Choice {
  Enum value;
  std::string_view name;
};

template <class Enum>
std::vector<std::string_view> NamesOf(std::span<const Choice<Enum>> choices) {
  std::vector<std::string_view> names;
  for (const Choice<Enum>& choice : choices) names.push_back(choice.name);
  return names;
}

// "class, site, thread"
inline std::string Joined(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

template <class Enum>
std::string_view NameOf(std::span<const Choice<Enum>> choices, Enum value) {
  const auto found =
      std::find_if(choices.begin(), choices.end(), [&](const Choice<Enum>& c) { return c.value == value; });
  return found == choices.end() ? std::string_view() : found->name;
}

// The value with this name; nullopt: *why says what is wrong and which names exist.
template <class Enum>
std::optional<Enum> Choose(std::span<const Choice<Enum>> choices, std::string_view name, std::string* why) {
  for (const Choice<Enum>& choice : choices) {
    if (choice.name == name) return choice.value;
  }
  const std::vector<std::string_view> names = NamesOf(choices);
  const std::string meant = trace::DidYouMean(name, names);
  *why = "no '" + std::string(name) + "'" + (meant.empty() ? "; it is one of " + Joined(names) : meant);
  return std::nullopt;
}

}  // namespace anttracks::analyzer
