// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>
#include <utility>

#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/content.h"
#include "analyzer/cli/expectation.h"
#include "analyzer/cli/moment.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

// What was found about an expectation.
struct Outcome {
  const Expectation* expectation = nullptr;
  Estimated value;
  bool exact = true;  // the value is its own bounds
  Verdict verdict = Verdict::kNotKnown;
  std::string why;                                       // it is not known
  std::vector<std::pair<Estimated, std::string>> parts;  // the largest ones: class and site
};

constexpr Choice<Verdict> kVerdicts[] = {
    {Verdict::kHolds, "holds"}, {Verdict::kFails, "FAILS"}, {Verdict::kNotKnown, "not known"}};

std::string NumberText(const Expectation& expectation, double number) {
  if (number == std::numeric_limits<double>::infinity()) return "?";
  return expectation.of_bytes() ? Bytes(Rounded(number)) : Count(Rounded(number));
}

std::string ValueText(const Outcome& outcome) {
  const Expectation& expectation = *outcome.expectation;
  if (outcome.exact) return NumberText(expectation, outcome.value.value);
  return fmt::format("~{} ({} to {})", NumberText(expectation, outcome.value.value),
                     NumberText(expectation, outcome.value.low), NumberText(expectation, outcome.value.high));
}

Estimated NumberOf(const Expectation& expectation, const Amount& amount) {
  return expectation.of_bytes() ? amount.bytes() : amount.objects();
}

bool OfThreads(const Expectation& expectation) {
  return std::any_of(expectation.where.begin(), expectation.where.end(),
                     [](const Condition& condition) { return condition.field == Field::kThread; });
}

// Evaluates expectations on one reading of the trace.
class Evaluation {
 public:
  Evaluation(const Session& session, const Content& content, std::vector<uint64_t> gcs)
      : session_(&session), content_(&content), gcs_(std::move(gcs)) {}

  Outcome Of(const Expectation& expectation) const {
    Outcome outcome;
    outcome.expectation = &expectation;
    const Amount sum = Sum(expectation, &outcome);
    outcome.value = NumberOf(expectation, sum);
    if (content_->interval != 0 && sum.samples() == 0) outcome.value.high = Unseen(expectation);
    outcome.why = WhyNotKnown(expectation);
    if (!outcome.why.empty()) outcome.value.high = std::numeric_limits<double>::infinity();
    outcome.exact = outcome.value.low == outcome.value.high;
    outcome.verdict = Compare(outcome.value, expectation.comparison, expectation.limit);
    if (!Usable(expectation)) outcome.verdict = Verdict::kNotKnown;
    if (outcome.verdict != Verdict::kNotKnown) {
      outcome.why.clear();
    } else if (outcome.why.empty()) {
      outcome.why = "the limit lies within the interval of the estimate";
    }
    return outcome;
  }

 private:
  Amount Sum(const Expectation& expectation, Outcome* outcome) const {
    Selection selection;
    selection.where = expectation.where;
    Chooser chosen(content_->definitions, selection);
    std::map<std::string, Amount> parts;
    Amount sum;
    for (const Portion& portion : content_->portions) {
      if (!Behind(expectation, portion.key.passed) || !chosen(portion.key)) continue;
      const Amount& amount = expectation.of_live() ? portion.live : portion.allocated;
      sum.Add(amount);
      parts[FieldText(content_->definitions, Field::kClass, portion.key) + "  " +
            FieldText(content_->definitions, Field::kSite, portion.key)]
          .Add(amount);
    }
    for (const auto& [name, amount] : parts) outcome->parts.emplace_back(NumberOf(expectation, amount), name);
    std::stable_sort(outcome->parts.begin(), outcome->parts.end(),
                     [](const auto& x, const auto& y) { return x.first.value > y.first.value; });
    return sum;
  }

  // It was allocated after the collections that the expectation leaves out.
  bool Behind(const Expectation& expectation, Passed passed) const {
    if (!expectation.after_gcs) return true;
    const auto at = std::find(gcs_.begin(), gcs_.end(), *expectation.after_gcs) - gcs_.begin();
    return (passed >> at & 1) != 0;
  }

  // Of objects of which there is no sample there may well be so many.
  double Unseen(const Expectation& expectation) const {
    // Of the smallest object: from JDK 24 on its header may be compact. The version is the last word; that of
    // JDK 8 begins with 25, too, which is on the safe side.
    const std::string& vm = content_->summary.meta.vm_version;
    const bool may_be_compact = std::atoi(vm.c_str() + vm.rfind(' ') + 1) >= 24;
    const double least_bytes = may_be_compact ? 8 : 16;
    const double bytes = PoissonHigh(0) * static_cast<double>(content_->interval);
    return expectation.of_bytes() ? bytes : bytes / least_bytes;
  }

