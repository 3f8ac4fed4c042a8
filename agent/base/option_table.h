// SPDX-License-Identifier: Apache-2.0
// The agent's options, one row each. Parsing, error texts, `help` and the tables in the documentation come from
// these rows.
//
// To add an option: a member of Options, whose initializer is the default, and a row; scripts/doc-tables
// rewrites the pages.
//
// Thread safety: none needed; the table is constant.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "agent/base/options.h"

namespace anttracks::core {

// What an option's value may be, and where it goes.
struct FlagOption {
  bool Options::*member;
};
// The words are in the order of T's values, with '|' between them.
template <class T>
struct ChoiceOption {
  T Options::*member;
  std::string_view words;
};
struct SizeOption {
  uint64_t Options::*member;
  uint64_t least, most;
};
struct CountOption {
  unsigned Options::*member;
  unsigned least, most;
};
struct FractionOption {
  double Options::*member;
  double least, most;
  std::string_view example;
};
struct PercentOption {
  double Options::*member;
  double least, most;
  std::string_view example;
};
struct PathOption {
  std::string Options::*member;
};

using OptionType =
    std::variant<FlagOption, ChoiceOption<Mode>, ChoiceOption<WhenFull>, ChoiceOption<Compression>,
                 ChoiceOption<LogLevel>, SizeOption, CountOption, FractionOption, PercentOption, PathOption>;

struct Option {
  std::string_view name;
  std::string_view old_name = {};  // still accepted, with a warning; empty: none
  OptionType type;
  std::string_view zero = {};  // what the value 0 stands for, which is valid then; empty: nothing of its own
  ValidIn valid_in = ValidIn::kBoth;
  bool only_with_maxsize = false;
  bool changeable = false;        // while a trace runs
  bool basic = false;             // also in the README
  std::string_view meaning;       // Markdown; no link, as it is printed by `help`, too
  std::string_view section = {};  // of docs/agent.md that says more
};

std::span<const Option> OptionRows();

// By its name or the old one; nullptr: there is none.
const Option* FindOption(std::string_view name);
// The option that is most likely meant by a name that does not exist; nullptr: none is close.
const Option* NearestOption(std::string_view name);

// Into its member. False: the value is not valid.
bool SetOption(const Option& option, std::string_view value, Options* options);
// What may be given, such as "a size from 1K to 4M".
std::string ValidValues(const Option& option);
// As it would be given; empty: no value.
std::string DefaultValue(const Option& option);

}  // namespace anttracks::core
