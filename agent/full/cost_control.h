// SPDX-License-Identifier: Apache-2.0
// What tracing costs, and what follows from it: the share of the stretches that are read (Budget), and how far
// the sample points of stacks lie apart (StackDistance).
//
// Thread safety: all by any thread.
// Ownership: borrows what it is made with.
#pragma once

#include <cstdint>
#include <mutex>

#include "agent/base/counters.h"
#include "agent/full/budget.h"
#include "agent/full/skipped.h"
#include "agent/full/stack_distance.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

class CostControl {
 public:
  // What the parts of a session have counted so far.
  struct Spent {
    uint64_t walk_ns = 0, hook_ns = 0, stack_ns = 0, compress_ns = 0;
    uint64_t tlabs = 0;
    bool for_budget = false;  // false: there was none, and nothing but stack_ns was counted
  };

  // share: of the stretches, which are read if there is no budget. stack_bytes, stack_percent: see
  // SessionConfig.
  CostControl(const AntTracksVM& vm, uint32_t share, uint32_t stack_bytes, double stack_percent);

  // Must be called before the VM's start. percent: see SessionConfig. False: out of memory.
  bool Begin(double percent);
  // Sets what tracing may cost from now on, in percent of the program's CPU time; 100 and more: no limit.
  // False: out of memory.
  bool SetBudget(double percent);
  // Adjusts share and distance.
  void Adjust(const Spent& spent);
  // From now on Adjust does nothing: the next recording may have begun while a writer waits for its disk.
  void End() noexcept;

  const Budget& budget() const { return budget_; }
  Skipped& skipped() { return skipped_; }
  uint32_t stack_bytes() const { return stack_distance_.now(); }
  void Count(CounterValues* values) const;

 private:
  void AdjustStacks(uint64_t stack_ns);

  const AntTracksVM& vm_;
  const double stack_percent_;
  std::mutex mutex_;  // SetBudget, Adjust, End
  bool ended_ = false;
  Budget budget_;
  Skipped skipped_;
  StackDistance stack_distance_;
};

}  // namespace anttracks::core
