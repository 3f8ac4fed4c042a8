// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "analyzer/cli/text.h"

namespace anttracks::analyzer {
namespace {

std::string MarkText(std::string_view word, const Mark& mark) {
  if (mark.kind == Mark::Kind::kGc) return fmt::format("{} GC {}", word, mark.number);
  return fmt::format("{} {}", word, Duration(mark.number));
}

std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n";
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<Condition> ParseCondition(std::string_view text, Wrong* why) {
  const size_t equals = text.find('=');
  const std::string names = Joined(NamesOf<Field>(kFields));
  if (equals == std::string_view::npos || equals == 0) {
    *why = {0, fmt::format("a condition is FIELD=PATTERN; FIELD is one of {}", names)};
    return std::nullopt;
  }
  std::string wrong;
  const std::optional<Field> field = Choose<Field>(kFields, WithoutBlanks(text.substr(0, equals)), &wrong);
  if (!field) {
    *why = {0, "field: " + wrong};
    return std::nullopt;
  }
  const std::string_view pattern = WithoutBlanks(text.substr(equals + 1));
  if (pattern.empty()) {
    *why = {text.size(), "a pattern is missing after ="};
    return std::nullopt;
  }
  return Condition{*field, std::string(pattern)};
}

std::optional<Mark> ParseMark(std::string_view text, std::string* why) {
  if (IsNumber(text)) {
    uint64_t id = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), id).ec == std::errc()) {
      return Mark{Mark::Kind::kGc, id};
    }
  } else if (text.size() > 1 && text.back() == 's' && text.front() >= '0' && text.front() <= '9') {
    double seconds = 0;
    const char* end = text.data() + text.size() - 1;
    const auto [stop, error] = std::from_chars(text.data(), end, seconds, std::chars_format::fixed);
    constexpr double kNs = 1e9, kMost = 1e9;
    if (error == std::errc() && stop == end && seconds <= kMost) {
      return Mark{Mark::Kind::kTime, static_cast<uint64_t>(std::llround(seconds * kNs))};
    }
  }
  *why = fmt::format("'{}' is neither the number of a GC (7) nor seconds since the start (12.5s)", text);
  return std::nullopt;
}

bool Selection::threads() const {
  return std::any_of(where.begin(), where.end(), [](const Condition& c) { return c.field == Field::kThread; });
}

bool Selection::times() const {
  return (from && from->kind == Mark::Kind::kTime) || (to && to->kind == Mark::Kind::kTime);
}

std::vector<Mark> Selection::marks() const {
  std::vector<Mark> marks;
  if (from) marks.push_back(*from);
  if (to) marks.push_back(*to);
  return marks;
}

bool Selection::InWindow(Passed passed) const {
  const Passed to_bit = from ? 2 : 1;
  return (!from || (passed & 1) != 0) && (!to || (passed & to_bit) == 0);
}

std::string Selection::Text() const {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const Condition& condition : where) {
    add(fmt::format("{}={}", NameOf<Field>(kFields, condition.field), condition.pattern));
  }
  if (from) add(MarkText("from", *from));
  if (to) add(MarkText("to", *to));
  return text;
}

}  // namespace anttracks::analyzer
