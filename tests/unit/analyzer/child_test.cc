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

// What was lowered of the process: a bit for each of five things.
int Lowered() {
  int score = 0;
  std::ifstream("/proc/self/oom_score_adj") >> score;
  rlimit data{}, core{};
  getrlimit(RLIMIT_DATA, &data);
  getrlimit(RLIMIT_CORE, &core);
  return (score == 1000 ? 1 : 0) | (data.rlim_cur == kMemory && data.rlim_max == kMemory ? 2 : 0) |
         (core.rlim_cur == 0 && prctl(PR_GET_DUMPABLE) == 0 ? 4 : 0) | (sched_getscheduler(0) == SCHED_BATCH ? 8 : 0) |
         (syscall(SYS_ioprio_get, 1, 0) >> 13 == 3 ? 16 : 0);
}

int LoweredBy(std::vector<std::string> arguments) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    LowerIfAsked(words);
    _exit(Lowered());
  }
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);
  REQUIRE(WIFEXITED(state));
  return WEXITSTATUS(state);
}

TEST_CASE("a fold that the agent has started goes before the JVM does, whatever is short") {
  const std::string bytes = "--as-child=" + std::to_string(kMemory);
  CHECK(LoweredBy({"anttracks", "fold", "-f", "a.trace.3", bytes}) == 31);
  CHECK(LoweredBy({"anttracks", "fold", bytes, "a.trace.3"}) == 31);
}

TEST_CASE("who folds by himself, or runs another command, stays as he is") {
  CHECK(LoweredBy({"anttracks", "fold", "a.trace.3"}) == 0);
  CHECK(LoweredBy({"anttracks", "info", "--as-child=" + std::to_string(kMemory)}) == 0);
  CHECK(LoweredBy({"anttracks"}) == 0);
  CHECK(LoweredBy({}) == 0);
}

}  // namespace
}  // namespace anttracks::analyzer
