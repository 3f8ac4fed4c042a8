// SPDX-License-Identifier: Apache-2.0
// Rebuilds the heap from the events of a trace: a sink for Decoder.
//
// The copies of a young collection go into the same heap, since their destinations are free. The slides of a
// full collection go into a second heap, since destinations overlap sources that other workers have yet to
// report; it replaces the first heap at the collection's end. An object in a collected space that was neither
// moved nor left in place is dead. G1's remark pause is a collection that moves nothing; its end says which of
// the optional spaces were collected.
//
// If the heap is not known, at the start or after a loss, the next sync point gives it. If it is known, a
// rotation's sync point is a check (sync_check.h).
//
//   kStart --SYNC_BEGIN--> kFilling --SYNC_END--> kExact --SYNC_BEGIN (rotation), SYNC_END: checked--> kExact
//                          kFilling --SYNC_ABANDONED--> kUnknown --SYNC_BEGIN--> kFilling
//   any --LOSS, gap--> kLost --SYNC_BEGIN--> kFilling
//
// The objects in skipped ranges are unknown until a young collection finds the live ones. Those that it does
// not find are dead; their bytes are known, but not their number.
//
// A collection whose end is missing, as the trace ends there or a loss has swallowed it, leaves each object
// once: a young one those that it has moved where they are now, a full one all where they were before it.
//
// A few bytes of a trace can cause a walk over the whole heap. So walks are counted: a trace is refused if
// those that the rebuilding takes visit more than kWalksPerRecord objects per record of the trace. Walks of a
// pass for numbers of its own, such as those after each collection, may visit as many, and are left out beyond.
//
// Thread safety: none. Ownership: owns the heap; borrows definitions and problems.
// Units: words of 8 bytes unless a name says otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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
  kUnknown,  // after an abandoned sync point: much of the old space is missing, nothing is checked
  kLost,     // events are missing: contradictions are counted separately
};

// Numbers of sync points, by what became of them.
struct SyncCounts {
  uint64_t taken = 0;    // their objects became the heap
  uint64_t checked = 0;  // they were compared with the heap
  uint64_t abandoned = 0;
};

struct GcRecord {
  uint64_t id = 0;
  GcKind kind = GcKind::kYoung;
  std::string cause;
  uint64_t begin_ns = 0, end_ns = 0;
  uint64_t used_before = 0, used_after = 0;  // bytes in all spaces, as the VM reports them
  HeapTotals moved, stayed, died, fillers, live;
  // The skipped ranges since the collection before, and the objects that were found in them, which are also in
  // moved or stayed. (stayed: objects left in place, by a full collection or self-forwarded.)
  uint64_t skipped_words = 0;
  HeapTotals found;
  bool exact = false;                 // every object was known when it ended
  SyncState sync = SyncState::kNone;  // of the rotation's sync point that follows it
};

class Rebuild : public SinkBase {
 public:
  struct Options {
    bool check_syncs = true;           // compare sync points with a heap that is known
    bool check_spaces = false;         // that every object lies in a space, before and after each collection
    uint64_t stop_after = UINT64_MAX;  // number of collections after which done() is true
  };

  Rebuild(Definitions& definitions, Problems& problems, const Options& options)
      : definitions_(&definitions), problems_(&problems), options_(options) {}

  void Configure(uint64_t start_word, uint64_t end_word) override;

  void AllocBegin(uint64_t thread, uint64_t, uint32_t) override {
    provenance_ = provenance_table_.Intern(thread, epoch());
  }
  void Objects(const Neighbours& objects) override;
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
  // Used by the first complete sync point.
  bool SavedProvenance(const ProvenanceRun& run) override { return saved_provenance_.Add(run); }
  void ProvenanceInPart() override { saved_provenance_.SetInPart(); }
  void ClassUnload(uint64_t) override { unloaded_in_gc_ = true; }
  void Loss(const LossEvent&) override { Lose(); }
  void Gap() override { Lose(); }
  void set_position(const Position& position) override {
    position_ = position;
    records_++;
  }
  void Finished() override { Settle(); }
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
  // At the last collection or sync point.
  const std::vector<Space>& spaces() const { return spaces_; }
  HeapState state() const { return state_; }
  // Words of the skipped ranges since the last collection: the objects there are not in the heap.
  uint64_t unknown_words() const { return skipped_.words(); }
  // False after a loss, and until a sync point has given all objects.
  bool exact() const { return state_ == HeapState::kExact; }
  // False: some of what is in the heap was listed by a sync point, but is not older than the trace. Which
  // thread allocated it, and when, is not known.
  bool knows_births() const { return knows_births_; }
  const SyncCounts& syncs() const { return syncs_; }
  // How many collections have ended: the birth of objects that are allocated now.
  uint32_t epoch() const { return static_cast<uint32_t>(gcs_.size()); }
  // After how many collections walks were left out: see AffordsWalk.
  uint64_t walks_left_out() const { return walks_left_out_; }
  uint64_t MemoryBytes() const;
  // The objects are needed no more: the heap is empty then, its memory is free for what is made of the rest.
  void FreeHeap();

