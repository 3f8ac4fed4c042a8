// SPDX-License-Identifier: Apache-2.0
// Rebuilds the heap from the events of a trace: a sink for Decoder.
//
// A young collection's copies go into the same heap: their destinations are free. A full collection's slides
// go into a second heap, as destinations overlap sources that other workers have yet to report; it takes the
// place of the first at the collection's end. What lies in a collected space by then and was neither moved
// nor stays is dead. G1's remark pause is a collection that moves nothing; which of the optional spaces were
// collected is known at the end.
//
// A sync point gives the heap to a reader that does not know it: the first one of the files, or behind a loss.
// To one that knows it, a rotation's sync point is a check (sync_check.h).
//
//   kStart --SYNC_BEGIN--> kFilling --SYNC_END--> kExact --SYNC_BEGIN (rotation), SYNC_END: checked--> kExact
//                          kFilling --SYNC_ABANDONED--> kUnknown --SYNC_BEGIN--> kFilling
//   any --LOSS, gap--> kLost --SYNC_BEGIN--> kFilling
//
// Stretches that were skipped hold objects that nobody knows, until a young collection finds those of them that
// live. What it does not find is dead; how many objects that were is not known, but how many bytes.
//
// Walks over the whole heap (a few bytes can ask for one) are counted: beyond kWalksPerRecord objects for each
// record of the trace, the trace is refused.
//
// Thread safety: none. Ownership: owns the heap; definitions and problems are borrowed.
// Units: words of 8 bytes unless a name says otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/definitions.h"
#include "analyzer/model/events.h"
#include "analyzer/model/heap.h"
#include "analyzer/model/problems.h"
#include "analyzer/model/provenance.h"
#include "analyzer/model/provenance_runs.h"
#include "analyzer/model/skipped_stretches.h"
#include "analyzer/passes/decoder.h"
#include "analyzer/passes/sync_check.h"

namespace anttracks::analyzer {

enum class HeapState {
  kStart,    // before the first sync point
  kFilling,  // within a sync point: objects of the old space may be missing, events can be checked
  kExact,    // every object is known
  kUnknown,  // behind a sync point that was abandoned: much of the old space is missing, nothing is checked
  kLost,     // events are missing: contradictions are counted, but apart
};

// Sync points by what became of them.
struct SyncCounts {
  uint64_t taken = 0;    // their objects were taken as the heap
  uint64_t checked = 0;  // compared with the heap
  uint64_t abandoned = 0;
};

struct GcRecord {
  uint64_t id = 0;
  GcKind kind = GcKind::kYoung;
  std::string cause;
  uint64_t begin_ns = 0, end_ns = 0;
  uint64_t used_before = 0, used_after = 0;  // of all spaces, as the VM sees it: bytes
  HeapTotals moved, stayed, died, fillers, live;
  // Of the stretches that were skipped since the collection before, and of what it found in them; the latter is
  // also in moved or stayed.
  uint64_t skipped_words = 0;
  HeapTotals found;
  bool exact = false;                 // every object was known when it ended
  SyncState sync = SyncState::kNone;  // of the rotation's sync point that follows it
};

class Rebuild : public SinkBase {
 public:
  struct Options {
    bool check_syncs = true;    // compare sync points with a heap that is known
    bool whole_syncs = true;    // false: not all spaces of a sync point are wanted, so that neither its totals
                                // nor provenance is compared
    bool check_spaces = false;  // that every object lies in a space, before and after each collection
    uint64_t stop_after = UINT64_MAX;  // number of collections after which done() is true
  };

  Rebuild(Definitions& definitions, Problems& problems, const Options& options)
      : definitions_(&definitions), problems_(&problems), options_(options) {}

  void Configure(uint64_t start_word, uint64_t end_word) override;

  void AllocBegin(uint64_t thread, uint64_t, uint32_t) override {
    provenance_ = provenance_table_.Intern(thread, epoch());
  }
  void Object(uint64_t word, uint32_t shape, trace::How) override {
    records_++;
    if (heap_->Insert(word, shape, provenance_) != InsertResult::kOk) Refused(word, shape);
  }
  void Skipped(uint64_t word, uint64_t words) override { skipped_.Add({word, word + words, provenance_}); }
  bool Found(uint64_t from, uint64_t to, uint32_t shape) override;
  uint32_t Move(uint64_t from, uint64_t to) override;
  uint32_t Slide(uint64_t from, uint64_t to) override;
  void Filler(uint64_t word, uint32_t shape) override;
  void GcBegin(const GcEvent& event) override;
  void GcEnd(const GcEvent& event) override;
  void SyncBegin(const SyncEvent& event) override;
  void SyncObject(uint64_t space, uint64_t word, uint32_t shape) override;
  void SyncEnd(uint64_t objects, uint64_t bytes) override;
  void SyncAbandoned(const std::string& reason) override;
  // Used by the first sync point that is complete.
  bool SavedProvenance(const ProvenanceRun& run) override { return saved_provenance_.Add(run); }
  void ClassUnload(uint64_t) override { unloaded_in_gc_ = true; }
  void Loss(const LossEvent& event) override;
  void Gap() override { Lose(); }
  void set_position(const Position& position) override {
    position_ = position;
    records_++;
  }
  bool done() const override { return gcs_.size() >= options_.stop_after || refused_; }
  const Position* refused() const override { return refused_ ? &*refused_ : nullptr; }

