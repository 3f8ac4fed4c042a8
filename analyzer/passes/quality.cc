// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/quality.h"

#include <span>

namespace anttracks::analyzer {

void Quality::SyncEnd(uint64_t objects, uint64_t bytes) {
  const uint64_t taken = syncs().taken;
  Rebuild::SyncEnd(objects, bytes);
  if (syncs().taken == taken) return;
  QualityRow row;
  row.is_sync = true;
  row.time_ns = sync_time_;
  Measure(row);
}

void Quality::GcEnd(const GcEvent& event) {
  Rebuild::GcEnd(event);
  QualityRow row;
  row.gc = event.id;
  row.kind = event.kind;
  row.time_ns = event.time;
  Measure(row);
}

void Quality::Measure(QualityRow row) {
  row.known = exact() && AffordsWalk();
  if (row.known) {
    const auto count = [&](std::span<const uint32_t> shapes, uint32_t provenance) {
      const bool born = provenance != ProvenanceTable::kBeforeTrace;
      const bool thread = born && provenance_table()[provenance].thread != 0;
      ShapeTally& tally = tallies_[thread ? kThreadAndTime : born ? kTime : kNeither];
      for (const uint32_t shape : shapes) tally.Add(shape);
    };
    heap().ForEachRun(heap().start(), heap().end(), count);
    for (const BirthFacts birth : {kNeither, kTime, kThreadAndTime})
      tallies_[birth].Take([&](uint32_t shape, uint64_t objects) { Add(&row, shape, objects, birth); });
  }
  rows_.push_back(row);
}

void Quality::Add(QualityRow* row, uint32_t shape, uint64_t objects, BirthFacts birth) const {
  const SiteClass& site_class = definitions().site_class_of_shape(shape);
  if (site_class.site == kSiteFiller) return;
  const bool with_class = definitions().class_info(site_class.class_id).defined;
  const bool with_size = definitions().shapes().words(shape) != 0;
  const bool with_site = site_class.site != kSiteUnknown && site_class.site != kSiteOverflow;
  row->objects += objects;
  row->with_class += with_class ? objects : 0;
  row->with_size += with_size ? objects : 0;
  row->with_site += with_site ? objects : 0;
  row->with_thread += birth == kThreadAndTime ? objects : 0;
  row->with_time += birth != kNeither ? objects : 0;
  const bool complete = with_class && with_size && with_site && birth == kThreadAndTime;
  row->complete += complete ? objects : 0;
}

}  // namespace anttracks::analyzer
