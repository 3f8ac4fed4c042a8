// SPDX-License-Identifier: Apache-2.0
// How fast objects are read, as measured while the program runs: what may wait to be read until a collection's
// pause is bounded in time, not in bytes. Where objects are small a megabyte takes ten times as long as where
// they are large.
//
// Thread safety: full; of two measurements at the same moment one may be lost.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace anttracks::core {

class ReadPace {
 public:
  // What the pause may have to read of what threads have kept, and of what was given to walkers. In the pause
  // it takes somewhat longer than measured: it is read by one thread, from another processor's cache.
  static constexpr uint64_t kMostKeptNs = 300'000, kMostGivenNs = 200'000;

  // So many bytes of the heap were read in that processor time.
  void Add(uint64_t ns, uint64_t bytes) {
    if (bytes == 0) return;
    const double before = ns_per_byte_.load(std::memory_order_relaxed);
    const double now = static_cast<double>(ns) / static_cast<double>(bytes);
    ns_per_byte_.store(before + (now - before) * kWeight, std::memory_order_relaxed);
  }
  // What can be read in that time.
  uint64_t BytesIn(uint64_t ns) const {
    const double bytes = static_cast<double>(ns) / std::max(ns_per_byte_.load(std::memory_order_relaxed), 1e-6);
    return static_cast<uint64_t>(std::min(bytes, kMostBytes));
  }

 private:
  static constexpr double kWeight = 1.0 / 16;
  static constexpr double kMostBytes = 8 << 20;
  std::atomic<double> ns_per_byte_{0.25};
};

}  // namespace anttracks::core
