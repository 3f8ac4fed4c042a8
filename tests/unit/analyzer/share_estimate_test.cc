// SPDX-License-Identifier: Apache-2.0
// Estimates of what was allocated where a share was read, against programs whose truth is known.
#include "analyzer/passes/share_estimate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "analyzer/passes/share_over_time.h"

namespace anttracks::analyzer {
namespace {

constexpr uint32_t kGroups = 8;

constexpr uint64_t WordsOf(uint32_t group) { return 3 + 4 * group; }

// About 2,200 words; 10,000 with a burst of the last group.
struct Stretch {
  std::vector<uint32_t> groups;
  uint64_t objects[kGroups] = {}, words = 0;
};

// Group 0 is everywhere, the next ones are rarer and rarer, the last one comes in bursts.
Stretch MakeStretch(std::mt19937* random) {
  Stretch stretch;
  const bool burst = (*random)() % 50 == 0;
  for (int i = 0; i < 500; i++) {
    const uint32_t draw = (*random)() % (1u << 12);
    uint32_t group = 0;
    while (group + 2 < kGroups && draw >> (12 - 2 * (group + 1)) == 0) group++;
    if (burst && i < 300) group = kGroups - 1;
    stretch.groups.push_back(group);
    stretch.objects[group]++;
    stretch.words += WordsOf(group);
  }
  return stretch;
}

// Every run of a program draws its stretches from these: what is not read costs a draw then, not 500.
const std::vector<Stretch>& Stretches() {
  static const std::vector<Stretch> stretches = [] {
    std::mt19937 random(17);
    std::vector<Stretch> made(1 << 14);
    for (Stretch& stretch : made) stretch = MakeStretch(&random);
    return made;
  }();
  return stretches;
}

struct Run {
  ShareEstimator estimator;
  uint64_t objects[kGroups] = {}, words[kGroups] = {};
};

// Shares change as the program runs, as a budget's do: each holds for an equal part of the stretches.
struct Plan {
  std::vector<uint32_t> shares;
  int stretches;
};

void Simulate(uint32_t seed, const Plan& plan, Run* run) {
  std::mt19937 random(seed);
  for (int i = 0; i < plan.stretches; i++) {
    const uint32_t share =
        plan.shares[static_cast<size_t>(i) * plan.shares.size() / static_cast<size_t>(plan.stretches)];
    const Stretch& stretch = Stretches()[random() % Stretches().size()];
    for (uint32_t group = 0; group < kGroups; group++) {
      run->objects[group] += stretch.objects[group];
      run->words[group] += stretch.objects[group] * WordsOf(group);
    }
    if (random() % trace::kWholeShare >= share) {
      run->estimator.Skipped(stretch.words);
      continue;
    }
    run->estimator.Begin(share);
    for (const uint32_t group : stretch.groups) run->estimator.Object(group, WordsOf(group));
  }
  run->estimator.End();
}

TEST_CASE("shares over time have as many periods as the trace is long, however often they grew") {
  ShareOverTime shares;
  const uint64_t period = shares.period_ns();
  shares.Add(0, 0.5);
  shares.Add(63 * period, 1);
  CHECK(shares.periods().size() == 64);
  shares.Add(64 * period, 0.25);
  CHECK(shares.period_ns() == 2 * period);
  REQUIRE(shares.periods().size() == 33);
  CHECK(shares.periods()[0].mean() == 0.5);
  CHECK(shares.periods()[1].segments == 0);
  CHECK(shares.periods()[31].mean() == 1);
  CHECK(shares.periods()[32].mean() == 0.25);
  shares.Add(128 * period, 0.25);
  CHECK(shares.periods().size() == 33);
  shares.Add(1000 * period, 0.5);
  CHECK(shares.periods().size() == 1000 * period / shares.period_ns() + 1);
}

TEST_CASE(
    "the truth lies in the interval in 95 of 100 runs, for frequent and rare things, and whatever the share "
    "does") {
  // A budget has the smallest share only where stretches are many.
  const Plan plans[] = {{{trace::kWholeShare / 4}, 1200},
                        {{trace::kWholeShare / 64}, 1200},
                        {{trace::kWholeShare / 256}, 4800},
                        {{trace::kWholeShare / 4, trace::kWholeShare / 64, trace::kWholeShare / 8}, 1200}};
  for (const Plan& plan : plans) {
    int inside[kGroups] = {}, judged[kGroups] = {};
    double error = 0;
    constexpr int kRuns = 3000;
    for (uint32_t seed = 0; seed < kRuns; seed++) {
      Run run;
      Simulate(seed, plan, &run);
      for (uint32_t group = 0; group < kGroups; group++) {
        const EstimatedTotals totals = run.estimator.Of({&group, 1});
        if (totals.objects.value == 0) continue;  // nothing of it was read, so nothing is said
        const auto objects = static_cast<double>(run.objects[group]),
                   words = static_cast<double>(run.words[group]);
        judged[group]++;
        inside[group] += objects >= totals.objects.low && objects <= totals.objects.high &&
                         words >= totals.words.low && words <= totals.words.high;
        if (group == 0) error += totals.objects.value / objects - 1;
      }
    }
    CHECK(std::abs(error / kRuns) < 0.03);  // of one estimate the error is some times that
    for (uint32_t group = 0; group < kGroups; group++) {
      CAPTURE(plan.shares.size());
      CAPTURE(plan.shares[0]);
      CAPTURE(group);
      REQUIRE(judged[group] > 50);
      const double share = static_cast<double>(inside[group]) / judged[group];
      CAPTURE(share);
      // Of n intervals of 95 % fewer are inside once in a hundred times.
      CHECK(share >= 0.95 - 2.33 * std::sqrt(0.95 * 0.05 / judged[group]));
    }
  }
}

TEST_CASE("what was read or found is never estimated away, and without skipped stretches all is exact") {
  ShareEstimator estimator;
  estimator.Begin(trace::kWholeShare / 2);
  for (int i = 0; i < 10; i++) estimator.Object(1, 4);
  estimator.End();
  const ShareEstimator::Group group = 1, none = 7;
  CHECK(estimator.Of({&group, 1}).objects.low == 10);
  CHECK(estimator.Of({&group, 1}).objects.high == 10);
  CHECK(estimator.Of({&none, 1}).objects.high == 0);
  estimator.Skipped(4);
  for (int i = 0; i < 90; i++) estimator.Found(1, 4);
  CHECK(estimator.Of({&group, 1}).objects.low >= 100);
  CHECK(estimator.Of({&group, 1}).words.value >= 400);
}

TEST_CASE("of a thread of which nothing was read the interval has all that there is room for") {
  ShareEstimator estimator;
  estimator.Skipped(100);
  const ShareEstimator::Group all = 0;
  estimator.Found(0, 3);
  CHECK(estimator.Of({&all, 1}).objects.low == 1);
  CHECK(estimator.Of({&all, 1}).objects.high >= 50);
}

}  // namespace
}  // namespace anttracks::analyzer
