// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/child.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

namespace anttracks::analyzer {
namespace {

constexpr uint64_t kMemory = uint64_t{3} << 30;
constexpr int kDataIsLimited = 2, kAll = kLimitsData ? 31 : 31 - kDataIsLimited;

// What was lowered of the process: a bit for each of five things.
int Lowered() {
  int score = 0;
  std::ifstream("/proc/self/oom_score_adj") >> score;
  rlimit data{}, core{};
  getrlimit(RLIMIT_DATA, &data);
  getrlimit(RLIMIT_CORE, &core);
  return (score == 1000 ? 1 : 0) | (data.rlim_cur == kMemory && data.rlim_max == kMemory ? kDataIsLimited : 0) |
         (core.rlim_cur == 0 && prctl(PR_GET_DUMPABLE) == 0 ? 4 : 0) |
         (sched_getscheduler(0) == SCHED_BATCH ? 8 : 0) | (syscall(SYS_ioprio_get, 1, 0) >> 13 == 3 ? 16 : 0);
}

// In a process of its own, which does `before` first.
int LoweredBy(
    std::vector<std::string> arguments, void (*before)() = [] {}, int (*lowered)() = Lowered) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    before();
    LowerIfAsked(words);
    _exit(lowered());
  }
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);
  REQUIRE(WIFEXITED(state));
  return WEXITSTATUS(state);
}

// Whoever runs the tests may have forbidden core dumps.
void AllowCores() {
  rlimit core{};
  getrlimit(RLIMIT_CORE, &core);
  core.rlim_cur = core.rlim_max;
  setrlimit(RLIMIT_CORE, &core);
}

TEST_CASE("a fold that the agent has started goes before the JVM does, whatever is short") {
  const std::string bytes = "--as-child=" + std::to_string(kMemory);
  CHECK(LoweredBy({"anttracks", "fold", "-f", "a.trace.3", bytes}, AllowCores) == kAll);
  CHECK(LoweredBy({"anttracks", "fold", bytes, "a.trace.3"}) == kAll);
}

TEST_CASE("a limit that there is already is not raised, and none means no other") {
  const auto limit = [] {
    const rlimit least{kMemory / 2, 2 * kMemory};
    setrlimit(RLIMIT_DATA, &least);
  };
  const auto limits = [] {
    rlimit data{};
    getrlimit(RLIMIT_DATA, &data);
    return (data.rlim_cur == kMemory / 2 ? 1 : 0) | (data.rlim_max == kMemory ? 2 : 0) |
           (data.rlim_max == 2 * kMemory ? 4 : 0);
  };
  CHECK(LoweredBy({"anttracks", "fold", "--as-child=" + std::to_string(kMemory)}, limit, limits) ==
        (kLimitsData ? 3 : 5));
  CHECK(LoweredBy({"anttracks", "fold", "--as-child=0"}, limit, limits) == 5);
}

TEST_CASE("who folds by himself, or runs another command, stays as he is") {
  CHECK(LoweredBy({"anttracks", "fold", "a.trace.3"}) == 0);
  CHECK(LoweredBy({"anttracks", "info", "--as-child=" + std::to_string(kMemory)}) == 0);
  CHECK(LoweredBy({"anttracks"}) == 0);
  CHECK(LoweredBy({}) == 0);
}

}  // namespace
}  // namespace anttracks::analyzer
