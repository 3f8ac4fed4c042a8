// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/censuses.h"

#include <utility>

namespace anttracks::analyzer {

void Censuses::Census(const CensusEvent& event) {
  if (!events_.empty() &&
      (event.time < events_.back().time || event.collections <= events_.back().collections ||
       event.allocated_words < events_.back().allocated_words)) {
    problems_->Add(ProblemKind::kOrder, position_, "census after GC {} is older than the one before", event.gc);
    return;
  }
  latest_ = event;
  CensusEvent without_rows = event;
  without_rows.rows.clear();
  HistoryPoint point;
  point.gc = event.gc;
  point.kind = event.kind;
  point.time_ns = event.time;
  point.allocated_words = event.allocated_words;
  point.old_space = event.old_space;
  for (const trace::CensusRow& row : event.rows) {
    if (definitions_->site_class(row.site_class).site == kSiteFiller) continue;
    point.levels.Add({static_cast<uint32_t>(row.site_class), row.objects, row.words, 0});
    point.live.Add({row.objects, row.words});
  }
  if (event.old_space) {
    old_space_events_.push_back(without_rows);
    point.epoch = static_cast<uint32_t>(old_space_events_.size());
  }
  (event.old_space ? old_space_ : others_).Add(std::move(point));
  events_.push_back(std::move(without_rows));
  reached_last_ = last_ && event.gc == *last_;
}

std::vector<uint64_t> Censuses::GcIds() const {
  std::vector<uint64_t> ids;
  for (const CensusEvent& event : events_) ids.push_back(event.gc);
  return ids;
}

}  // namespace anttracks::analyzer
