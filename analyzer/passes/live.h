// SPDX-License-Identifier: Apache-2.0
// The heap, and the allocated objects of the whole trace by shape, in one pass: a sink for Decoder.
//
// Thread safety: none. Ownership: as Rebuild.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/passes/counts.h"
#include "analyzer/passes/marks.h"
#include "analyzer/passes/rebuild.h"

namespace anttracks::analyzer {

// How many objects the heap has, by shape; fillers included. wanted(provenance) says which of them count; it is
// asked once for neighbours of the same provenance. What the current collection has taken does not count.
template <class Wanted>
std::vector<uint64_t> LiveByShape(const Rebuild& rebuild, Wanted&& wanted) {
  std::vector<uint64_t> objects(rebuild.definitions().shapes().size());
  uint32_t last = 0;
  bool counts = wanted(last);
  const Heap& heap = rebuild.heap();
  heap.ForEachRun(heap.start(), heap.end(), [&](std::span<const uint32_t> shapes, uint32_t provenance) {
    if (provenance != last) counts = wanted(last = provenance);
    if (!counts) return;
    for (const uint32_t shape : shapes) objects[shape]++;
  });
  return objects;
}

class LiveAndAllocated : public Rebuild {
 public:
  // window: of when objects were allocated that allocated() has.
  LiveAndAllocated(Definitions& definitions, Problems& problems, const BirthWindow& window = {})
      : Rebuild(definitions, problems, {}), window_(window), allocated_(definitions) {}

  void AllocBegin(uint64_t thread, uint64_t time, uint32_t share) override {
    in_window_ = window_.all() || window_.Has(epoch());
    if (in_window_) allocated_.AllocBegin(thread, time, share);
    Rebuild::AllocBegin(thread, time, share);
  }
  void RunBegin(trace::How how) override {
    if (in_window_) allocated_.RunBegin(how);
  }
  void Skipped(uint64_t word, uint64_t words) override {
    if (in_window_) allocated_.Skipped(word, words);
    Rebuild::Skipped(word, words);
  }
  bool Found(uint64_t from, uint64_t to, uint32_t shape) override {
    if (in_window_) allocated_.Found(from, to, shape);
    return Rebuild::Found(from, to, shape);
  }
  void Objects(const Neighbours& objects) override {
    if (in_window_) allocated_.Objects(objects);
    Rebuild::Objects(objects);
  }
  void GcEnd(const GcEvent& event) override {
    Rebuild::GcEnd(event);
    window_.GcEnd(event.id);
  }
  CountByShape& allocated() { return allocated_; }
  const BirthWindow& window() const { return window_; }

 private:
  BirthWindow window_;
  bool in_window_ = true;  // the ALLOC segment
  CountByShape allocated_;
};

}  // namespace anttracks::analyzer
