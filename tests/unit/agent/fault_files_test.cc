// SPDX-License-Identifier: Apache-2.0
// Every file operation that the agent makes while it traces fails, is short, hangs, or is the last one of the
// process.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>

#include "agent/io/rotation/rotating_trace.h"
#include "tests/unit/agent/fault_injection.h"
#include "tests/unit/agent/fault_run.h"

namespace anttracks::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// So small that files are deleted for their bytes, not only for their number.
constexpr uint64_t kMaxBytes = 48 << 10;
constexpr int kRounds = 12;

struct Case {
  std::string name;
  FileFault fault;
  int error;
  uint64_t max_bytes;  // 0: one file
};

// How often the bound was looked at, and the most there was.
struct Bound {
  std::atomic<uint64_t> looks{0}, most{0};
  void Look(const FaultRun& run) {
    const uint64_t now = run.BytesOnDisk();
    looks++;
    if (now > most) most = now;
  }
};

std::string Files(uint64_t max_bytes) { return max_bytes == 0 ? "one file: " : "rotated: "; }

ScriptPlan PlanOf(const FaultRun& run, uint64_t max_bytes) {
  return {.path = run.path(), .max_bytes = max_bytes, .rounds = max_bytes == 0 ? 6 : kRounds};
}

// True: that operation was there.
bool FailOne(const Case& test, uint64_t n, uint64_t* told) {
  CAPTURE(test.name);
  CAPTURE(n);
  FaultRun run(n);
  Bound bound;
  uint64_t operations = 0;
  ScriptPlan plan = PlanOf(run, test.max_bytes);
  plan.begin = [&] {
    ArmFiles({.at = n, .fault = test.fault, .error = test.error, .after = [&] { bound.Look(run); }});
  };
  plan.end = [&] { operations = DisarmFiles(); };
  const ScriptOutcome outcome = run.Run(plan);
  CHECK(outcome.written);
  *told += run.CheckToldOrComplete(outcome);
  if (test.max_bytes != 0) {
    CHECK(bound.looks == operations);
    CHECK(bound.most <= io::RotationLimits{test.max_bytes, plan.deviation}.bound());
  }
  return operations >= n;
}

TEST_CASE("whatever file operation fails or is short, the program goes on and the trace says what is missing") {
  for (const uint64_t max_bytes : {uint64_t{0}, kMaxBytes}) {
    for (const Case& test : {Case{"short", FileFault::kShort, 0, max_bytes},
                             Case{"interrupted", FileFault::kError, EINTR, max_bytes},
                             Case{"full", FileFault::kError, ENOSPC, max_bytes},
                             Case{"full for good", FileFault::kErrorsOn, ENOSPC, max_bytes},
                             Case{"half, then broken", FileFault::kPartError, EIO, max_bytes}}) {
      uint64_t n = 1, told = 0;
      while (FailOne(test, n, &told)) n++;
      MESSAGE(Files(max_bytes) << test.name << ": " << n - 1 << " operations, " << told
                               << " traces tell a loss");
      CHECK(n > (max_bytes == 0 ? 8 : 40));
      if (test.fault == FileFault::kShort) CHECK(told == 0);
      if (test.error == ENOSPC || test.error == EIO) CHECK(told > 0);
    }
  }
}

