// SPDX-License-Identifier: Apache-2.0
// How fast objects are read, as measured while the program runs. What may be left to read in a collection's
// pause is bounded by time, not by bytes: with small objects a megabyte takes ten times as long as with large
// ones.
//
// Thread safety: full; if two threads measure at the same moment one measurement may be lost.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace anttracks::core {

class ReadPace {
 public:
  // How much a pause may have to read of the stretches that threads have not read, and of those that walkers
  // have not. In the pause this takes somewhat longer than measured: one thread reads them, from the caches of
  // other processors.
  static constexpr uint64_t kMostUnreadNs = 300'000, kMostGivenNs = 200'000;

  // That many bytes of the heap were read in ns of CPU time. Few bytes count little: beside them the time is
  // that of the first definitions, of cold caches and of the clock.
  void Add(uint64_t ns, uint64_t bytes) {
    if (bytes == 0) return;
    const double before = ns_per_byte_.load(std::memory_order_relaxed);
    const double now = static_cast<double>(ns) / static_cast<double>(bytes);
    const double weight = kWeight * std::min(1.0, static_cast<double>(bytes) / kWholeBytes);
    ns_per_byte_.store(before + (now - before) * weight, std::memory_order_relaxed);
  }
  // How many bytes can be read in that time.
  uint64_t BytesIn(uint64_t ns) const {
    const double bytes = static_cast<double>(ns) / std::max(ns_per_byte_.load(std::memory_order_relaxed), 1e-6);
    return static_cast<uint64_t>(std::min(bytes, kMostBytes));
  }

 private:
  static constexpr double kWeight = 1.0 / 16, kWholeBytes = 64 << 10;
  static constexpr double kMostBytes = 8 << 20;
  std::atomic<double> ns_per_byte_{0.25};
};

}  // namespace anttracks::core
