// SPDX-License-Identifier: Apache-2.0
#include "agent/core/budget.h"

#include <algorithm>

namespace anttracks::core {
namespace {

// Of the sums, from one step to the next: what was long ago counts less.
constexpr double kMemory = 0.8;
// The part of what was overspent that each step tries to save.
constexpr double kPayBack = 0.2;
// What is not measured (pages that are touched, caches) takes the rest.
constexpr double kAim = 0.8;
constexpr double kFastestFall = 0.25, kFastestRise = 1.5;

}  // namespace

void Budget::SetPercent(double percent) {
  // Little to begin with: what the program does is not known yet.
  share_.store(percent >= 100 ? trace::kWholeShare : trace::kWholeShare / 4, std::memory_order_relaxed);
  percent_.store(percent >= 100 ? 0 : percent, std::memory_order_release);
}

void Budget::Adjust(const Costs& costs) {
  const double part = percent() / 100;
  const Costs before = last_;
  last_ = costs;
  if (part == 0 || !began_) {
    began_ = part != 0;
    return;
  }
  const auto scaled = static_cast<double>(costs.scaled_ns - before.scaled_ns);
  const auto fixed = static_cast<double>(costs.fixed_ns - before.fixed_ns);
  const double rest = std::max(0.0, static_cast<double>(costs.process_ns - before.process_ns) - scaled - fixed);
  scaled_ = kMemory * scaled_ + scaled;
  fixed_ = kMemory * fixed_ + fixed;
  rest_ = kMemory * rest_ + rest;
  all_own_ += scaled + fixed;
  all_rest_ += rest;
  overspent_ = std::max(0.0, overspent_ + scaled + fixed - kAim * part * rest);
  if (all_rest_ > 0) spent_percent_.store(100 * all_own_ / all_rest_, std::memory_order_relaxed);
  const double allowed = kAim * part * rest_ - fixed_ - kPayBack * overspent_;
  const double factor = scaled_ > 0 ? std::clamp(allowed / scaled_, kFastestFall, kFastestRise) : kFastestRise;
  const double next = std::clamp(share() * factor, double{kLeastShare}, double{trace::kWholeShare});
  share_.store(static_cast<uint32_t>(next), std::memory_order_relaxed);
}

}  // namespace anttracks::core