 protected:
  // Must be called before a walk over all objects. False: the trace is refused.
  bool MayWalk() { return Walk(heap_->totals().objects); }
  // The same for work that takes as long as a walk over that many objects.
  bool Walk(uint64_t objects);
  // The same for a walk that can be left out. False: it has to be.
  bool AffordsWalk();
  // The spaces of the last sync point, in its order.
  const std::vector<Space>& sync_spaces() const { return sync_spaces_; }

  // Between the begin of a collection and its end. What it has taken is in the heap meanwhile, and so is where
  // a young collection has put it.
  bool in_gc() const { return in_gc_; }
  // Ends a collection whose end is missing; see above. Does nothing outside of one.
  virtual void Settle();

  // For a pass that follows each object from its allocation to its death.
  //
  struct DeadRange {
    uint64_t bottom, top;  // words; top is not in it
    trace::Generation generation;
  };
  // Called before objects are dropped, once for all that a collection or a sync point drops: those that start
  // in the ranges, which do not overlap, and were not taken are dead.
  virtual void BeforeDrop(std::span<const DeadRange> /*ranges*/) {}
  // Called before a sync point replaces the heap: what became of the objects in it is not known.
  virtual void BeforeClear() {}
  // What the last Move or Slide took from its place; nullptr if nothing, or for the second time.
  const HeapObject* taken() const { return has_taken_ ? &taken_ : nullptr; }
  // Whether it lay in a young space of the collection.
  bool taken_from_young() const { return Collects(last_collected_, taken_.word) && InYoung(last_collected_); }
  // The current collection, or the last one.
  const GcRecord& gc() const { return gc_; }
  // Sets the provenance of what is allocated from here on.
  uint32_t provenance() const { return provenance_; }
  void set_provenance(uint64_t thread) { provenance_ = provenance_table_.Intern(thread, epoch()); }
  // Sets that of the object that starts at the word, which was allocated since the last collection.
  void ChangeProvenance(uint64_t word, uint64_t thread) {
    heap_->SetProvenance(word, provenance_table_.Intern(thread, epoch()));
  }

 private:
  static constexpr uint64_t kWalksPerRecord = 1024, kWalksAlways = uint64_t{1} << 26;

  uint64_t most_walked() const { return kWalksAlways + records_ * kWalksPerRecord; }
  Heap& target() { return gc_.kind == GcKind::kFull ? *next_ : *heap_; }
  template <class... Args>
  void Report(ProblemKind kind, fmt::format_string<Args...> format, Args&&... args) {
    if (state_ == HeapState::kUnknown) return;
    problems_->Add(state_ == HeapState::kLost ? ProblemKind::kAfterLoss : kind, position_, format,
                   std::forward<Args>(args)...);
  }
  const std::string& ClassName(uint32_t shape) const;
  // Reports that an object could not be inserted. overlap: the problem's kind if the place is taken.
  void Refused(uint64_t word, uint32_t shape, ProblemKind overlap = ProblemKind::kOverlap);
  bool Take(uint64_t from, HeapObject* object, bool* again);
  bool Collects(size_t space, uint64_t word) const {
    return space < collected_.size() && word >= collected_[space].bottom && word < collected_[space].top;
  }
  bool InYoung(size_t space) const { return trace::IsYoung(collected_[space].kind); }
  void CheckCollected(uint64_t from);
  void DropAll(std::vector<DeadRange> ranges);
  void DropYoung();
  void DropListedAsDead();
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
  std::unique_ptr<Heap> next_;  // filled by a full collection
  ProvenanceTable provenance_table_;
  ProvenanceRuns saved_provenance_;  // until a sync point has used it
  uint32_t provenance_ = 0;
  Position position_;
  std::vector<Space> spaces_;
  std::vector<Space> collected_;  // collected by the current collection; by address
  size_t last_collected_ = 0;
  HeapObject taken_;
  bool has_taken_ = false;
  std::vector<HeapObject> self_forwarded_;  // in a young collection
  SkippedStretches skipped_;                // since the last collection that moved objects
  GcRecord gc_;
  HeapTotals before_;  // the heap before the current collection
  bool in_gc_ = false;
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
  bool knows_births_ = true;
  uint64_t records_ = 0, walked_ = 0, walked_for_numbers_ = 0, walks_left_out_ = 0;
  uint32_t left_out_at_ = UINT32_MAX;
  std::optional<Position> refused_;
};

}  // namespace anttracks::analyzer
