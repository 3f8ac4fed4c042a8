// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/child.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace anttracks::analyzer {
namespace {

constexpr char kOption[] = "--as-child=";
// linux/ioprio.h
constexpr int kIoOfProcess = 1, kIoIdle = 3 << 13;

// Never raises what there is.
void Limit(int resource, rlim_t most) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_cur, most);
  limit.rlim_max = std::min(limit.rlim_max, most);
  (void)setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

}  // namespace

void LowerThisProcess(uint64_t memory_bytes) {
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) {
    [[maybe_unused]] const ssize_t written = write(score, "1000", 4);
    close(score);
  }
  if (kLimitsData && memory_bytes != 0) Limit(RLIMIT_DATA, memory_bytes);
  Limit(RLIMIT_CORE, 0);
  // A program that gets core dumps through a pipe gets them whatever the limit is.
  (void)prctl(PR_SET_DUMPABLE, 0);
  const sched_param none{};
  // Not less: on a machine whose processors are all busy folds came too late with SCHED_IDLE, and with nice 10.
  (void)sched_setscheduler(0, SCHED_BATCH, &none);
  (void)syscall(SYS_ioprio_set, kIoOfProcess, 0, kIoIdle);
}

void LowerIfAsked(std::span<char* const> arguments) {
  if (arguments.size() < 2 || std::strcmp(arguments[1], "fold") != 0) return;
  for (const char* argument : arguments.subspan(2)) {
    if (std::strncmp(argument, kOption, sizeof kOption - 1) != 0) continue;
    LowerThisProcess(std::strtoull(argument + sizeof kOption - 1, nullptr, 10));
    return;
  }
}

}  // namespace anttracks::analyzer
