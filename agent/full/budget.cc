// SPDX-License-Identifier: Apache-2.0
#include "agent/full/budget.h"

#include <algorithm>
#include <utility>

namespace anttracks::core {
namespace {

// The factor by which the sums shrink at each step, so that old costs count less.
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
  begins_ = true;
  percent_.store(percent >= 100 ? 0 : percent, std::memory_order_release);
}

void Budget::Adjust(const Costs& costs) {
  const double part = percent() / 100;
  if (part == 0) return;
  if (std::exchange(begins_, false)) {
    sums_ = {.last = costs};
    return;
  }
  const auto scaled = static_cast<double>(costs.scaled_ns - sums_.last.scaled_ns);
  const auto fixed = static_cast<double>(costs.fixed_ns - sums_.last.fixed_ns);
  const double rest =
      std::max(0.0, static_cast<double>(costs.process_ns - sums_.last.process_ns) - scaled - fixed);
  sums_.last = costs;
  sums_.scaled = kMemory * sums_.scaled + scaled;
  sums_.fixed = kMemory * sums_.fixed + fixed;
  sums_.rest = kMemory * sums_.rest + rest;
  sums_.all_own += scaled + fixed;
  sums_.all_rest += rest;
  sums_.overspent = std::max(0.0, sums_.overspent + scaled + fixed - kAim * part * rest);
  if (sums_.all_rest > 0) spent_percent_.store(100 * sums_.all_own / sums_.all_rest, std::memory_order_relaxed);
  const double allowed = kAim * part * sums_.rest - sums_.fixed - kPayBack * sums_.overspent;
  const double factor =
      sums_.scaled > 0 ? std::clamp(allowed / sums_.scaled, kFastestFall, kFastestRise) : kFastestRise;
  const double next = std::clamp(share() * factor, double{kLeastShare}, double{trace::kWholeShare});
  share_.store(static_cast<uint32_t>(next), std::memory_order_relaxed);
}

}  // namespace anttracks::core