  // Nothing can be said, not even that it is at least what was found.
  bool Usable(const Expectation& expectation) const {
    if (TooFewGcs(expectation)) return false;
    return !expectation.of_live() || (content_->caveat.empty() && HasMoment(expectation));
  }
  bool TooFewGcs(const Expectation& expectation) const {
    return expectation.after_gcs && content_->gc_ids.size() < *expectation.after_gcs;
  }
  bool HasMoment(const Expectation& expectation) const {
    return expectation.live != LiveAt::kLastGc || !content_->gc_ids.empty();
  }

  std::string WhyNotKnown(const Expectation& expectation) const {
    if (TooFewGcs(expectation)) {
      return fmt::format("the trace has only {}", Plural(content_->gc_ids.size(), "collection"));
    }
    if (expectation.of_live()) {
      if (!HasMoment(expectation) && session_->census) return std::string(kNoCensus);
      if (!HasMoment(expectation))
        return "the trace has no collection; 'at end' counts all that is in the heap";
      if (!content_->caveat.empty())
        return (session_->census ? "it was counted" : "the heap is") + content_->caveat;
      if (!content_->knows_births && (expectation.after_gcs || OfThreads(expectation)))
        return "the heap is" + std::string(kBirthsNotKnown);
      return expectation.after_gcs ? WhatIsMissing() : "";
    }
    return WhatIsMissing();
  }
  // What was allocated, and which collection was the first one, is not known then.
  std::string WhatIsMissing() const {
    if (content_->summary.damaged) return "the trace is damaged";
    if (content_->problems.count(ProblemKind::kLoss) != 0) return "events were lost";
    if (session_->first_file() != 0) return "the first data files are not there";
    return "";
  }

  const Session* session_;
  const Content* content_;
  std::vector<uint64_t> gcs_;  // number of collections by mark
};

Report ReportOf(std::vector<Outcome> outcomes) {
  std::stable_sort(outcomes.begin(), outcomes.end(), [](const Outcome& a, const Outcome& b) {
    const auto rank = [](Verdict v) { return v == Verdict::kFails ? 0 : v == Verdict::kNotKnown ? 1 : 2; };
    return rank(a.verdict) < rank(b.verdict);
  });
  Report report;
  report.rows_key = "expectations";
  report.columns = {{.key = "result", .title = "Result"},
                    {.key = "value", .title = "Value", .unit = Unit::kCount, .right_aligned = true},
                    {.key = "low", .unit = Unit::kCount, .where = Where::kInData},
                    {.key = "high", .unit = Unit::kCount, .where = Where::kInData},
                    {.key = "expectation", .title = "Expected"},
                    {.key = "why", .where = Where::kInData}};
  size_t holding = 0;
  for (const Outcome& outcome : outcomes) {
    holding += outcome.verdict == Verdict::kHolds;
    const std::string& text = outcome.expectation->text;
    const bool open = outcome.value.high == std::numeric_limits<double>::infinity();
    report.rows.push_back({std::string(NameOf<Verdict>(kVerdicts, outcome.verdict)),
                           Cell(Rounded(outcome.value.value), ValueText(outcome)), Rounded(outcome.value.low),
                           open ? Cell(nullptr) : Cell(Rounded(outcome.value.high)),
                           Cell(text, Printable(text + (outcome.why.empty() ? "" : ": " + outcome.why))),
                           outcome.why});
  }
  report.head["holding"] = holding;
  report.head["failing"] = outcomes.size() - holding;
  report.heading = fmt::format("{} of {} hold\n\n", Count(holding), Plural(outcomes.size(), "expectation"));
  if (outcomes.empty() || outcomes.front().verdict != Verdict::kFails) return report;
  constexpr size_t kParts = 3;
  const Outcome& worst = outcomes.front();
  report.footing = worst.parts.empty() ? "" : "\nlargest parts of the first one:\n";
  for (size_t i = 0; i < std::min(kParts, worst.parts.size()); i++) {
    report.footing += fmt::format("  {}  {}\n", NumberText(*worst.expectation, worst.parts[i].first.value),
                                  Printable(worst.parts[i].second));
  }
  return report;
}

// The lines of a file that are neither empty nor comments. The exit code, with a message, if there are none.
std::optional<int> ReadFile(Session& session, const std::string& path, std::vector<std::string>* texts) {
  std::ifstream file(path);
  if (!file) {
    session.err << fmt::format("anttracks: {}: {}\n", path, std::generic_category().message(errno));
    return kExitUnreadable;
  }
  for (std::string line; std::getline(file, line);) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    texts->push_back(line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1));
  }
  if (!texts->empty()) return std::nullopt;
  session.err << fmt::format("anttracks: {}: there are no expectations in it\n", path);
  return kExitUsage;
}

bool ParseAll(Session& session, const std::vector<std::string>& texts, std::vector<Expectation>* all) {
  for (const std::string& text : texts) {
    Wrong why;
    std::optional<Expectation> expectation = ParseExpectation(text, &why);
    if (!expectation) {
      session.err << fmt::format("anttracks: column {}: {}\n  {}\n  {:>{}}\n", why.column + 1, why.text,
                                 Printable(text), "^", why.column + 1);
      return false;
    }
    all->push_back(std::move(*expectation));
  }
  return true;
}

