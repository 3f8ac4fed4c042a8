// SPDX-License-Identifier: Apache-2.0
// Which objects live at one moment, beside what was allocated over the whole trace: a sink for Decoder.
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

// Objects of the heap by shape id, fillers among them.
inline std::vector<uint64_t> LiveByShape(const Rebuild& rebuild) {
  std::vector<uint64_t> objects(rebuild.definitions().shapes().size());
  rebuild.heap().ForEach([&](const HeapObject& object, bool) { objects[object.shape]++; });
  return objects;
}

// Overrides what it counts and hands it on. It goes on behind the moment, so that one pass gives both.
class LiveAndAllocated : public Rebuild {
 public:
  // gc: the id of the collection after which objects are counted; none: only what is live() at the end is
  // wanted.
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
  // By shape id, possibly shorter than the number of shapes: after the collection, or now if there is none.
  // Only behind META.
  std::vector<uint64_t> live() const { return found_ ? live_ : LiveByShape(*this); }
  // What was known of the heap at the moment of live().
  HeapState live_state() const { return found_ ? state_then_ : state(); }
  // Then, too.
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
