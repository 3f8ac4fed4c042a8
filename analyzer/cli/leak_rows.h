// SPDX-License-Identifier: Apache-2.0
// What piles up in a trace, ranked: the histories of passes/histories.h, or of a census passes/censuses.h,
// judged by passes/growth.h, a row for each site and class. For `leaks` and `summary`.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/cli/application_sites.h"
#include "analyzer/cli/selection.h"
#include "analyzer/passes/censuses.h"
#include "analyzer/passes/growth.h"
#include "analyzer/passes/histories.h"

namespace anttracks::analyzer {

struct LeakRow {
  std::string site, class_name;
  MainApplicationSite application{MainApplicationSite::Of::kLive};
  std::vector<uint32_t> site_classes;
  Growth growth;
  HeapTotals then, now;   // live at the onset, or as soon as something is known, and after the last collection
  uint64_t since_gc = 0;  // id of the first collection after growth began
  uint64_t since_ns = 0;  // when the collection before that ended
  uint64_t grown_gcs = 0, grown_ns = 0;  // in which it grew by growth.words
  bool births_known = true;
  std::optional<uint64_t> oldest_ns;  // age of the oldest object; none: it is older than the trace
  double share = 0;                   // of what was allocated since growth began and is live, 0 to 1

  uint64_t grown_bytes() const { return InBytes(growth.words); }
  double bytes_per_gc() const;
  double bytes_per_minute() const;
};

struct Leaks {
  bool censuses = false;
  size_t old_space_collections = 0;    // that were looked at; of censuses: those that follow one
  const HistoryPoint* last = nullptr;  // the last of these; nullptr: none
  // Leaks, then what grows of late, then what else survives, the largest first.
  std::vector<LeakRow> rows;

  size_t CountOf(Verdict verdict) const;
  size_t count() const { return CountOf(Verdict::kLeak); }
  // The largest that grows of late; nullptr: none does.
  const LeakRow* Recent() const;
  // Leaves the rows with a pair for which the conditions hold.
  void Choose(const Definitions& definitions, const Selection& selection);
  // Why nothing can be said, or "".
  std::string why_unknown;
};

// What leaks are told from.
class Evidence {
 public:
  // Both must outlive it.
  explicit Evidence(const Histories& histories);
  explicit Evidence(const Censuses& censuses);

  // A collection; of censuses: one after which there was a census that counts.
  struct Gc {
    uint64_t id = 0, begin_ns = 0, end_ns = 0;
    uint64_t collections = 0;  // of any kind, that had ended
  };
  // The live objects of one site and class.
  struct Group {
    std::vector<uint32_t> site_classes;
    Population population;
    std::map<uint32_t, uint64_t> words_by_site;  // live now
  };
  using Key = std::pair<std::string, std::string>;  // site, class

  const Definitions& definitions() const { return *definitions_; }
  const GrowthTimeline& timeline() const { return timeline_; }
  const std::vector<Gc>& gcs() const { return gcs_; }  // by epoch
  const std::map<Key, Group>& groups() const { return groups_; }
  uint64_t old_space_collections() const { return old_space_collections_; }
  const std::vector<HistoryPoint>& old_space() const { return *old_space_; }
  // In the order of time, those of the old space and the others.
  std::vector<const HistoryPoint*> points() const;

 private:
  Group& GroupOf(uint32_t site_class);
  void AddCohorts(const std::vector<Cohort>& cohorts);
  void AddCounts();

  const Definitions* definitions_;
  const std::vector<HistoryPoint>*old_space_, *others_;
  uint64_t old_space_collections_;
  GrowthTimeline timeline_;
  std::vector<Gc> gcs_;
  std::map<Key, Group> groups_;
  std::map<uint32_t, Group*> group_of_;
};

// What is live of the pairs after that collection.
HeapTotals LiveAt(const HistoryPoint& point, const std::vector<uint32_t>& site_classes);

// What the evidence was made of must outlive the result.
Leaks FindLeaks(const Evidence& evidence, ApplicationSites& applications);

// That something grows of late; "": nothing does.
std::string RecentText(const Leaks& leaks);

}  // namespace anttracks::analyzer
