// SPDX-License-Identifier: Apache-2.0
#include "agent/base/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "trace/nearest.h"

namespace anttracks::core {
namespace {

constexpr uint64_t kKilo = 1 << 10, kMega = 1 << 20, kGiga = 1 << 30;
constexpr uint64_t kUnlimited = std::numeric_limits<int64_t>::max();

constexpr Option kOptions[] = {
    {.name = "mode",
     .type = ChoiceOption<Mode>{&Options::mode, "auto|full|sample|census"},
     .basic = true,
     .meaning = "what is recorded: every object, which takes the patched JVM (`full`), samples, on any JVM "
                "(`sample`), or whichever of them the JVM can do (`auto`); or how much is live, at intervals, "
                "which takes "
                "the patched JVM (`census`)",
     .section = "Sampling"},
    {.name = "every",
     .type = TimeOption{&Options::every, std::chrono::seconds(1), std::chrono::hours(24), "gc",
                        "after each collection of the old space"},
     .valid_in = ValidIn::kCensus,
     .changeable = true,
     .meaning = "time between two censuses; the next collection is followed by one",
     .section = "Census"},
    {.name = "interval",
     .type = SizeOption{&Options::interval, 0, kGiga},
     .zero = "every object that the JVM reports",
     .valid_in = ValidIn::kSample,
     .changeable = true,
     .meaning = "bytes of allocation between two samples, on average"},
    {.name = "depth",
     .type = CountOption{&Options::depth, 1, 256},
     .valid_in = ValidIn::kSample,
     .meaning = "stack frames per sample"},
    {.name = "stacks",
     .type = SizeOption{&Options::stack_bytes, 4 * kKilo, kGiga},
     .automatic = "512K, or more while stacks would take more than 0.5% of the program's CPU time",
     .zero = "no stacks",
     .valid_in = ValidIn::kFull,
     .meaning = "bytes that a thread allocates between two call stacks that are sampled, on average",
     .section = "Call stacks"},
    {.name = "file",
     .type = PathOption{&Options::file},
     .basic = true,
     .meaning = "the trace; must not exist yet",
     .section = "Files"},
    {.name = "overwrite",
     .type = FlagOption{&Options::overwrite},
     .meaning = "replace what exists under the names of `file` and `stats`, if it is a trace, or counters",
     .section = "Files"},
    {.name = "maxsize",
     .type = SizeOption{&Options::max_bytes, 256 * kKilo, kUnlimited},
     .zero = "one file without bound",
     .valid_in = ValidIn::kFull,
     .basic = true,
     .meaning = "the most that the trace may take, in files `PATH`, `PATH.0`, `PATH.1`, ...",
     .section = "Rotation"},
    {.name = "dev",
     .type = FractionOption{&Options::deviation, 0.01, 0.5, "0.1"},
     .valid_in = ValidIn::kFull,
     .only_with_maxsize = true,
     .meaning = "share of `maxsize` that one data file may take; must come to 16K or more"},
    {.name = "keep",
     .type = FlagOption{&Options::keep_provenance},
     .valid_in = ValidIn::kFull,
     .only_with_maxsize = true,
     .basic = true,
     .meaning = "keep the provenance of live objects (which thread allocated them, and when) when a data file "
                "is deleted",
     .section = "Provenance"},
    {.name = "buffer",
     .type = SizeOption{&Options::buffer_bytes, kKilo, 4 * kMega},
     .valid_in = ValidIn::kFull,
     .meaning = "event buffer of a thread"},
    {.name = "fuzz",
     .type = FractionOption{&Options::fuzz, 0, 0.5, "0.1"},
     .valid_in = ValidIn::kFull,
     .meaning = "share by which the sizes of buffers differ"},
    {.name = "stretch",
     .type = SizeOption{&Options::stretch_bytes, 4 * kKilo, kGiga},
     .zero = "whole TLABs",
     .valid_in = ValidIn::kFull,
     .meaning = "bytes of a TLAB that are read at once"},
    {.name = "budget",
     .type = PercentOption{&Options::budget_percent, 0.5, 100, "3%"},
     .valid_in = ValidIn::kFull,
     .changeable = true,
     .basic = true,
     .meaning = "CPU time that tracing may take, relative to the program's; only a share of what is allocated "
                "is read then, while the live heap stays exact",
     .section = "Budget"},
    {.name = "share",
     .type = FractionOption{&Options::share, 1.0 / 256, 1, "0.25"},
     .valid_in = ValidIn::kFull,
     .meaning = "share of the TLAB stretches that are read, chosen at random; not with `budget`",
     .section = "Budget"},
    {.name = "walkers",
     .old_name = "readers",
     .type = CountOption{&Options::walkers, 0, 16},
     .valid_in = ValidIn::kFull,
     .meaning = "threads that read TLAB stretches instead of the threads that filled them; none on a machine "
                "with one processor"},
    {.name = "queue",
     .type = SizeOption{&Options::queue_bytes, 64 * kKilo, 4 * kGiga},
     .meaning = "the most memory for what waits to be written; at least four times `buffer`"},
    {.name = "on-overflow",
     .old_name = "full",
     .type = ChoiceOption<WhenFull>{&Options::when_full, "block|drop"},
     .meaning = "what a thread does when the queue is full: wait, with a limit, or drop its events",
     .section = "How long the program may wait"},
    {.name = "compress",
     .type = ChoiceOption<Compression>{&Options::compression, "off|partial|full"},
     .meaning = "which chunks are compressed with Snappy: none, those made while the queue fills up, or all",
     .section = "Buffers and compression"},
    {.name = "threshold",
     .type = FractionOption{&Options::threshold, 0, 1, "0.2"},
     .meaning = "how full the queue is when `compress=partial` sets in"},
    {.name = "compressors",
     .type = CountOption{&Options::compressors, 0, 64},
     .zero = "one per processor",
     .meaning = "the most threads that compress"},
    {.name = "stats",
     .type = PathOption{&Options::stats},
     .meaning = "file for the agent's counters as JSON, written at exit and on request; must not exist yet",
     .section = "Counters"},
    {.name = "log",
     .type = ChoiceOption<LogLevel>{&Options::log, "error|warn|info|debug"},
     .meaning = "which messages go to stderr"},
};

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// Digits with an optional K, M or G.
std::optional<uint64_t> ParseSize(std::string_view text) {
  uint64_t factor = 1;
  if (!text.empty()) {
    const char unit = text.back();
    if (unit == 'K' || unit == 'k') factor = kKilo;
    if (unit == 'M' || unit == 'm') factor = kMega;
    if (unit == 'G' || unit == 'g') factor = kGiga;
    if (factor != 1) text.remove_suffix(1);
  }
  const auto number = ParseNumber(text);
  if (!number || *number > kUnlimited / factor) return std::nullopt;
  return *number * factor;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Digits with an optional point between them: no sign, exponent, percent, "inf" or "nan".
std::optional<double> ParseFraction(std::string_view text) {
  if (text.empty() || !IsDigit(text.front()) || !IsDigit(text.back())) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return IsDigit(c) || c == '.'; }))
    return std::nullopt;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// The reverse of ParseSize.
std::string SizeText(uint64_t bytes) {
  if (bytes == Options::kAutomatic) return "auto";
  if (bytes != 0 && bytes % kGiga == 0) return std::to_string(bytes / kGiga) + "G";
  if (bytes != 0 && bytes % kMega == 0) return std::to_string(bytes / kMega) + "M";
  if (bytes != 0 && bytes % kKilo == 0) return std::to_string(bytes / kKilo) + "K";
  return std::to_string(bytes);
}

// What stands before the next '|'; words begins after it then.
std::string_view TakeWord(std::string_view* words) {
  const size_t bar = words->find('|');
  const std::string_view word = words->substr(0, bar);
  words->remove_prefix(bar == std::string_view::npos ? words->size() : bar + 1);
  return word;
}

template <class T, class Number>
bool Store(const std::optional<Number>& number, T least, T most, T Options::*member, Options* options) {
  if (!number || *number < least || *number > most) return false;
  options->*member = static_cast<T>(*number);
  return true;
}

bool Set(const FlagOption& flag, std::string_view value, Options* options) {
  if (value != "yes" && value != "no") return false;
  options->*flag.member = value == "yes";
  return true;
}
template <class T>
bool Set(const ChoiceOption<T>& choice, std::string_view value, Options* options) {
  std::string_view words = choice.words;
  for (int number = 0; !words.empty(); number++) {
    if (TakeWord(&words) != value) continue;
    options->*choice.member = static_cast<T>(number);
    return true;
  }
  return false;
}
bool Set(const SizeOption& size, std::string_view value, Options* options) {
  return Store(ParseSize(value), size.least, size.most, size.member, options);
}
bool Set(const CountOption& count, std::string_view value, Options* options) {
  return Store(ParseNumber(value), count.least, count.most, count.member, options);
}
bool Set(const FractionOption& fraction, std::string_view value, Options* options) {
  return Store(ParseFraction(value), fraction.least, fraction.most, fraction.member, options);
}
bool Set(const PercentOption& percent, std::string_view value, Options* options) {
  if (!value.ends_with('%')) return false;
  value.remove_suffix(1);
  return Store(ParseFraction(value), percent.least, percent.most, percent.member, options);
}
// Only %p and %%.
bool Set(const PathOption& path, std::string_view value, Options* options) {
  for (size_t i = 0; i < value.size(); i++) {
    if (value[i] != '%') continue;
    i++;
    if (i == value.size() || (value[i] != 'p' && value[i] != '%')) return false;
  }
  options->*path.member = value;
  return !value.empty();
}

// The units of times, the largest first.
constexpr std::pair<char, int> kTimeUnits[] = {{'h', 3600}, {'m', 60}, {'s', 1}};

bool Set(const TimeOption& time, std::string_view value, Options* options) {
  if (value == time.word) {
    options->*time.member = std::chrono::seconds(0);
    return true;
  }
  for (const auto& [unit, seconds] : kTimeUnits) {
    if (!value.ends_with(unit)) continue;
    const auto number = ParseNumber(value.substr(0, value.size() - 1));
    if (!number || *number > static_cast<uint64_t>(time.most.count())) return false;
    const std::chrono::seconds parsed(static_cast<int64_t>(*number) * seconds);
    if (parsed < time.least || parsed > time.most) return false;
    options->*time.member = parsed;
    return true;
  }
  return false;
}

std::string TimeText(std::chrono::seconds time) {
  for (const auto& [unit, seconds] : kTimeUnits) {
    if (time.count() % seconds == 0) return std::to_string(time.count() / seconds) + unit;
  }
  return "";
}

std::string Valid(const FlagOption&) { return "yes or no"; }
template <class T>
std::string Valid(const ChoiceOption<T>& choice) {
  std::string_view words = choice.words;
  std::string text(TakeWord(&words));
  while (!words.empty()) {
    const std::string_view word = TakeWord(&words);
    text += (words.empty() ? " or " : ", ") + std::string(word);
  }
  return text;
}
std::string Valid(const SizeOption& size) {
  if (size.most == kUnlimited) return "a size of at least " + SizeText(size.least);
  if (size.least == 0) return "a size up to " + SizeText(size.most);
  return "a size from " + SizeText(size.least) + " to " + SizeText(size.most);
}
std::string Valid(const CountOption& count) {
  return fmt::format("a number from {} to {}", count.least, count.most);
}
std::string Valid(const FractionOption& fraction) {
  return fmt::format("a fraction from {} to {}, such as {}", fraction.least, fraction.most, fraction.example);
}
std::string Valid(const PercentOption& percent) {
  return fmt::format("a percentage from {}% to {}%, such as {}", percent.least, percent.most, percent.example);
}
std::string Valid(const PathOption&) { return "a path, with %p for the process id and %% for a percent sign"; }

std::string Valid(const TimeOption& time) {
  return fmt::format("a time from {} to {}, such as 90s, 5m or 1h; {}: {}", TimeText(time.least),
                     TimeText(time.most), time.word, time.word_means);
}

std::string Default(const FlagOption& flag) { return Options().*flag.member ? "yes" : "no"; }
template <class T>
std::string Default(const ChoiceOption<T>& choice) {
  std::string_view words = choice.words;
  for (int left = static_cast<int>(Options().*choice.member); left > 0; left--) TakeWord(&words);
  return std::string(TakeWord(&words));
}
std::string Default(const SizeOption& size) { return SizeText(Options().*size.member); }
std::string Default(const CountOption& count) { return std::to_string(Options().*count.member); }
std::string Default(const FractionOption& fraction) { return fmt::format("{}", Options().*fraction.member); }
std::string Default(const PercentOption& percent) {
  const double value = Options().*percent.member;
  return value == 0 ? "" : fmt::format("{}%", value);
}
std::string Default(const PathOption& path) { return Options().*path.member; }
std::string Default(const TimeOption& time) { return TimeText(Options().*time.member); }

}  // namespace

