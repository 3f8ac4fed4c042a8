// SPDX-License-Identifier: Apache-2.0
// How many objects of each shape are live after each collection, without a walk over the heap: what is live
// after one is what was live after the one before, less what died of that, and what was allocated since and is
// still there. Of the objects that were allocated since, the newborns, only those count that a collection moves
// or leaves in place; most die in eden, and are never looked at.
//
// Whoever uses it compares its sums with the heap's after each collection, and counts the heap where they
// differ, as they do after most contradictions in a damaged trace.
//
// Thread safety: none. Memory: 8 bytes per shape of the trace, 16 per object that was allocated outside TLABs
// since the last collection, at most 1 MiB. Units: words of 8 bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/model/heap.h"
#include "analyzer/model/object_shapes.h"
#include "analyzer/model/provenance.h"
#include "analyzer/passes/decoder.h"

namespace anttracks::analyzer {

class LiveShapes {
 public:
  // By shape.
  using Counts = std::vector<int64_t>;

  // False: nothing is known until Begin.
  bool known() const { return known_; }
  void Forget() {
    known_ = false;
    outside_.clear();
  }
  // After a collection: these are live, and what is born from epoch on (collections that had ended) is newborn.
  void Begin(const std::vector<uint64_t>& live, uint32_t epoch) {
    live_.assign(live.begin(), live.end());
    epoch_ = epoch;
    known_ = true;
    outside_.clear();
  }
  bool IsNewborn(const ProvenanceTable& table, uint32_t provenance) const {
    return provenance != ProvenanceTable::kBeforeTrace && provenance != ProvenanceTable::kFiller &&
           table[provenance].birth >= epoch_;
  }
  // So many more are live.
  void Add(uint32_t shape, int64_t objects = 1) {
    if (shape >= live_.size()) live_.resize(shape + size_t{1} + shape / 2);
    live_[shape] += objects;
  }
  // Newborns that were allocated outside TLABs: in a space that is not collected they stay. Of too many nothing
  // is known.
  void Outside(const Neighbours& objects) {
    if (outside_.size() > kMostOutside) return Forget();
    uint64_t word = objects.word;
    for (size_t i = 0; i < objects.shapes.size(); i++) {
      outside_.emplace_back(word, objects.shapes[i]);
      word += objects.words[i];
    }
  }
  // Before a collection drops what starts in these ranges, [bottom, top), and was not moved. They are in order
  // and do not overlap.
  template <class Range>
  void Drop(const Heap& heap, const ProvenanceTable& table, std::span<const Range> ranges);
  // The collection has ended. False: these are not all that live, and nothing is known.
  bool End(HeapTotals live, const ObjectShapes& shapes, uint32_t epoch);
  // After End.
  const Counts& live() const { return live_; }

 private:
  static constexpr size_t kMostOutside = size_t{1} << 16;
  bool known_ = false;
  Counts live_;
  uint32_t epoch_ = 0;
  std::vector<std::pair<uint64_t, uint32_t>> outside_;  // word and shape
};

template <class Range>
void LiveShapes::Drop(const Heap& heap, const ProvenanceTable& table, std::span<const Range> ranges) {
  std::erase_if(outside_, [&](const auto& object) {
    const auto behind = std::upper_bound(ranges.begin(), ranges.end(), object.first,
                                         [](uint64_t word, const Range& range) { return word < range.bottom; });
    return behind != ranges.begin() && object.first < std::prev(behind)->top;
  });
  const auto died = [&](std::span<const uint32_t> shapes, uint32_t provenance) {
    if (IsNewborn(table, provenance)) return;
    for (const uint32_t shape : shapes) Add(shape, -1);
  };
  const auto newborns = [&](const Page& page) {
    return page.one_provenance() && IsNewborn(table, page.provenance_of_index(0));
  };
  for (const Range& range : ranges) heap.ForEachRun(range.bottom, range.top, died, newborns);
}

}  // namespace anttracks::analyzer
