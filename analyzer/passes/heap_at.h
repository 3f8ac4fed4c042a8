// SPDX-License-Identifier: Apache-2.0
// The heap at one moment, in one pass if possible: a sink for Decoder.
//
// Only the end of the trace shows which collection was the last one. Objects that were allocated since are left
// out, as each object has its birth. Other changes since (a collection that never ended, a sync point, a loss,
// a contradiction) cannot be undone: then overrun() is true, and another pass that stops at that collection is
// needed.
//
// Thread safety: none. Ownership: as Rebuild.
#pragma once

#include <cstdint>

#include "analyzer/passes/rebuild.h"

namespace anttracks::analyzer {

class HeapAt : public Rebuild {
 public:
  struct Moment {
    enum class Kind {
      kLastGc,  // after the last collection; the end if no collection ended
      kGc,      // after the first collection with this id
      kGcs,     // after that many collections
      kEnd,
    };
    Kind kind = Kind::kLastGc;
    uint64_t number = 0;
  };

  HeapAt(Definitions& definitions, Problems& problems, const Moment& moment)
      : Rebuild(definitions, problems,
                {.stop_after = moment.kind == Moment::Kind::kGcs ? moment.number : UINT64_MAX}),
        problems_(&problems),
        moment_(moment) {}

  void GcBegin(const GcEvent& event) override {
    changed_ = true;
    Rebuild::GcBegin(event);
  }
  void GcEnd(const GcEvent& event) override {
    Rebuild::GcEnd(event);
    found_ = found_ || (moment_.kind == Moment::Kind::kGc && event.id == moment_.number);
    changed_ = false;
    state_then_ = state();
    unknown_then_ = Rebuild::unknown_words();
    problems_then_ = problems_->total();
  }
  void SyncBegin(const SyncEvent& event) override {
    changed_ = true;
    Rebuild::SyncBegin(event);
  }
  void SyncObject(uint64_t space, uint64_t word, uint32_t shape) override {
    changed_ = true;
    Rebuild::SyncObject(space, word, shape);
  }
  void SyncEnd(uint64_t objects, uint64_t bytes) override {
    changed_ = true;
    Rebuild::SyncEnd(objects, bytes);
  }
  bool done() const override { return found_ || Rebuild::done(); }

  // With kGc: the collection was found.
  bool found() const { return found_; }
  // With kLastGc: see above.
  bool overrun() const {
    return after_last_gc() && (changed_ || state() != state_then_ || problems_->total() != problems_then_);
  }
  bool at_end() const { return moment_.kind == Moment::Kind::kEnd || gcs().empty(); }

  // Calls visit(const HeapObject&) for every object of that moment, by address.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    heap().ForEach([&](const HeapObject& object, bool) {
      if (!after_last_gc() || !IsLater(object.provenance)) visit(object);
    });
  }
  // Rebuild::unknown_words at that moment.
  uint64_t words_not_known() const { return after_last_gc() ? unknown_then_ : Rebuild::unknown_words(); }

 private:
  bool after_last_gc() const { return moment_.kind == Moment::Kind::kLastGc && !gcs().empty(); }
  bool IsLater(uint32_t provenance) const {
    return provenance != ProvenanceTable::kBeforeTrace && provenance != ProvenanceTable::kFiller &&
           provenance_table()[provenance].birth == epoch();
  }

  const Problems* problems_;
  const Moment moment_;
  bool found_ = false;
  bool changed_ = false;  // since the last collection, by more than allocations
  HeapState state_then_ = HeapState::kStart;
  uint64_t unknown_then_ = 0, problems_then_ = 0;
};

}  // namespace anttracks::analyzer
