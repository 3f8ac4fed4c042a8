// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace anttracks::analyzer {
namespace {

constexpr std::pair<std::string_view, Operator> kOperators[] = {
    {"<=", Operator::kAtMost},  {">=", Operator::kAtLeast}, {"==", Operator::kEqual},
    {"!=", Operator::kUnequal}, {"<", Operator::kLess},     {">", Operator::kMore}};

constexpr uint64_t kKilo = 1024;
constexpr std::pair<std::string_view, uint64_t> kUnits[] = {{"", 1},
                                                            {"K", kKilo},
                                                            {"KB", kKilo},
                                                            {"M", kKilo* kKilo},
                                                            {"MB", kKilo* kKilo},
                                                            {"G", kKilo* kKilo* kKilo},
                                                            {"GB", kKilo* kKilo* kKilo}};

class Parser {
 public:
  Parser(std::string_view text, Wrong* why) : text_(text), why_(why) {}

  bool Read(Expectation* to) {
    to->text = std::string(text_);
    return ReadMeasure(to) && ReadConditions(to) && ReadComparison(to) && ReadWhens(to);
  }

 private:
  bool Fail(size_t column, std::string text) {
    *why_ = {column, std::move(text)};
    return false;
  }
  void SkipBlanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) at_++;
  }
  bool AtEnd() {
    SkipBlanks();
    return at_ == text_.size();
  }
  bool TakeChar(char c) {
    SkipBlanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  template <class Is>
  std::string_view TakeWhile(Is is) {
    SkipBlanks();
    const size_t begin = at_;
    while (at_ < text_.size() && is(static_cast<unsigned char>(text_[at_]))) at_++;
    return text_.substr(begin, at_ - begin);
  }
  std::string_view TakeWord() {
    return TakeWhile([](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; });
  }
  bool TakeNumber(uint64_t* number, const char* of_what) {
    const std::string_view digits = TakeWhile([](unsigned char c) { return std::isdigit(c) != 0; });
    const size_t begin = at_ - digits.size();
    if (digits.empty()) return Fail(begin, fmt::format("{} is missing here", of_what));
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
    return error == std::errc() || Fail(begin, "the number is too large");
  }

  bool ReadMeasure(Expectation* to) {
    const std::string_view word = TakeWord();
    const size_t begin = at_ - word.size();
    std::string wrong;
    const std::optional<Measure> measure = Choose<Measure>(kMeasures, word, &wrong);
    if (!measure) return Fail(begin, "measure: " + wrong);
    to->measure = *measure;
    if (to->of_live()) to->live = LiveAt::kLastGc;
    return TakeChar('(') || Fail(at_, fmt::format("( is missing after {}", word));
  }

  // Up to a comma or the closing parenthesis.
  size_t EndOfCondition() const {
    size_t depth = 0, at = at_;
    for (bool quoted = false; at < text_.size(); at++) {
      const char c = text_[at];
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      if (depth == 0 && (c == ',' || c == ')')) break;
      if (c == '(') depth++;
      if (c == ')') depth--;
    }
    return at;
  }

  bool ReadConditions(Expectation* to) {
    if (TakeChar(')')) return true;
    do {
      SkipBlanks();
      const size_t begin = at_;
      at_ = EndOfCondition();
      std::string_view part = text_.substr(begin, at_ - begin);
      while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
      Wrong why;
      std::optional<Condition> condition = ParseCondition(part, &why);
      if (!condition) return Fail(begin + why.column, why.text);
      Unquote(&condition->pattern);
      to->where.push_back(std::move(*condition));
    } while (TakeChar(','));
    return TakeChar(')') || Fail(at_, ") is missing");
  }

  static void Unquote(std::string* pattern) {
    if (pattern->size() < 3 || pattern->front() != '"' || pattern->back() != '"') return;
    *pattern = pattern->substr(1, pattern->size() - 2);
  }

  bool ReadComparison(Expectation* to) {
    SkipBlanks();
    const auto found = std::find_if(std::begin(kOperators), std::end(kOperators), [&](const auto& each) {
      return text_.substr(at_).starts_with(each.first);
    });
    if (found == std::end(kOperators)) return Fail(at_, "one of < <= > >= == != is missing here");
    to->comparison = found->second;
    at_ += found->first.size();
    return TakeNumber(&to->limit, "a number") && ReadUnit(to);
  }

  bool ReadUnit(Expectation* to) {
    const size_t begin = at_;
    if (begin < text_.size() && text_[begin] == '.') return Fail(begin, "numbers have no fractions");
    std::string unit;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) {
      unit += static_cast<char>(std::toupper(static_cast<unsigned char>(text_[at_++])));
    }
    const auto found = std::find_if(std::begin(kUnits), std::end(kUnits),
                                    [&](const auto& each) { return each.first == unit; });
    if (found == std::end(kUnits)) return Fail(begin, "the units of bytes are KB, MB and GB");
    if (!unit.empty() && !to->of_bytes()) return Fail(begin, "a number of objects has no unit");
    if (to->limit > UINT64_MAX / found->second) return Fail(begin, "the number is too large");
    to->limit *= found->second;
    return true;
  }

  bool ReadWhens(Expectation* to) {
    bool at_given = false;
    while (!AtEnd()) {
      const std::string_view word = TakeWord();
      const size_t begin = at_ - word.size();
      if (word == "after" && !to->after_gcs) {
        if (!ReadAfter(to)) return false;
      } else if (word == "at" && !at_given) {
        at_given = true;
        if (!to->of_live()) return Fail(begin, "only live and live_bytes are at a moment");
        if (!ReadAt(to)) return false;
      } else {
        return Fail(begin, "expected 'after N gcs', 'at end', 'at last gc', or nothing more");
      }
    }
    return true;
  }

  bool ReadAfter(Expectation* to) {
    uint64_t gcs = 0;
    if (!TakeNumber(&gcs, "a number of collections")) return false;
    const std::string_view word = TakeWord();
    if (word != "gcs" && word != "gc") return Fail(at_ - word.size(), "expected 'gcs' after the number");
    to->after_gcs = gcs;
    return true;
  }

  bool ReadAt(Expectation* to) {
    const std::string_view word = TakeWord();
    const size_t begin = at_ - word.size();
    if (word == "end") {
      to->live = LiveAt::kEnd;
      return true;
    }
    if (word == "last" && TakeWord() == "gc") return true;
    return Fail(begin, "expected 'end' or 'last gc' after 'at'");
  }

  std::string_view text_;
  Wrong* why_;
  size_t at_ = 0;
};

}  // namespace

std::optional<Expectation> ParseExpectation(std::string_view text, Wrong* why) {
  Expectation expectation;
  if (!Parser(text, why).Read(&expectation)) return std::nullopt;
  return expectation;
}

Verdict Compare(const Estimated& number, Operator comparison, uint64_t limit) {
  const auto bound = static_cast<double>(limit);
  const auto decide = [](bool all, bool none) {
    return all ? Verdict::kHolds : none ? Verdict::kFails : Verdict::kNotKnown;
  };
  const bool outside = number.high < bound || number.low > bound;
  const bool is = number.low == bound && number.high == bound;
  switch (comparison) {
    case Operator::kLess:
      return decide(number.high < bound, number.low >= bound);
    case Operator::kAtMost:
      return decide(number.high <= bound, number.low > bound);
    case Operator::kMore:
      return decide(number.low > bound, number.high <= bound);
    case Operator::kAtLeast:
      return decide(number.low >= bound, number.high < bound);
    case Operator::kEqual:
      return decide(is, outside);
    case Operator::kUnequal:
      return decide(outside, is);
  }
  return Verdict::kNotKnown;
}

}  // namespace anttracks::analyzer
