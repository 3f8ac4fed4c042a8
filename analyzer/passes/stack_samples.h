// SPDX-License-Identifier: Apache-2.0
// The call stacks that were sampled while objects were allocated.
//
// Thread safety: none. Units: bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

#include "analyzer/model/events.h"
#include "analyzer/passes/marks.h"

namespace anttracks::analyzer {

// They are told apart as portions are.
struct StackKey {
  Passed passed = 0;
  uint64_t thread = 0;  // 0: not asked for
  uint32_t stack = 0;
  auto operator<=>(const StackKey&) const = default;
};

struct StackSamples {
  struct Count {
    uint64_t stacks = 0;  // how often it was sampled
    // What they stand for: the sample points in these objects, times their distance.
    uint64_t bytes = 0;

    // A damaged trace may have more bytes than can be counted.
    void Add(uint64_t more_stacks, uint64_t more_bytes) {
      stacks += more_stacks;
      bytes += std::min(more_bytes, UINT64_MAX - bytes);
    }
  };
  std::map<StackKey, Count> counts;
  uint64_t least_interval = UINT64_MAX, most_interval = 0;  // bytes of a thread between two points, on average

  void Add(Passed passed, uint64_t thread, const StackEvent& event) {
    counts[{passed, thread, static_cast<uint32_t>(event.stack)}].Add(1, event.points * event.interval);
    least_interval = std::min(least_interval, event.interval);
    most_interval = std::max(most_interval, event.interval);
  }
};

}  // namespace anttracks::analyzer