bool IsKnown(const Content& content, const Condition& condition) {
  for (const Portion& portion : content.portions) {
    if (Matches(content.definitions, condition, portion.key)) return true;
  }
  return NamesInDefinitions(content.definitions, condition);
}

// False, with a message, if the trace does not have a name that an expectation is about.
bool NamesAreKnown(Session& session, const Content& content, const std::vector<Expectation>& all) {
  for (const Expectation& expectation : all) {
    if (expectation.none()) continue;
    for (const Condition& condition : expectation.where) {
      if (IsKnown(content, condition)) continue;
      session.err << fmt::format("anttracks: {}: no {} is '{}'{}\n", Printable(expectation.text),
                                 NameOf<Field>(kFields, condition.field), Printable(condition.pattern),
                                 Printable(NearestNames(content.definitions, content.Keys(), condition)));
      return false;
    }
  }
  return true;
}

std::vector<uint64_t> WarmUps(const std::vector<Expectation>& all) {
  std::vector<uint64_t> gcs;
  for (const Expectation& expectation : all) {
    const auto& after = expectation.after_gcs;
    if (after && std::find(gcs.begin(), gcs.end(), *after) == gcs.end()) gcs.push_back(*after);
  }
  return gcs;
}

std::unique_ptr<Content> ReadFor(Session& session, const std::vector<Expectation>& all, LiveAt live) {
  Wanted wanted{.portions = {}, .live = live};
  for (const uint64_t gcs : WarmUps(all)) wanted.portions.marks.push_back({Mark::Kind::kGcs, gcs});
  for (const Expectation& expectation : all) {
    wanted.portions.threads = wanted.portions.threads || OfThreads(expectation);
  }
  return ReadContent(session, wanted);
}

// What a census does not tell of these, or "".
std::string_view NotCounted(const std::vector<Expectation>& all) {
  for (const Expectation& expectation : all) {
    if (!expectation.of_live()) return "what was allocated was not counted; expect live or live_bytes of it";
    if (expectation.live == LiveAt::kEnd) return "'at end' is not possible: the last thing known is a census";
    if (expectation.after_gcs) return "when an object was allocated was not recorded";
    if (OfThreads(expectation)) return "which thread allocated an object was not recorded";
  }
  return "";
}

int Evaluate(Session& session, const std::vector<Expectation>& all) {
  // One reading for all that are about the same live objects; the last one does for those that are about none.
  std::vector<Outcome> outcomes(all.size());
  const auto any = [&](LiveAt live) {
    return std::any_of(all.begin(), all.end(), [&](const Expectation& e) { return e.live == live; });
  };
  int exit = kExitFine;
  bool first = true;
  for (const LiveAt live : {LiveAt::kLastGc, LiveAt::kEnd, LiveAt::kNever}) {
    if (!any(live) || (live == LiveAt::kNever && !first)) continue;
    const std::unique_ptr<Content> content = ReadFor(session, all, live);
    if (!content->summary.fatal.ok()) return session.Unreadable(content->summary.fatal);
    if (first && !NamesAreKnown(session, *content, all)) return kExitUsage;
    const Evaluation evaluation(session, *content, WarmUps(all));
    for (size_t i = 0; i < all.size(); i++) {
      if (all[i].live == live || (first && all[i].live == LiveAt::kNever)) outcomes[i] = evaluation.Of(all[i]);
    }
    if (first) exit = session.Finish(content->summary, content->problems);
    first = false;
  }
  Print(session, ReportOf(outcomes));
  const bool hold = std::all_of(outcomes.begin(), outcomes.end(),
                                [](const Outcome& outcome) { return outcome.verdict == Verdict::kHolds; });
  return exit != kExitFine ? exit : hold ? kExitFine : kExitErrors;
}

}  // namespace

int RunAssert(Session& session, const AssertArguments& arguments) {
  std::vector<std::string> texts = arguments.expectations;
  if (!arguments.file.empty()) {
    if (const auto exit = ReadFile(session, arguments.file, &texts)) return *exit;
  }
  if (texts.empty()) {
    session.err << "anttracks: nothing is expected: give an expectation, or a file of them (--file)\n"
                << "try: anttracks assert --help\n";
    return kExitUsage;
  }
  std::vector<Expectation> all;
  if (!ParseAll(session, texts, &all)) return kExitUsage;
  if (WarmUps(all).size() > kMostMarks) {
    session.err << fmt::format("anttracks: more than {} different numbers of gcs\n", kMostMarks);
    return kExitUsage;
  }
  session.files = {arguments.trace};
  if (!session.Open()) return kExitUnreadable;
  if (session.census) {
    if (const std::string_view why = NotCounted(all); !why.empty()) return session.NotInCensuses(why);
  }
  return Evaluate(session, all);
}

}  // namespace anttracks::analyzer