  const Heap& heap() const { return *heap_; }
  const Definitions& definitions() const { return *definitions_; }
  const ProvenanceTable& provenance_table() const { return provenance_table_; }
  const std::vector<GcRecord>& gcs() const { return gcs_; }
  std::vector<uint64_t> GcIds() const {
    std::vector<uint64_t> ids;
    for (const GcRecord& gc : gcs_) ids.push_back(gc.id);
    return ids;
  }
  // As of the last collection or sync point.
  const std::vector<Space>& spaces() const { return spaces_; }
  HeapState state() const { return state_; }
  // Of stretches that were skipped since the last collection: what lies there is not in the heap.
  uint64_t unknown_words() const { return skipped_.words(); }
  // False after a loss, and until a sync point has given all objects.
  bool exact() const { return state_ == HeapState::kExact; }
  const SyncCounts& syncs() const { return syncs_; }
  // Collections that ended so far: the birth of what is allocated now.
  uint32_t epoch() const { return static_cast<uint32_t>(gcs_.size()); }
  uint64_t MemoryBytes() const;

 protected:
  // All objects of the heap are about to be looked at; false: the trace is refused for that.
  bool MayWalk() { return Walk(heap_->totals().objects); }
  // So many objects, or what takes as long.
  bool Walk(uint64_t objects);
  // Of the last sync point, in its order.
  const std::vector<Space>& sync_spaces() const { return sync_spaces_; }

 private:
  static constexpr uint64_t kWalksPerRecord = 1024, kWalksAlways = uint64_t{1} << 26;

  Heap& target() { return gc_.kind == GcKind::kFull ? *next_ : *heap_; }
  template <class... Args>
  void Report(ProblemKind kind, fmt::format_string<Args...> format, Args&&... args) {
    if (state_ == HeapState::kUnknown) return;
    problems_->Add(state_ == HeapState::kLost ? ProblemKind::kAfterLoss : kind, position_, format,
                   std::forward<Args>(args)...);
  }
  const std::string& ClassName(uint32_t shape) const;
  // overlap: what it is that the heap already has something there.
  void Refused(uint64_t word, uint32_t shape, ProblemKind overlap = ProblemKind::kOverlap);
  bool Take(uint64_t from, HeapObject* object, bool* again);
  void CheckCollected(uint64_t from);
  void DropYoung();
  void SwapFull();
  void CheckSpaces(const std::string& when);
  void CheckSkipped();
  void CheckTotals();
  void CheckUnloaded();
  void Lose();
  void SetSyncState(SyncState state);

  Definitions* definitions_;
  Problems* problems_;
  Options options_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<Heap> next_;  // of a full collection
  ProvenanceTable provenance_table_;
  ProvenanceRuns saved_provenance_;  // until they are used
  uint32_t provenance_ = 0;
  Position position_;
  std::vector<Space> spaces_;
  std::vector<Space> collected_;  // of the collection that is under way, by address
  size_t last_collected_ = 0;
  std::vector<HeapObject> self_forwarded_;  // in a young collection
  SkippedStretches skipped_;                // since the last collection that moved objects
  GcRecord gc_;
  HeapTotals before_;    // the collection that is under way
  bool counts_ = false;  // the heap was known before it, and all its events could be believed
  std::vector<GcRecord> gcs_;
  static constexpr size_t kNoGc = SIZE_MAX;
  std::vector<Space> sync_spaces_;
  std::optional<SyncCheck> check_;  // the sync point that is being checked
  size_t sync_gc_ = kNoGc;          // the collection that the last sync point follows
  size_t sync_epoch_ = 0;           // collections that had ended at the last SYNC_BEGIN
  HeapTotals sync_;
  SyncCounts syncs_;
  HeapState state_ = HeapState::kStart;
  bool unloaded_in_gc_ = false;
  uint64_t records_ = 0, walked_ = 0;
  std::optional<Position> refused_;
};

}  // namespace anttracks::analyzer
