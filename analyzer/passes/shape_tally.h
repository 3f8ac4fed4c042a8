// SPDX-License-Identifier: Apache-2.0
// How many objects there are of each shape, until somebody takes the sums: one increment an object, however
// much is kept of each shape elsewhere.
//
// Thread safety: none. Memory: 4 bytes per shape of the trace, and 4 per shape that was added.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace anttracks::analyzer {

class ShapeTally {
 public:
  // At most 2^32 - 1 objects of a shape between two Takes.
  void Add(uint32_t shape) {
    if (shape >= counts_.size()) counts_.resize(shape + size_t{1} + shape / 2);
    if (counts_[shape]++ == 0) touched_.push_back(shape);
  }
  bool empty() const { return touched_.empty(); }
  // Calls visit(shape, objects) for each shape that was added; then there is none.
  template <class Visit>
  void Take(Visit&& visit) {
    for (const uint32_t shape : touched_) visit(shape, uint64_t{std::exchange(counts_[shape], 0)});
    touched_.clear();
  }

 private:
  std::vector<uint32_t> counts_, touched_;
};

}  // namespace anttracks::analyzer
