// SPDX-License-Identifier: Apache-2.0
// Out of memory at every allocation that the agent makes while it traces: the program goes on, the trace loads,
// and what is missing in it is told.
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/agent/fault_injection.h"
#include "tests/unit/agent/fault_run.h"

namespace anttracks::core {
namespace {

struct Case {
  std::string name;
  uint64_t count;                       // of allocations that fail, one behind the other
  uint64_t max_bytes;                   // of the trace; 0: one file
  uint64_t at_least;                    // so many allocations there must be
  uint32_t share = trace::kWholeShare;  // of the stretches that are read
};

void FailEach(const Case& test) {
  CAPTURE(test.name);
  uint64_t runs = 0, told = 0, failed = 0;
  for (uint64_t n = 1;; n++) {
    CAPTURE(n);
    FaultRun run(n);
    ScriptPlan plan{.path = run.path(), .max_bytes = test.max_bytes};
    plan.session.share = test.share;
    uint64_t allocations = 0;
    plan.begin = [&] { ArmAllocations({.first = n, .count = test.count}); };
    plan.end = [&] { allocations = DisarmAllocations(); };
    const ScriptOutcome outcome = run.Run(plan);
    CHECK(outcome.written);
    told += run.CheckToldOrComplete(outcome, test.share == trace::kWholeShare);
    failed += outcome.failed;
    if (allocations < n) break;
    runs++;
  }
  MESSAGE(test.name << ": " << runs << " allocations failed, " << told << " traces tell a loss, " << failed
                    << " ended early");
  CHECK(runs >= test.at_least);
  CHECK(told > 0);
}

TEST_CASE("out of memory once, wherever it is: nothing is lost untold") {
  FailEach({"one file", 1, 0, 100});
  FailEach({"rotated", 1, 64 << 10, 200});
  FailEach({"half of the stretches", 1, 0, 100, trace::kWholeShare / 2});
}

TEST_CASE("out of memory for a while") {
  FailEach({"one file", 20, 0, 100});
  FailEach({"rotated", 20, 64 << 10, 200});
}

TEST_CASE("out of memory for good") {
  FailEach({"one file", UINT64_MAX, 0, 100});
  FailEach({"rotated", UINT64_MAX, 64 << 10, 200});
}

}  // namespace
}  // namespace anttracks::core
