// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/leak_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/cli/chooser.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

// A leak has this part of what was allocated since it began and is live, and so many bytes.
constexpr double kLeastShare = 0.01;
constexpr uint64_t kLeastWords = 2048;
// All leaks together have this part. Where what piles up is next to nothing of what has come to stay, a program
// starts up, or works its way through something: some of the many sites look even by chance.
constexpr double kLeastTogether = 0.1;

// A row before it is judged.
struct Group {
  std::vector<uint32_t> site_classes;
  Population population;
  std::map<uint32_t, uint64_t> words_by_site;  // live now
  uint64_t words = 0;
};

using Key = std::pair<std::string, std::string>;  // site, class

class Grouping {
 public:
  explicit Grouping(const Histories& histories) : histories_(&histories) {
    for (const Cohort& cohort : histories.cohorts()) AddCohort(cohort);
    for (auto& [key, group] : groups_) {
      std::stable_sort(group.population.births.begin(), group.population.births.end(),
                       [](const Births& a, const Births& b) { return a.epoch < b.epoch; });
      group.population.survived.resize(histories.old_space().size());
    }
    for (size_t i = 0; i < histories.old_space().size(); i++) {
      for (const Level& level : histories.old_space()[i].levels) {
        const auto found = group_of_.find(level.site_class);
        if (found != group_of_.end()) found->second->population.survived[i] += level.survived;
      }
    }
  }
  const std::map<Key, Group>& groups() const { return groups_; }

 private:
  void AddCohort(const Cohort& cohort) {
    const Definitions& definitions = histories_->definitions();
    const SiteClass& pair = definitions.site_class(cohort.site_class);
    Group*& group = group_of_[cohort.site_class];
    if (group == nullptr) {
      group = &groups_[{SiteLabel(definitions, pair.site), ClassLabel(definitions, pair.class_id)}];
      group->site_classes.push_back(cohort.site_class);
    }
    group->words += cohort.words;
    group->words_by_site[pair.site] += cohort.words;
    if (cohort.before) {
      group->population.before.objects += cohort.objects;
      group->population.before.words += cohort.words;
    } else {
      group->population.births.push_back({cohort.epoch, cohort.objects, cohort.words});
    }
  }

  const Histories* histories_;
  std::map<Key, Group> groups_;
  std::map<uint32_t, Group*> group_of_;
};

GrowthTimeline TimelineOf(const Histories& histories) {
  GrowthTimeline timeline;
  timeline.first_epoch = histories.known_from();
  timeline.allocated_words = histories.allocated_at();
  for (const HistoryPoint& point : histories.old_space()) {
    timeline.old_space.push_back({point.epoch, point.epoch_before});
  }
  return timeline;
}

// Of all pairs: words that were born in [onset, end) and are live after the last old-space collection.
class AllBirths {
 public:
  explicit AllBirths(const Histories& histories) : words_before_(histories.allocated_at().size() + 1) {
    for (const Cohort& cohort : histories.cohorts()) {
      if (!cohort.before && cohort.epoch + size_t{1} < words_before_.size()) {
        words_before_[cohort.epoch + size_t{1}] += cohort.words;
      }
    }
    for (size_t i = 1; i < words_before_.size(); i++) words_before_[i] += words_before_[i - 1];
  }
  uint64_t Words(uint32_t onset, uint32_t end) const { return words_before_[end] - words_before_[onset]; }

 private:
  std::vector<uint64_t> words_before_;
};

// Live at the last old-space collection before growth began. Before the first one only that is known which is
// older than the trace.
HeapTotals LiveAtOnset(const Histories& histories, const Group& group, uint32_t onset) {
  const HistoryPoint* last = nullptr;
  for (const HistoryPoint& point : histories.old_space()) {
    if (point.epoch <= onset) last = &point;
  }
  if (last != nullptr) return LiveAt(*last, group.site_classes);
  return {group.population.before.objects, group.population.before.words};
}

// Whether anything is said of growth there: not of what has no place in the code, nor of what the VM makes for
// each class that is loaded.
bool IsJudged(const Definitions& definitions, const Group& group) {
  const uint32_t site = group.words_by_site.begin()->first;
  const SiteInfo& info = definitions.site(site);
  if (site < kFirstSite || !info.defined) return false;
  const std::string& holder = definitions.method(info.method).class_name;
  return info.bci >= 0 || (holder != "java.lang.Class" && holder != "java.lang.ClassLoader");
}

void SetTimes(LeakRow* row, const Histories& histories, const Group& group) {
  const std::vector<GcRecord>& gcs = histories.gcs();
  const Growth& growth = row->growth;
  if (growth.onset < gcs.size()) row->since_gc = gcs[growth.onset].id;
  row->since_ns = growth.onset == 0 ? 0 : gcs[growth.onset - 1].end_ns;
  row->grown_gcs = growth.end - growth.onset;
  if (growth.end > 0)
    row->grown_ns = gcs[growth.end - 1].begin_ns - std::min(row->since_ns, gcs[growth.end - 1].begin_ns);
  if (group.population.before.objects != 0 || group.population.births.empty()) return;
  const uint32_t oldest = group.population.births.front().epoch;
  row->oldest_ns = histories.old_space().back().time_ns - (oldest == 0 ? 0 : gcs[oldest - 1].end_ns);
}

