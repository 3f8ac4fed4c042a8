// SPDX-License-Identifier: Apache-2.0
// Information quality: for how many live objects all information is known, after a sync point and after each
// collection.
//
// Definition: Lengauer, Bitto, Moessenboeck, "Efficient and Viable Handling of Large Object Traces", ICPE 2016,
// section 4.3 and figure 18: the share of the live objects with complete information, 0 to 1. An object's
// information is its class, size, allocation site, allocating thread and allocation time. An object
// that only a sync point lists has no thread and no time. Its site is known unless it is 0 (unknown) or 3 (no
// id was left). "Live" are the objects in the heap after the collection, without fillers.
//
// Thread safety: none. Ownership: borrows definitions and problems.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/passes/rebuild.h"
#include "analyzer/passes/shape_tally.h"

namespace anttracks::analyzer {

struct QualityRow {
  bool is_sync = false;  // after a sync point whose objects became the heap; false: after a collection
  uint64_t gc = 0;       // the collection's id
  GcKind kind = GcKind::kYoung;
  uint64_t time_ns = 0;  // for a sync point: when it began
  bool known = false;    // false: the heap is incomplete or was not counted; counts below are 0
  uint64_t objects = 0;
  // How many of these objects have this information.
  uint64_t complete = 0, with_class = 0, with_size = 0, with_site = 0, with_thread = 0, with_time = 0;
};

class Quality : public Rebuild {
 public:
  Quality(Definitions& definitions, Problems& problems) : Rebuild(definitions, problems, {}) {}

  void SyncBegin(const SyncEvent& event) override {
    sync_time_ = event.time;
    Rebuild::SyncBegin(event);
  }
  void SyncEnd(uint64_t objects, uint64_t bytes) override;
  void GcEnd(const GcEvent& event) override;

  const std::vector<QualityRow>& rows() const { return rows_; }

 private:
  // What an object's provenance tells.
  enum BirthFacts { kNeither, kTime, kThreadAndTime };

  void Measure(QualityRow row);
  void Add(QualityRow* row, uint32_t shape, uint64_t objects, BirthFacts birth) const;

  uint64_t sync_time_ = 0;
  ShapeTally tallies_[3];  // by BirthFacts, while the heap is walked
  std::vector<QualityRow> rows_;
};

}  // namespace anttracks::analyzer
