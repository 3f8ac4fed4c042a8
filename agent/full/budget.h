// SPDX-License-Identifier: Apache-2.0
// How many of the TLAB stretches are read, so that tracing takes no more than its share of the processors'
// time.
//
// A stretch is read by chance, with a probability that does not depend on what is in it. The probability, the
// share, follows from what tracing has cost so far: what grows with the share (reading, compressing, writing)
// gets what the budget leaves beside what does not (moves, reports of stretches). What was spent beyond the
// budget is saved later, so that the promise is one for the whole run.
//
// Thread safety: share, percent and Choose by any thread; SetPercent and Fix by one at a time, Adjust by the
// writer. Units: shares in parts of kWholeShare; times are ns of CPU time since the process began.
#pragma once

#include <atomic>
#include <cstdint>

#include "trace/format.h"

namespace anttracks::core {

class Budget {
 public:
  // Below it the estimates would say nothing.
  static constexpr uint32_t kLeastShare = trace::kWholeShare / 256;

  struct Costs {
    uint64_t process_ns = 0;  // of everybody
    uint64_t scaled_ns = 0;   // of tracing: what follows the share
    uint64_t fixed_ns = 0;    // of tracing: what does not
  };

  uint32_t share() const { return share_.load(std::memory_order_relaxed); }
  // 0: there is no budget, everything is read or the share is fixed.
  double percent() const { return percent_.load(std::memory_order_acquire); }
  // 100 and more: everything is read.
  void SetPercent(double percent);
  // A share that stays.
  void Fix(uint32_t share) { share_.store(share, std::memory_order_relaxed); }
  // What it all has cost. Every tenth of a second or so.
  void Adjust(const Costs& costs);

  // Of the process' other time, since the budget was set.
  double spent_percent() const { return spent_percent_.load(std::memory_order_relaxed); }

  // Whether to read the next stretch. random: of the thread, not 0.
  static bool Choose(uint32_t share, uint32_t* random) {
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    return *random % trace::kWholeShare < share;
  }

 private:
  std::atomic<uint32_t> share_{trace::kWholeShare};
  std::atomic<double> percent_{0}, spent_percent_{0};
  std::atomic<bool> begins_{false};  // what was spent before is not this budget's
  // Of Adjust.
  struct Sums {
    Costs last;
    double scaled = 0, fixed = 0, rest = 0;           // of the last half second or so
    double all_own = 0, all_rest = 0, overspent = 0;  // since the budget was set
  };
  Sums sums_;
};

}  // namespace anttracks::core
