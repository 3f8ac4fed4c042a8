// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/leak_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/cli/census.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/phases.h"

namespace anttracks::analyzer {
namespace {

// A leak has this part of what was allocated since it began and is live, and so many bytes.
constexpr double kLeastShare = 0.01;
constexpr uint64_t kLeastWords = 2048;

// Of all pairs: words that were born in [onset, end) and are live after the last old-space collection.
class AllBirths {
 public:
  explicit AllBirths(const Evidence& evidence) : words_before_(evidence.gcs().size() + 1) {
    for (const auto& [key, group] : evidence.groups()) {
      for (const Births& births : group.population.births) {
        if (births.epoch + size_t{1} < words_before_.size())
          words_before_[births.epoch + size_t{1}] += births.words;
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
HeapTotals LiveAtOnset(const Evidence& evidence, const Evidence::Group& group, uint32_t onset) {
  const HistoryPoint* last = nullptr;
  for (const HistoryPoint& point : evidence.old_space()) {
    if (point.epoch <= onset) last = &point;
  }
  if (last != nullptr) return LiveAt(*last, group.site_classes);
  return {group.population.before.objects, group.population.before.words};
}

// Whether anything is said of growth there: not of what has no place in the code, nor of what the VM makes for
// each class that is loaded.
bool IsJudged(const Definitions& definitions, const Evidence::Group& group) {
  const uint32_t site = group.words_by_site.begin()->first;
  const SiteInfo& info = definitions.site(site);
  if (site < kFirstSite || !info.defined) return false;
  const std::string& holder = definitions.method(info.method).class_name;
  return info.bci >= 0 || (holder != "java.lang.Class" && holder != "java.lang.ClassLoader");
}

void SetTimes(LeakRow* row, const Evidence& evidence, const Evidence::Group& group) {
  const std::vector<Evidence::Gc>& gcs = evidence.gcs();
  const Growth& growth = row->growth;
  if (growth.onset < gcs.size()) row->since_gc = gcs[growth.onset].id;
  row->since_ns = growth.onset == 0 ? 0 : gcs[growth.onset - 1].end_ns;
  if (growth.end > growth.onset) {
    const Evidence::Gc& last = gcs[growth.end - 1];
    row->grown_gcs = last.collections - (growth.onset == 0 ? 0 : gcs[growth.onset - 1].collections);
    row->grown_ns = last.begin_ns - std::min(row->since_ns, last.begin_ns);
  }
  row->births_known = !evidence.timeline().counted;
  if (!row->births_known || group.population.before.objects != 0 || group.population.births.empty()) return;
  const uint32_t oldest = group.population.births.front().epoch;
  row->oldest_ns = evidence.old_space().back().time_ns - (oldest == 0 ? 0 : gcs[oldest - 1].end_ns);
}

LeakRow RowOf(const Evidence& evidence, const AllBirths& births, const Evidence::Key& key,
              const Evidence::Group& group, ApplicationSites& applications) {
  LeakRow row;
  std::tie(row.site, row.class_name) = key;
  row.site_classes = group.site_classes;
  row.growth = JudgeGrowth(evidence.timeline(), group.population);
  Growth& growth = row.growth;
  const uint64_t all = growth.end > growth.onset ? births.Words(growth.onset, growth.end) : 0;
  row.share = all == 0 ? 0 : static_cast<double>(growth.words) / static_cast<double>(all);
  if (growth.grows() && (row.share < kLeastShare || growth.words < kLeastWords)) {
    growth.verdict = Verdict::kSmall;
  }
  if (!IsJudged(evidence.definitions(), group)) growth.verdict = Verdict::kNotJudged;
  row.then = LiveAtOnset(evidence, group, growth.onset);
  row.now = LiveAt(evidence.old_space().back(), row.site_classes);
  for (const auto& [site, words] : group.words_by_site)
    row.application.Add(applications, site, static_cast<double>(words));
  SetTimes(&row, evidence, group);
  return row;
}

std::string WhyUnknown(const Evidence& evidence) {
  const uint64_t times = evidence.old_space_collections();
  const size_t least = evidence.timeline().least_old_space();
  if (times >= least) return "";
  if (evidence.timeline().counted) {
    return fmt::format(
        "no verdict: {} a collection of the old space, and it takes {} such censuses to tell what piles up. "
        "'jcmd PID GC.run' makes such a collection",
        times == 0   ? "no census follows"
        : times == 1 ? "only 1 census follows"
                     : fmt::format("only {} censuses follow", Count(times)),
        least);
  }
  return fmt::format(
      "no verdict: the old space was {}, and it takes {} collections of it to tell what piles up from what was "
      "not collected yet. 'jcmd PID GC.run' makes one",
      times == 0 ? "never collected" : fmt::format("collected only {}", Plural(times, "time")), least);
}

}  // namespace

HeapTotals LiveAt(const HistoryPoint& point, const std::vector<uint32_t>& site_classes) {
  HeapTotals totals;
  for (const uint32_t site_class : site_classes) {
    const Level level = point.levels.Find(site_class);
    totals.Add({level.objects, level.words});
  }
  return totals;
}

double LeakRow::bytes_per_gc() const {
  return grown_gcs == 0 ? 0 : static_cast<double>(grown_bytes()) / static_cast<double>(grown_gcs);
}

double LeakRow::bytes_per_minute() const {
  return grown_ns == 0 ? 0 : static_cast<double>(grown_bytes()) * 60e9 / static_cast<double>(grown_ns);
}

size_t Leaks::CountOf(Verdict verdict) const {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(),
                                           [&](const LeakRow& row) { return row.growth.verdict == verdict; }));
}

const LeakRow* Leaks::Recent() const {
  const auto first = std::find_if(rows.begin(), rows.end(),
                                  [](const LeakRow& row) { return row.growth.verdict == Verdict::kRecent; });
  return first == rows.end() ? nullptr : &*first;
}

Evidence::Evidence(const Histories& histories)
    : definitions_(&histories.definitions()),
      old_space_(&histories.old_space()),
      others_(&histories.others()),
      old_space_collections_(histories.old_space_collections()) {
  timeline_.first_epoch = histories.known_from();
  timeline_.allocated_words = histories.allocated_at();
  for (const HistoryPoint& point : *old_space_)
    timeline_.old_space.push_back({point.epoch, point.epoch_before, point.live.words});
  for (const GcRecord& gc : histories.gcs()) gcs_.push_back({gc.id, gc.begin_ns, gc.end_ns, gcs_.size() + 1});
  timeline_.longest_phase_words = LongestPhase(*definitions_, *old_space_);
  AddCohorts(histories.cohorts());
}

Evidence::Evidence(const Censuses& censuses)
    : definitions_(&censuses.definitions()),
      old_space_(&censuses.old_space()),
      others_(&censuses.others()),
      old_space_collections_(censuses.old_space_events().size()) {
  timeline_.counted = true;
  timeline_.first_epoch = 1;
  for (const CensusEvent& census : censuses.old_space_events()) {
    timeline_.allocated_words.push_back(census.allocated_words);
    gcs_.push_back({census.gc, census.time, census.time, census.collections});
  }
  for (const HistoryPoint& point : *old_space_)
    timeline_.old_space.push_back({point.epoch, point.epoch, point.live.words});
  timeline_.longest_phase_words = LongestPhase(*definitions_, *old_space_);
  AddCounts();
}

std::vector<const HistoryPoint*> Evidence::points() const {
  std::vector<const HistoryPoint*> points;
  for (const HistoryPoint& point : *old_space_) points.push_back(&point);
  for (const HistoryPoint& point : *others_) points.push_back(&point);
  std::sort(points.begin(), points.end(), [](const auto* a, const auto* b) {
    return std::tie(a->time_ns, a->gc) < std::tie(b->time_ns, b->gc);
  });
  return points;
}

// Those of the same names are one.
Evidence::Group& Evidence::GroupOf(uint32_t site_class) {
  Group*& group = group_of_[site_class];
  if (group == nullptr) {
    const SiteClass& pair = definitions_->site_class(site_class);
    group = &groups_[{SiteLabel(*definitions_, pair.site), ClassLabel(*definitions_, pair.class_id)}];
    group->site_classes.push_back(site_class);
  }
  return *group;
}

void Evidence::AddCohorts(const std::vector<Cohort>& cohorts) {
  for (const Cohort& cohort : cohorts) {
    Group& group = GroupOf(cohort.site_class);
    group.words_by_site[definitions_->site_class(cohort.site_class).site] += cohort.words;
    if (cohort.before) {
      group.population.before.objects += cohort.objects;
      group.population.before.words += cohort.words;
    } else {
      group.population.births.push_back({cohort.epoch, cohort.objects, cohort.words});
    }
  }
  for (auto& [key, group] : groups_) {
    std::stable_sort(group.population.births.begin(), group.population.births.end(),
                     [](const Births& a, const Births& b) { return a.epoch < b.epoch; });
    group.population.survived.resize(old_space_->size());
  }
  for (size_t i = 0; i < old_space_->size(); i++) {
    for (const Level& level : (*old_space_)[i].levels) {
      const auto found = group_of_.find(level.site_class);
      if (found != group_of_.end()) found->second->population.survived[i] += level.survived;
    }
  }
}

// Pairs of one place in the code (its tiers) replace each other: only their sum says what piled up.
void Evidence::AddCounts() {
  if (old_space_->empty()) return;
  std::map<Group*, std::vector<LiveCount>> counts;
  for (size_t i = 0; i < old_space_->size(); i++) {
    for (const Level& level : (*old_space_)[i].levels) {
      std::vector<LiveCount>& of_group = counts[&GroupOf(level.site_class)];
      of_group.resize(old_space_->size());
      of_group[i].objects += level.objects;
      of_group[i].words += level.words;
    }
  }
  for (auto& [group, series] : counts) {
    for (size_t i = 0; i < series.size(); i++) series[i].epoch = (*old_space_)[i].epoch;
    group->population = PopulationOfCounts(series);
  }
  for (const Level& level : old_space_->back().levels) {
    GroupOf(level.site_class).words_by_site[definitions_->site_class(level.site_class).site] += level.words;
  }
  std::erase_if(groups_, [](const auto& entry) { return entry.second.words_by_site.empty(); });
  group_of_.clear();
}

void Leaks::Choose(const Definitions& definitions, const Selection& selection) {
  Chooser chooses(definitions, selection);
  std::erase_if(rows, [&](const LeakRow& row) {
    return std::none_of(row.site_classes.begin(), row.site_classes.end(),
                        [&](uint32_t id) { return chooses.OfAnyTime({.site_class = id}); });
  });
}

Leaks FindLeaks(const Evidence& evidence, ApplicationSites& applications) {
  Leaks leaks;
  leaks.censuses = evidence.timeline().counted;
  leaks.old_space_collections = evidence.old_space_collections();
  leaks.why_unknown = WhyUnknown(evidence);
  if (evidence.old_space().empty()) return leaks;
  leaks.last = &evidence.old_space().back();
  const AllBirths births(evidence);
  for (const auto& [key, group] : evidence.groups()) {
    leaks.rows.push_back(RowOf(evidence, births, key, group, applications));
  }
  std::stable_sort(leaks.rows.begin(), leaks.rows.end(), [](const LeakRow& a, const LeakRow& b) {
    const auto rank = [](const LeakRow& row) {
      return row.growth.verdict == Verdict::kLeak ? 2 : row.growth.verdict == Verdict::kRecent ? 1 : 0;
    };
    return std::tuple(rank(a), a.growth.words, a.now.words) > std::tuple(rank(b), b.growth.words, b.now.words);
  });
  return leaks;
}

std::string RecentText(const Leaks& leaks) {
  const LeakRow* const row = leaks.Recent();
  if (row == nullptr) return "";
  const size_t more = leaks.CountOf(Verdict::kRecent) - 1;
  const std::string line = Printable(row->application.name());
  const bool sure = !line.empty() && row->application.all();
  const uint64_t count = row->growth.collections;
  const std::string lasts = leaks.censuses ? CensusCount(count) : Plural(count, "old-space collection");
  return fmt::format("{} of {} grows since GC {}, {}: too short to call it a leak yet{}",
                     Printable(row->class_name), sure ? line : Printable(row->site), row->since_gc, lasts,
                     more == 0   ? ""
                     : more == 1 ? " (1 more site with it)"
                                 : fmt::format(" ({} more sites with it)", Count(more)));
}

}  // namespace anttracks::analyzer
