// SPDX-License-Identifier: Apache-2.0
#include "agent/full/cost_control.h"

#include <algorithm>

#include "agent/base/clock.h"

namespace anttracks::core {
namespace {

// What a report costs beside what is measured: a call, and the way there in the VM.
constexpr uint64_t kReportNs = 100;
// The part of a budget that stacks may take.
constexpr double kStacksPart = 1.0 / 6;
constexpr double kPpmOfPercent = 10'000;

}  // namespace

CostControl::CostControl(const AntTracksVM& vm, uint32_t share, uint32_t stack_bytes, double stack_percent)
    : vm_(vm), stack_percent_(stack_percent), stack_distance_(stack_bytes) {
  budget_.Fix(share);
}

bool CostControl::Begin(double percent) {
  if (percent != 0) return SetBudget(percent);
  return budget_.share() == trace::kWholeShare || skipped_.Make(vm_);
}

bool CostControl::SetBudget(double percent) {
  const std::lock_guard lock(mutex_);
  if (percent < 100 && !skipped_.Make(vm_)) return false;
  budget_.SetPercent(percent);
  return true;
}

void CostControl::End() noexcept {
  const std::lock_guard lock(mutex_);
  ended_ = true;
}

void CostControl::Adjust(const Spent& spent) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  if (spent.for_budget) {
    budget_.Adjust({.process_ns = Clock::ProcessCpu(),
                    .scaled_ns = spent.walk_ns + spent.compress_ns + Clock::ThreadCpu(),
                    .fixed_ns = spent.hook_ns + spent.tlabs * kReportNs + spent.stack_ns});
  }
  AdjustStacks(spent.stack_ns);
}

// A budget counts, even if a distance was asked for.
void CostControl::AdjustStacks(uint64_t stack_ns) {
  const double part = budget_.percent() * kStacksPart;
  const double percent =
      part == 0 || stack_percent_ == 0 ? std::max(part, stack_percent_) : std::min(part, stack_percent_);
  if (stack_distance_.Adjust(stack_ns, Clock::ProcessCpu(), percent))
    vm_.set_stack_bytes(stack_distance_.now());
}

void CostControl::Count(CounterValues* values) const {
  values->share_ppm = uint64_t{budget_.share()} * 1'000'000 / trace::kWholeShare;
  values->budget_ppm = static_cast<uint64_t>(budget_.percent() * kPpmOfPercent);
  values->spent_ppm = static_cast<uint64_t>(budget_.spent_percent() * kPpmOfPercent);
  values->stack_bytes = stack_distance_.now();
}

}  // namespace anttracks::core
