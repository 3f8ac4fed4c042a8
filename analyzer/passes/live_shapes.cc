// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/live_shapes.h"

namespace anttracks::analyzer {

bool LiveShapes::End(HeapTotals live, const ObjectShapes& shapes, uint32_t epoch) {
  for (const auto& [word, shape] : outside_) Add(shape);
  outside_.clear();
  epoch_ = epoch;
  HeapTotals sum;
  for (uint32_t shape = 0; known_ && shape < live_.size(); shape++) {
    if (live_[shape] == 0) continue;
    known_ = live_[shape] > 0;
    const auto objects = static_cast<uint64_t>(live_[shape]);
    sum.Add({objects, objects * shapes.words(shape)});
  }
  known_ = known_ && sum.objects == live.objects && sum.words == live.words;
  return known_;
}

}  // namespace anttracks::analyzer