// A writer that waits in one operation until it is told to go on.
class Hang {
 public:
  int Wait(milliseconds most, int error) {
    std::unique_lock lock(mutex_);
    hangs_ = true;
    changed_.wait_for(lock, most, [this] { return free_; });
    return error;
  }
  void Free() {
    const std::lock_guard lock(mutex_);
    free_ = true;
    changed_.notify_all();
  }
  bool hangs() {
    const std::lock_guard lock(mutex_);
    return hangs_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool free_ = false, hangs_ = false;
};

// Threads wait 5 ms for a writer that hangs, then go on without it.
bool HangInOne(uint64_t max_bytes, uint64_t n, milliseconds most, int error, uint64_t* told) {
  CAPTURE(max_bytes);
  CAPTURE(n);
  FaultRun run(n);
  Hang hang;
  Bound bound;
  uint64_t operations = 0;
  ScriptPlan plan = PlanOf(run, max_bytes);
  plan.session.wait_limit = milliseconds(5);
  plan.session.queue_bytes = 4 << 10;
  plan.tlabs = 20;
  plan.end_wait = error == 0 ? seconds(20) : milliseconds(10);
  plan.file_wait = error == 0 ? milliseconds(100) : milliseconds(5);
  plan.free_writer = [&] { hang.Free(); };
  plan.begin = [&] {
    ArmFiles({.at = n,
              .fault = FileFault::kHang,
              .hang = [&, most, error] { return hang.Wait(most, error); },
              .after = [&] { bound.Look(run); }});
  };
  plan.end = [&] { operations = DisarmFiles(); };
  const ScriptOutcome outcome = run.Run(plan);
  CHECK(outcome.written);
  // For good means that the end gave it up.
  if (error != 0 && hang.hangs()) CHECK_FALSE(outcome.waited_for_writer);
  CHECK(outcome.longest_callback_ns < 10'000'000'000u);
  *told += run.CheckToldOrComplete(outcome);
  if (max_bytes != 0) CHECK(bound.most <= io::RotationLimits{max_bytes, plan.deviation}.bound());
  return operations >= n;
}

TEST_CASE("a file operation that hangs costs events, not the program") {
  for (const uint64_t max_bytes : {uint64_t{0}, kMaxBytes}) {
    uint64_t n = 1, told = 0;
    while (HangInOne(max_bytes, n, milliseconds(30), 0, &told)) n++;
    MESSAGE(Files(max_bytes) << n - 1 << " operations hang for a while, " << told << " traces tell a loss");
    CHECK(told > 0);
    CHECK(n > (max_bytes == 0 ? 8 : 30));
  }
}

TEST_CASE("a file operation that never comes back: the end gives the writer up") {
  for (const uint64_t max_bytes : {uint64_t{0}, kMaxBytes}) {
    uint64_t n = 1, told = 0;
    while (HangInOne(max_bytes, n, seconds(60), EIO, &told)) n++;
    MESSAGE(Files(max_bytes) << n - 1 << " operations hang for good, " << told << " traces tell a loss");
    CHECK(told > 0);
    CHECK(n > (max_bytes == 0 ? 8 : 30));
  }
}

// In a process of its own. True: that operation was there.
bool KillAt(uint64_t max_bytes, uint64_t n, FileFault fault) {
  CAPTURE(max_bytes);
  CAPTURE(n);
  FaultRun run(n);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    uint64_t operations = 0;
    ScriptPlan plan = PlanOf(run, max_bytes);
    plan.begin = [&] { ArmFiles({.at = n, .fault = fault}); };
    plan.end = [&] { operations = DisarmFiles(); };
    (void)FaultRun::Run(plan);
    _exit(operations < n ? 0 : 1);
  }
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  const bool ran_through = WIFEXITED(state) && WEXITSTATUS(state) == 0;
  CHECK((ran_through || (WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL)));
  const CheckedTrace checked = CheckTrace(run.path());
  CHECK(checked.first_error == "");
  CHECK(checked.errors == 0);
  CHECK(checked.losses == 0);
  // From the first sync point on the heap is known, whatever file is the last one.
  const bool has_begun = n > (max_bytes == 0 ? 3 : 8);
  if (has_begun) CHECK(checked.unreadable == "");
  if (has_begun) CHECK(checked.exact);
  if (ran_through) CHECK(checked.ended);
  if (max_bytes != 0) CHECK(run.BytesOnDisk() <= io::RotationLimits{max_bytes, 0.25}.bound());
  return !ran_through;
}

TEST_CASE("a process that is killed before any file operation, or within it, leaves a trace up to there") {
  for (const uint64_t max_bytes : {uint64_t{0}, kMaxBytes}) {
    for (const FileFault fault : {FileFault::kKill, FileFault::kTear}) {
      uint64_t n = 1;
      while (KillAt(max_bytes, n, fault)) n++;
      const std::string where = fault == FileFault::kKill ? "before " : "within ";
      MESSAGE(Files(max_bytes) << "killed " << where << n - 1 << " operations");
      CHECK(n > (max_bytes == 0 ? 8 : 40));
    }
  }
}

}  // namespace
}  // namespace anttracks::core
