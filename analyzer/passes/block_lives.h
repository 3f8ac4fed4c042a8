// SPDX-License-Identifier: Apache-2.0
// How many objects of each site-class pair there were, how long they lived, and how many of them at most: a
// sink for Decoder. Only of objects that were allocated in the trace.
//
// A death becomes known at the collection that finds the object dead, and what is live is counted after each
// collection and at the end. So lifetimes are upper bounds, and maxima those after a collection.
//
// Where only a share of the allocations was read, numbers are those of what was read.
//
// Thread safety: none. Ownership: as Rebuild. Units: words of 8 bytes, ns since the start of the trace.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analyzer/passes/rebuild.h"

namespace anttracks::analyzer {

struct BlockSums {
  HeapTotals born, live;  // live: at the end
  HeapTotals most;        // after the collection, or at the end, after which its bytes were most
  HeapTotals at_highest;  // after the collection after which all pairs together had the most bytes
  uint64_t lived_ns = 0;  // the sum of their lifetimes
};

class BlockLives : public Rebuild {
 public:
  BlockLives(Definitions& definitions, Problems& problems) : Rebuild(definitions, problems, {}) {}

  void AllocBegin(uint64_t thread, uint64_t time, uint32_t share) override {
    time_ = time;
    Rebuild::AllocBegin(thread, time, share);
  }
  void Objects(const Neighbours& objects) override {
    for (const uint32_t shape : objects.shapes) {
      Counts& counts = At(shape);
      counts.born++;
      counts.lived -= time_;
    }
    Rebuild::Objects(objects);
  }
  void GcBegin(const GcEvent& event) override {
    now_ = event.time;
    Rebuild::GcBegin(event);
  }
  void GcEnd(const GcEvent& event) override;
  // What lives at a sync point that begins the trace is older than what is counted, whoever allocated it.
  bool SavedProvenance(const ProvenanceRun&) override { return true; }

  // Once, when all was decoded and there was a META.
  void Finish(uint64_t end_ns);
  // After Finish. By site-class pair; those of fillers are left out.
  const std::map<uint32_t, BlockSums>& sums() const { return sums_; }
  // When that collection ended; the end of the trace if there was none.
  uint64_t highest_ns() const { return highest_ns_; }

 protected:
  void BeforeDrop(std::span<const DeadRange> ranges) override;
  void BeforeClear() override;

 private:
  __extension__ using Wide = unsigned __int128;
  struct Counts {
    uint64_t born = 0, live = 0;  // live: when it was counted last
    Wide lived = 0;               // ends of lives, less their begins
  };

  Counts& At(uint32_t shape) {
    if (shape >= counts_.size()) counts_.resize(shape + size_t{1});
    return counts_[shape];
  }
  void Ended(const HeapObject& object) {
    if (InTrace(object)) At(object.shape).lived += now_;
  }
  static bool InTrace(const HeapObject& object) {
    return object.provenance != ProvenanceTable::kBeforeTrace && object.provenance != ProvenanceTable::kFiller;
  }
  void CountLive(uint64_t time, bool after_gc);
  bool IsFiller(uint32_t shape) const { return definitions().site_class_of_shape(shape).site == kSiteFiller; }

  std::vector<Counts> counts_;  // by shape
  std::map<uint32_t, BlockSums> sums_;
  uint64_t time_ = 0;  // of the ALLOC segment
  uint64_t now_ = 0;   // of the collection
  uint64_t highest_words_ = 0, highest_ns_ = 0;
};

}  // namespace anttracks::analyzer
