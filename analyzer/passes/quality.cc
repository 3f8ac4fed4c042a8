// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/quality.h"

#include <span>

namespace anttracks::analyzer {
namespace {

// What a shape tells of all its objects.
struct ShapeFacts {
  bool filler = false, with_class = false, with_size = false, with_site = false;
};

std::vector<ShapeFacts> FactsOfShapes(const Definitions& definitions) {
  std::vector<ShapeFacts> facts(definitions.shapes().size());
  for (uint32_t shape = 0; shape < facts.size(); shape++) {
    const SiteClass& site_class = definitions.site_class_of_shape(shape);
    facts[shape] = {site_class.site == kSiteFiller, definitions.class_info(site_class.class_id).defined,
                    definitions.shapes().words(shape) != 0,
                    site_class.site != kSiteUnknown && site_class.site != kSiteOverflow};
  }
  return facts;
}

}  // namespace

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
  row.known = exact() && MayWalk();
  if (row.known) {
    const std::vector<ShapeFacts> facts = FactsOfShapes(definitions());
    const auto count = [&](std::span<const uint32_t> shapes, uint32_t provenance) {
      const bool born = provenance != ProvenanceTable::kBeforeTrace;
      const bool thread = born && provenance_table()[provenance].thread != 0;
      for (const uint32_t shape : shapes) {
        const ShapeFacts& fact = facts[shape];
        if (fact.filler) continue;
        row.objects++;
        row.with_class += fact.with_class;
        row.with_size += fact.with_size;
        row.with_site += fact.with_site;
        row.with_thread += thread;
        row.with_time += born;
        row.complete += fact.with_class && fact.with_size && fact.with_site && thread && born;
      }
    };
    heap().ForEachRun(heap().start(), heap().end(), count);
  }
  rows_.push_back(row);
}

}  // namespace anttracks::analyzer
