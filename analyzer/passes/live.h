// SPDX-License-Identifier: Apache-2.0
// The live objects at one moment, and the allocated objects of the whole trace, in one pass: a sink for
// Decoder.
//
// Thread safety: none. Ownership: as Rebuild.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/passes/counts.h"
#include "analyzer/passes/rebuild.h"

namespace anttracks::analyzer {

// How many objects the heap has, by shape; fillers included.
inline std::vector<uint64_t> LiveByShape(const Rebuild& rebuild) {
  std::vector<uint64_t> objects(rebuild.definitions().shapes().size());
  rebuild.heap().ForEach([&](const HeapObject& object, bool) { objects[object.shape]++; });
  return objects;
}

// The pass goes on after the moment, to count all allocations.
class LiveAndAllocated : public Rebuild {
 public:
  // gc: the id of the collection after which live objects are counted; none: at the end of the trace.
  LiveAndAllocated(Definitions& definitions, Problems& problems, std::optional<uint64_t> gc)
      : Rebuild(definitions, problems, {}), gc_(gc), allocated_(definitions) {}

  void AllocBegin(uint64_t thread, uint64_t time, uint32_t share) override {
    allocated_.AllocBegin(thread, time, share);
    Rebuild::AllocBegin(thread, time, share);
  }
  void RunBegin(trace::How how) override { allocated_.RunBegin(how); }
  void Skipped(uint64_t word, uint64_t words) override {
    allocated_.Skipped(word, words);
    Rebuild::Skipped(word, words);
  }
  bool Found(uint64_t from, uint64_t to, uint32_t shape) override {
    allocated_.Found(from, to, shape);
    return Rebuild::Found(from, to, shape);
  }
  void Object(uint64_t word, uint32_t shape, trace::How how) override {
    allocated_.Object(word, shape, how);
    Rebuild::Object(word, shape, how);
  }
  void GcEnd(const GcEvent& event) override {
    Rebuild::GcEnd(event);
    if (!gc_ || found_ || event.id != *gc_) return;
    found_ = gcs().back();
    live_ = LiveByShape(*this);
    state_then_ = state();
    unknown_then_ = Rebuild::unknown_words();
  }

  CountByShape& allocated() { return allocated_; }
  // The collection, once it was seen.
  const std::optional<GcRecord>& found() const { return found_; }
  // Live objects by shape, after the collection, or now if gc was none; may be shorter than the number of
  // shapes. Only after META was read.
  std::vector<uint64_t> live() const { return found_ ? live_ : LiveByShape(*this); }
  // The heap's state at the moment of live().
  HeapState live_state() const { return found_ ? state_then_ : state(); }
  // Rebuild::unknown_words at the moment of live().
  uint64_t live_unknown_words() const { return found_ ? unknown_then_ : unknown_words(); }

 private:
  std::optional<uint64_t> gc_;
  CountByShape allocated_;
  std::optional<GcRecord> found_;
  std::vector<uint64_t> live_;
  HeapState state_then_ = HeapState::kStart;
  uint64_t unknown_then_ = 0;
};

}  // namespace anttracks::analyzer
