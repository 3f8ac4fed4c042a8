// SPDX-License-Identifier: Apache-2.0
// Chooses the distance of the sample points at which call stacks are taken, so that these take no more CPU time
// than allowed, however fast the program allocates and however deep its stacks are.
//
// Thread safety: now by any thread, Adjust by one at a time. Units: distances are bytes that a thread
// allocates, times are ns of CPU time since the process began.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

namespace anttracks::core {

class StackDistance {
 public:
  static constexpr uint32_t kMost = 1U << 30;

  // least: the distance to begin with, and the smallest one; 0: no stacks, whatever they cost.
  explicit StackDistance(uint32_t least) : least_(least), now_(least) {}

  uint32_t now() const { return now_.load(std::memory_order_relaxed); }

  // stacks_ns: what stacks have cost so far; process_ns: the whole process. percent: of the latter that the
  // former may take; 0: any. True if the distance is another one now. Called about every tenth of a second.
  bool Adjust(uint64_t stacks_ns, uint64_t process_ns, double percent) {
    const double cost = begun_ ? static_cast<double>(stacks_ns - last_stacks_ns_) : 0;
    const double process = begun_ ? static_cast<double>(process_ns - last_process_ns_) : 0;
    begun_ = true;
    last_stacks_ns_ = stacks_ns;
    last_process_ns_ = process_ns;
    // As if the distance had been the least one: half as far is twice as often.
    const uint32_t before = now();
    cost_ = kMemory * cost_ + cost * before / std::max(least_, 1U);
    process_ = kMemory * process_ + process;
    if (least_ == 0 || process_ <= 0) return false;
    const double wanted = percent == 0 ? 1 : std::max(1.0, cost_ * 100 / (percent * process_));
    const auto next = static_cast<uint32_t>(std::min(std::round(wanted * least_), double{kMost}));
    // Each change ends a segment of the trace.
    const bool near = next < before + before / kTolerance && next > before - before / kTolerance;
    if (next == before || (near && next != least_)) return false;
    now_.store(next, std::memory_order_relaxed);
    return true;
  }

 private:
  // The factor by which old costs shrink at each step: the last second counts most.
  static constexpr double kMemory = 0.9;
  static constexpr uint32_t kTolerance = 4;

  const uint32_t least_;
  std::atomic<uint32_t> now_;
  bool begun_ = false;
  uint64_t last_stacks_ns_ = 0, last_process_ns_ = 0;
  double cost_ = 0, process_ = 0;
};

}  // namespace anttracks::core
