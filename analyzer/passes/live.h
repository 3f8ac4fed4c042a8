// SPDX-License-Identifier: Apache-2.0
// The heap, and the allocated objects of the whole trace by shape, in one pass: a sink for Decoder.
//
// Thread safety: none. Ownership: as Rebuild.
#pragma once

#include <cstdint>
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

class LiveAndAllocated : public Rebuild {
 public:
  LiveAndAllocated(Definitions& definitions, Problems& problems)
      : Rebuild(definitions, problems, {}), allocated_(definitions) {}

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
  CountByShape& allocated() { return allocated_; }

 private:
  CountByShape allocated_;
};

}  // namespace anttracks::analyzer
