// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/page_sink.h"

namespace anttracks::analyzer {
namespace {

UsedBySpace UsedOf(const std::vector<Space>& spaces) {
  UsedBySpace used{};
  for (const Space& space : spaces) {
    const auto kind = static_cast<size_t>(space.kind);
    if (kind < used.size() && space.top > space.bottom) used[kind] += InBytes(space.top - space.bottom);
  }
  return used;
}

}  // namespace

void PageSink::GcBegin(const GcEvent& event) {
  Flush();
  before_ = UsedOf(event.spaces);
  Histories::GcBegin(event);
}

void PageSink::GcEnd(const GcEvent& event) {
  Histories::GcEnd(event);
  used_.resize(gcs().size());
  if (!used_.empty()) used_.back() = {before_, UsedOf(event.spaces)};
  if (event.kind != GcKind::kRemark) CountSurvivors();
}

// A remark frees nothing that was allocated since the collection before: it is no collection that is survived.
void PageSink::CountSurvivors() {
  if (exact() && !AffordsWalk()) return;  // the next count is of what lives until then
  const uint32_t from = not_counted_from_;
  not_counted_from_ = epoch();
  if (!exact()) return;
  survived_.resize(definitions().shapes().size());
  heap().ForEach([&](const HeapObject& object, bool) {
    if (object.provenance == ProvenanceTable::kBeforeTrace || object.provenance == ProvenanceTable::kFiller)
      return;
    if (provenance_table()[object.provenance].birth >= from) survived_[object.shape]++;
  });
}

std::map<uint32_t, HeapTotals> PageSink::Survived() const {
  std::map<uint32_t, HeapTotals> by_pair;
  const ObjectShapes& shapes = definitions().shapes();
  for (uint32_t shape = 0; shape < survived_.size(); shape++) {
    if (survived_[shape] != 0)
      by_pair[shapes[shape].site_class].Add({survived_[shape], survived_[shape] * shapes.words(shape)});
  }
  return by_pair;
}

}  // namespace anttracks::analyzer
