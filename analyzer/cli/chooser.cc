// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/chooser.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <utility>

#include "analyzer/cli/moment.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

// * stands for any text. Goes back to the last * only, so that it takes no more than pattern times text.
bool MatchesGlob(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, tried = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      tried = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      p++;
      t++;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++tried;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool MatchesName(std::string_view pattern, std::string_view name) {
  if (pattern.find('*') != std::string_view::npos) return MatchesGlob(pattern, name);
  if (pattern.size() > name.size() || pattern.empty()) return false;
  if (name.substr(name.size() - pattern.size()) != pattern) return false;
  if (pattern.size() == name.size()) return true;
  const char before = name[name.size() - pattern.size() - 1];
  return before == '.' || before == '$';
}

bool MatchesPackage(std::string_view pattern, std::string_view package) {
  if (pattern.find('*') != std::string_view::npos) return MatchesGlob(pattern, package);
  return package == pattern ||
         (package.size() > pattern.size() && package.starts_with(pattern) && package[pattern.size()] == '.');
}

std::string PackageOf(const Definitions& definitions, uint32_t id) {
  const SiteInfo& site = definitions.site(id);
  const MethodInfo& method = definitions.method(site.method);
  if (!site.defined || !method.defined) return SiteLabel(definitions, id);
  const size_t dot = method.class_name.rfind('.');
  return dot == std::string::npos ? "<default>" : method.class_name.substr(0, dot);
}

// What a site is known by: the whole label, the method, file and line.
std::vector<std::string> NamesOfSite(const std::string& label) {
  const size_t open = label.rfind('(');
  if (open == std::string::npos) return {label};
  return {label, label.substr(0, open), label.substr(open + 1, label.size() - open - 2)};
}

std::vector<std::string> FieldNames(const Definitions& definitions, Field field, const PortionKey& key) {
  std::string text = FieldText(definitions, field, key);
  if (field == Field::kSite) return NamesOfSite(text);
  if (field == Field::kClass) return {text, StableName(text)};
  if (field == Field::kThread && definitions.thread(key.thread).defined) {
    return {text, definitions.thread(key.thread).name};
  }
  return {text};
}

// What somebody may have meant who typed a part of it: Foo for com.app.Foo.
std::string_view LastPart(std::string_view name, std::string_view like) {
  size_t parts = static_cast<size_t>(std::count(like.begin(), like.end(), '.')) + 1, at = name.size();
  while (parts-- > 0 && at != std::string_view::npos && at != 0) at = name.rfind('.', at - 1);
  return at == std::string_view::npos || at == 0 ? name : name.substr(at + 1);
}

int WrongOrder(Session& session) {
  session.err << "anttracks: --from has to be before --to\n";
  return kExitUsage;
}

}  // namespace

std::string FieldText(const Definitions& definitions, Field field, const PortionKey& key) {
  const SiteClass& pair = definitions.site_class(key.site_class);
  switch (field) {
    case Field::kClass:
      return ClassLabel(definitions, pair.class_id);
    case Field::kSite:
      return SiteLabel(definitions, pair.site);
    case Field::kThread:
      return key.thread == kFillerThread ? "<filler>" : ThreadLabel(definitions, key.thread);
    case Field::kPackage:
      return PackageOf(definitions, pair.site);
    case Field::kTier:
      return std::string(TierLabel(definitions, pair.site));
    case Field::kAppSite:
    case Field::kAge:
    case Field::kSpace:
      break;
  }
  return "";
}

bool Matches(const Definitions& definitions, const Condition& condition, const PortionKey& key) {
  const std::vector<std::string> names = FieldNames(definitions, condition.field, key);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return condition.field == Field::kPackage ? MatchesPackage(condition.pattern, name)
                                              : MatchesName(condition.pattern, name);
  });
}

bool Chooser::Hold(const PortionKey& key, bool threads) const {
  for (const Choice<Field>& field : kFields) {
    if ((field.value == Field::kThread) != threads) continue;
    bool any = false, holds = false;
    for (const Condition& condition : selection_->where) {
      if (condition.field != field.value) continue;
      any = true;
      holds = holds || Matches(*definitions_, condition, key);
    }
    if (any && !holds) return false;
  }
  return true;
}

bool Chooser::OfPair(const PortionKey& key) {
  const auto [at, is_new] = pairs_.try_emplace(key.site_class);
  if (is_new) at->second = Hold(key, false);
  return at->second;
}

bool Chooser::OfThread(const PortionKey& key) {
  const auto [at, is_new] = threads_.try_emplace(key.thread);
  if (is_new) at->second = Hold(key, true);
  return at->second;
}

std::optional<int> CheckWindow(Session& session, const Selection& selection, bool live) {
  const auto& [where, from, to] = selection;
  if (session.census && (selection.threads() || from || to))
    return session.NotInCensuses("which thread allocated an object, and when, was not recorded");
  const auto is_time = [](const std::optional<Mark>& mark) { return mark && mark->kind == Mark::Kind::kTime; };
  if (is_time(from) && is_time(to) && from->number >= to->number) return WrongOrder(session);
  if (live && selection.times()) {
    session.err
        << "anttracks: when live objects were allocated is known by collections only: give --from and --to "
           "as numbers of GCs\n";
    return kExitUsage;
  }
  return std::nullopt;
}