LeakRow RowOf(const Histories& histories, const GrowthTimeline& timeline, const AllBirths& births,
              const Key& key, const Group& group, ApplicationSites& applications) {
  LeakRow row;
  std::tie(row.site, row.class_name) = key;
  row.site_classes = group.site_classes;
  row.growth = JudgeGrowth(timeline, group.population);
  Growth& growth = row.growth;
  const uint64_t all = growth.end > growth.onset ? births.Words(growth.onset, growth.end) : 0;
  row.share = all == 0 ? 0 : static_cast<double>(growth.words) / static_cast<double>(all);
  if (growth.verdict == Verdict::kLeak && (row.share < kLeastShare || growth.words < kLeastWords)) {
    growth.verdict = Verdict::kSmall;
  }
  if (!IsJudged(histories.definitions(), group)) growth.verdict = Verdict::kNotJudged;
  row.then = LiveAtOnset(histories, group, growth.onset);
  row.now = LiveAt(histories.old_space().back(), row.site_classes);
  for (const auto& [site, words] : group.words_by_site)
    row.application.Add(applications, site, static_cast<double>(words));
  SetTimes(&row, histories, group);
  return row;
}

void DropChanceFinds(std::vector<LeakRow>* rows) {
  double together = 0;
  for (const LeakRow& row : *rows) together += row.growth.verdict == Verdict::kLeak ? row.share : 0;
  if (together >= kLeastTogether) return;
  for (LeakRow& row : *rows) {
    if (row.growth.verdict == Verdict::kLeak) row.growth.verdict = Verdict::kSmall;
  }
}

std::string WhyUnknown(const Histories& histories) {
  const uint64_t times = histories.old_space_collections();
  if (times >= kLeastOldSpaceCollections) return "";
  return fmt::format(
      "no verdict: the old space was {}, and it takes {} collections of it to tell what piles up from what was "
      "not collected yet. 'jcmd PID GC.run' makes one",
      times == 0 ? "never collected" : fmt::format("collected only {}", Plural(times, "time")),
      kLeastOldSpaceCollections);
}

}  // namespace

HeapTotals LiveAt(const HistoryPoint& point, const std::vector<uint32_t>& site_classes) {
  HeapTotals totals;
  for (const uint32_t site_class : site_classes) {
    const auto level = std::lower_bound(point.levels.begin(), point.levels.end(), site_class,
                                        [](const Level& a, uint32_t id) { return a.site_class < id; });
    if (level != point.levels.end() && level->site_class == site_class)
      totals.Add({level->objects, level->words});
  }
  return totals;
}

double LeakRow::bytes_per_gc() const {
  return grown_gcs == 0 ? 0 : static_cast<double>(grown_bytes()) / static_cast<double>(grown_gcs);
}

double LeakRow::bytes_per_minute() const {
  return grown_ns == 0 ? 0 : static_cast<double>(grown_bytes()) * 60e9 / static_cast<double>(grown_ns);
}

size_t Leaks::count() const {
  return static_cast<size_t>(std::count_if(
      rows.begin(), rows.end(), [](const LeakRow& row) { return row.growth.verdict == Verdict::kLeak; }));
}

void Leaks::Choose(const Definitions& definitions, const Selection& selection) {
  Chooser chooses(definitions, selection);
  std::erase_if(rows, [&](const LeakRow& row) {
    return std::none_of(row.site_classes.begin(), row.site_classes.end(),
                        [&](uint32_t id) { return chooses.OfAnyTime({.site_class = id}); });
  });
}

Leaks FindLeaks(const Histories& histories, ApplicationSites& applications) {
  Leaks leaks;
  leaks.old_space_collections = histories.old_space_collections();
  leaks.why_unknown = WhyUnknown(histories);
  if (histories.old_space().empty()) return leaks;
  leaks.last = &histories.old_space().back();
  const Grouping grouping(histories);
  const GrowthTimeline timeline = TimelineOf(histories);
  const AllBirths births(histories);
  for (const auto& [key, group] : grouping.groups()) {
    leaks.rows.push_back(RowOf(histories, timeline, births, key, group, applications));
  }
  DropChanceFinds(&leaks.rows);
  std::stable_sort(leaks.rows.begin(), leaks.rows.end(), [](const LeakRow& a, const LeakRow& b) {
    const bool a_leaks = a.growth.verdict == Verdict::kLeak, b_leaks = b.growth.verdict == Verdict::kLeak;
    return std::tuple(a_leaks, a.growth.words, a.now.words) > std::tuple(b_leaks, b.growth.words, b.now.words);
  });
  return leaks;
}

}  // namespace anttracks::analyzer
