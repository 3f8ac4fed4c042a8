// SPDX-License-Identifier: Apache-2.0
// The clock of a trace: ns since its start, monotonic. Thread safety: full. Units: ns.
#pragma once

#include <cstdint>
#include <ctime>

namespace anttracks::core {

class Clock {
 public:
  Clock() : start_(Monotonic()) {}
  uint64_t Now() const { return Monotonic() - start_; }

  static uint64_t Monotonic() { return Read(CLOCK_MONOTONIC); }
  // CPU time of the calling thread. Costs a system call.
  static uint64_t ThreadCpu() { return Read(CLOCK_THREAD_CPUTIME_ID); }
  // CPU time of all threads of the process. Costs a system call.
  static uint64_t ProcessCpu() { return Read(CLOCK_PROCESS_CPUTIME_ID); }
  static uint64_t Wall() { return Read(CLOCK_REALTIME); }

 private:
  static uint64_t Read(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
  }
  const uint64_t start_;
};

}  // namespace anttracks::core