std::optional<int> CheckGcs(Session& session, const PassSummary& summary, const Selection& selection,
                            const std::vector<uint64_t>& gc_ids) {
  std::vector<std::vector<uint64_t>::const_iterator> found;
  for (const Mark& mark : selection.marks()) {
    if (mark.kind != Mark::Kind::kGc) continue;
    found.push_back(std::find(gc_ids.begin(), gc_ids.end(), mark.number));
    if (found.back() == gc_ids.end()) return session.NoSuchGc(mark.number, gc_ids, summary);
  }
  if (found.size() == 2 && found[0] >= found[1]) return WrongOrder(session);
  return std::nullopt;
}

void TellUnknownNames(Session& session, const Definitions& definitions, const std::vector<PortionKey>& keys,
                      const std::vector<Condition>& where) {
  for (const Condition& condition : where) {
    const bool known = std::any_of(keys.begin(), keys.end(),
                                   [&](const PortionKey& key) { return Matches(definitions, condition, key); });
    if (known || NamesInDefinitions(definitions, condition)) continue;
    session.err << fmt::format("note: no {} is '{}'{}\n", NameOf<Field>(kFields, condition.field),
                               Printable(condition.pattern),
                               Printable(NearestNames(definitions, keys, condition)));
  }
}

std::optional<int> CheckNames(Session& session, const Content& content, const Selection& selection) {
  if (const auto exit = CheckGcs(session, content.summary, selection, content.gc_ids)) return exit;
  TellUnknownNames(session, content.definitions, content.Keys(), selection.where);
  return std::nullopt;
}

void QualifyLive(const Selection& selection, Content* content) {
  if (content->knows_births || !selection.births()) return;
  content->caveat += kBirthsNotKnown;
  content->exact = false;
}

std::unique_ptr<Content> ReadSelected(Session& session, const WantedSelection& wanted, int* exit) {
  const auto& [selection, threads, live, gc] = wanted;
  const auto stop = [exit](int code) {
    *exit = code;
    return nullptr;
  };
  if (const auto code = CheckWindow(session, selection, live)) return stop(*code);
  Wanted content_wanted{.portions = {threads || selection.threads(), selection.marks()}};
  if (live) content_wanted.live = gc ? LiveAt::kGc : LiveAt::kEnd;
  content_wanted.gc = gc.value_or(0);
  std::unique_ptr<Content> content = ReadContent(session, content_wanted);
  const PassSummary& summary = content->summary;
  if (!summary.fatal.ok()) return stop(session.Unreadable(summary.fatal));
  if (!summary.has_meta && live) return stop(session.Finish(summary, content->problems));
  if (session.census && content->gc_ids.empty()) return stop(session.NoCensus());
  if (gc && !content->HasGc(*gc)) return stop(session.NoSuchGc(*gc, content->gc_ids, summary));
  if (const auto code = CheckNames(session, *content, selection)) return stop(*code);
  QualifyLive(selection, content.get());
  return content;
}

void ShowSelection(const Selection& selection, Report* report) {
  if (selection.all()) return;
  const std::string text = "only " + selection.Text();
  report->head["selection"] = selection.Text();
  report->heading += Printable(text) + "\n";
  report->notes.push_back(text);
}

bool NamesInDefinitions(const Definitions& definitions, const Condition& condition) {
  bool found = false;
  if (condition.field == Field::kClass) {
    definitions.ForEachClass(
        [&](uint64_t, const ClassInfo& info) { found = found || MatchesName(condition.pattern, info.name); });
  }
  if (condition.field == Field::kThread) {
    definitions.ForEachThread(
        [&](uint64_t, const ThreadInfo& info) { found = found || MatchesName(condition.pattern, info.name); });
  }
  return found;
}

std::string NearestNames(const Definitions& definitions, const std::vector<PortionKey>& keys,
                         const Condition& condition) {
  std::set<std::string> names;
  for (const PortionKey& key : keys) {
    for (std::string& name : FieldNames(definitions, condition.field, key)) {
      names.insert(std::move(name));
    }
  }
  std::vector<std::pair<size_t, std::string_view>> near;
  const std::string_view pattern = condition.pattern;
  constexpr size_t kLongest = 200;  // nobody mistypes more
  if (pattern.size() > kLongest) return "";
  for (const std::string& name : names) {
    const std::string_view part = LastPart(name, pattern);
    if (part.size() > kLongest) continue;
    const size_t distance = trace::EditDistance(pattern, part);
    if (distance <= std::max<size_t>(1, pattern.size() / 3)) near.emplace_back(distance, name);
  }
  constexpr size_t kShown = 3;
  std::sort(near.begin(), near.end());
  std::string text;
  for (size_t i = 0; i < std::min(kShown, near.size()); i++) {
    text += fmt::format("{}'{}'", i == 0 ? "; did you mean " : " or ", near[i].second);
  }
  return text.empty() ? "" : text + "?";
}

}  // namespace anttracks::analyzer
