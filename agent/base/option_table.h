// SPDX-License-Identifier: Apache-2.0
// The agent's options, one row each. Parsing, error texts, `help` and the tables in the documentation come from
// these rows.
//
// To add an option: a member of Options, whose initializer is the default, and a row; scripts/doc-tables
// rewrites the pages.
//
// Thread safety: none needed; the table is constant.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "agent/base/options.h"

namespace anttracks::core {

// One type per kind of value: which values are valid, and the member that they set.
struct FlagOption {
  bool Options::*member;
};
// words: one for each value of T, in their order, separated by '|'.
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
// A number of seconds, minutes or hours.
struct TimeOption {
  std::chrono::seconds Options::*member;
  std::chrono::seconds least, most;
  std::string_view word;  // is also valid, and sets 0
  std::string_view word_means;
};

using OptionType = std::variant<FlagOption, ChoiceOption<Mode>, ChoiceOption<WhenFull>,
                                ChoiceOption<Compression>, ChoiceOption<LogLevel>, SizeOption, CountOption,
                                FractionOption, PercentOption, PathOption, TimeOption>;

struct Option {
  std::string_view name;
  std::string_view old_name = {};  // still accepted, with a warning; empty: none
  OptionType type;
  std::string_view automatic = {};  // what the word auto means as a size; empty: it is not valid
  std::string_view zero = {};       // what the value 0 means; empty: 0 has no meaning of its own
  ValidIn valid_in = ValidIn::kAll;
  bool only_with_maxsize = false;
  bool changeable = false;        // can be changed while a trace runs
  bool basic = false;             // is also in the README
  std::string_view meaning;       // Markdown without links, as `help` prints it, too
  std::string_view section = {};  // the section of docs/agent.md that says more
};

std::span<const Option> OptionRows();

// The option with this name or old name; nullptr: there is none.
const Option* FindOption(std::string_view name);
// The option that was most likely meant by an unknown name; nullptr: none is similar.
const Option* NearestOption(std::string_view name);

// Sets the option's member. False: the value is not valid.
bool SetOption(const Option& option, std::string_view value, Options* options);
// Which values are valid, such as "a size from 1K to 4M".
std::string ValidValues(const Option& option);
// The default as a user would write it; empty: no value.
std::string DefaultValue(const Option& option);

}  // namespace anttracks::core
