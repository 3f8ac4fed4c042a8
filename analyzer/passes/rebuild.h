// SPDX-License-Identifier: Apache-2.0
// Rebuilds the heap from the events of a trace: a sink for Decoder.
//
// A young collection's copies go into the same heap: their destinations are free. A full collection's slides
// go into a second heap, as destinations overlap sources that other workers have yet to report; it takes the
// place of the first at the collection's end. What lies in a collected space by then and was neither moved
// nor stays is dead.
//
// Thread safety: none. Ownership: owns the heap; symbols and problems are borrowed.
// Units: words of 8 bytes unless a name says otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/model/events.h"
#include "analyzer/model/heap.h"
#include "analyzer/model/origins.h"
#include "analyzer/model/problems.h"
#include "analyzer/model/symbols.h"
#include "analyzer/passes/decoder.h"

namespace anttracks::analyzer {

struct GcRecord {
  uint64_t id = 0;
  GcKind kind = GcKind::kYoung;
  std::string cause;
  uint64_t begin_ns = 0, end_ns = 0;
  uint64_t used_before = 0, used_after = 0;  // of all spaces, as the VM sees it: bytes
  HeapTotals moved, stayed, died, fillers, live;
};

class Rebuild : public SinkBase {
 public:
  static constexpr bool kNeedsHeap = true;
  struct Options {
    bool check_spaces = false;  // that every object lies in a space, before and after each collection
    uint64_t stop_after = UINT64_MAX;  // number of collections after which done() is true
  };

  Rebuild(Symbols& symbols, Problems& problems, const Options& options)
      : symbols_(&symbols), problems_(&problems), options_(options) {}

  void Configure(uint64_t start_word, uint64_t end_word);

  void AllocBegin(uint64_t thread, uint64_t) { origin_ = origins_.Intern(thread, epoch()); }
  void Object(uint64_t word, uint32_t shape, bool) {
    if (heap_->Insert(word, shape, origin_) != InsertResult::kOk) Refused(word, shape);
  }
  uint32_t Move(uint64_t from, uint64_t to);
  uint32_t Slide(uint64_t from, uint64_t to);
  void Filler(uint64_t word, uint32_t shape);
  void GcBegin(const GcEvent& event);
  void GcEnd(const GcEvent& event);
  void SyncBegin(const SyncEvent& event);
  void SyncObject(uint64_t space, uint64_t word, uint32_t shape);
  void SyncEnd(uint64_t objects, uint64_t bytes);
  void ClassUnload(uint64_t) { unloaded_in_gc_ = true; }
  void Loss(const LossEvent& event);
  void Gap() { exact_ = false; }
  void set_position(const Position& position) { position_ = position; }
  bool done() const { return gcs_.size() >= options_.stop_after; }

  const Heap& heap() const { return *heap_; }
  const Symbols& symbols() const { return *symbols_; }
  const Origins& origins() const { return origins_; }
  const std::vector<GcRecord>& gcs() const { return gcs_; }
  // As of the last collection or sync point.
  const std::vector<Space>& spaces() const { return spaces_; }
  // False after a loss, until the next sync point.
  bool exact() const { return exact_; }
  // Collections that ended so far: the birth of what is allocated now.
  uint32_t epoch() const { return static_cast<uint32_t>(gcs_.size()); }
  uint64_t MemoryBytes() const;

 private:
  Heap& target() { return gc_.kind == GcKind::kFull ? *next_ : *heap_; }
  template <class... Args>
  void Report(ProblemKind kind, fmt::format_string<Args...> format, Args&&... args) {
    problems_->Add(exact_ ? kind : ProblemKind::kAfterLoss, position_, format, std::forward<Args>(args)...);
  }
  const std::string& ClassName(uint32_t shape) const;
  void Refused(uint64_t word, uint32_t shape, bool filler = false);
  bool Take(uint64_t from, HeapObject* object, bool* again);
  void CheckCollected(uint64_t from);
  void DropYoung();
  void SwapFull();
  void CheckSpaces(std::string_view when);
  void CheckUnloaded();

  Symbols* symbols_;
  Problems* problems_;
  Options options_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<Heap> next_;  // of a full collection
  Origins origins_;
  uint32_t origin_ = 0;
  Position position_;
  std::vector<Space> spaces_;
  std::vector<Space> collected_;  // of the collection that is under way, by address
  size_t last_collected_ = 0;
  std::vector<HeapObject> stay_;  // in a young collection
  GcRecord gc_;
  std::vector<GcRecord> gcs_;
  HeapTotals sync_;
  bool exact_ = true;
  bool unloaded_in_gc_ = false;
};

}  // namespace anttracks::analyzer
