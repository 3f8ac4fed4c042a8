// SPDX-License-Identifier: Apache-2.0
// Chooses how many of the TLAB stretches are read, so that tracing takes no more CPU time than the budget
// allows.
//
// Each stretch is read with a probability, the share, that does not depend on its contents. The share follows
// from what tracing has cost so far: costs that grow with the share (reading, compressing, writing) get what
// fixed costs (moves, reports of stretches) leave of the budget. What was overspent is saved later, so that the
// budget holds for the whole run.
//
// Thread safety: share, percent, spent_percent and Choose by any thread; SetPercent, Fix and Adjust by one at
// a time.
// Units: shares in parts of kWholeShare; times are ns of CPU time since the process began.
#pragma once

#include <atomic>
#include <cstdint>

#include "trace/format.h"

namespace anttracks::core {

class Budget {
 public:
  // With a lower share estimates would be worthless.
  static constexpr uint32_t kLeastShare = trace::kWholeShare / 256;

  struct Costs {
    uint64_t process_ns = 0;  // of the whole process
    uint64_t scaled_ns = 0;   // of tracing: what grows with the share
    uint64_t fixed_ns = 0;    // of tracing: what does not
  };

  uint32_t share() const { return share_.load(std::memory_order_relaxed); }
  // 0: there is no budget; everything is read, or the share is fixed.
  double percent() const { return percent_.load(std::memory_order_acquire); }
  // 100 and more: everything is read.
  void SetPercent(double percent);
  // Sets a share that does not change.
  void Fix(uint32_t share) { share_.store(share, std::memory_order_relaxed); }
  // Adjusts the share to the costs so far. Called about every tenth of a second.
  void Adjust(const Costs& costs);

  // What tracing took since the budget was set, in percent of the process' other CPU time.
  double spent_percent() const { return spent_percent_.load(std::memory_order_relaxed); }

  // Whether to read the next stretch. random: the thread's own state, not 0.
  static bool Choose(uint32_t share, uint32_t* random) {
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    return *random % trace::kWholeShare < share;
  }

 private:
  std::atomic<uint32_t> share_{trace::kWholeShare};
  std::atomic<double> percent_{0}, spent_percent_{0};
  bool begins_ = false;  // the next Adjust forgets what was spent before
  struct Sums {
    Costs last;
    double scaled = 0, fixed = 0, rest = 0;           // of the last half second or so
    double all_own = 0, all_rest = 0, overspent = 0;  // since the budget was set
  };
  Sums sums_;
};

}  // namespace anttracks::core