std::span<const Option> OptionRows() { return kOptions; }

const Option* FindOption(std::string_view name) {
  if (name.empty()) return nullptr;
  for (const Option& option : kOptions) {
    if (option.name == name || option.old_name == name) return &option;
  }
  return nullptr;
}

const Option* NearestOption(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Option& option : kOptions) {
    names.push_back(option.name);
    if (!option.old_name.empty()) names.push_back(option.old_name);
  }
  return FindOption(trace::Nearest(name, names));
}

bool SetOption(const Option& option, std::string_view value, Options* options) {
  if (const auto* size = std::get_if<SizeOption>(&option.type)) {
    if (value == "0" && !option.zero.empty()) {
      options->*size->member = 0;
      return true;
    }
    if (value == "auto" && !option.automatic.empty()) {
      options->*size->member = Options::kAutomatic;
      return true;
    }
  }
  return std::visit([&](const auto& type) { return Set(type, value, options); }, option.type);
}

std::string ValidValues(const Option& option) {
  std::string text = std::visit([](const auto& type) { return Valid(type); }, option.type);
  if (!option.automatic.empty()) text += "; auto: " + std::string(option.automatic);
  if (!option.zero.empty()) text += "; 0: " + std::string(option.zero);
  return text;
}

std::string DefaultValue(const Option& option) {
  return std::visit([](const auto& type) { return Default(type); }, option.type);
}

}  // namespace anttracks::core
