// SPDX-License-Identifier: Apache-2.0
// Measures how long a thread had to wait for a processor. If it waits no processor is idle, and work elsewhere
// slows it down.
//
// The kernel counts for each thread the time that it ran and the time that it was ready but waited
// (/proc/self/task/ID/schedstat). Where it does not, the thread counts as never waiting.
//
// Thread safety: one thread at a time; the measured one may be another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace anttracks::core {

class RunDelay {
 public:
  // The part, 0 to 1, of the time in which the thread waited, of that in which it ran or waited: since the last
  // call that told one, at first since the thread began. nullopt if that is less than kLeastNs, as one wait in
  // a short time says nothing. The file is opened each time, as a program may have more threads than it may
  // have files.
  std::optional<double> Share(pid_t thread);

  static constexpr uint64_t kLeastNs = 20'000'000;

 private:
  uint64_t ran_ns_ = 0, waited_ns_ = 0;
};

}  // namespace anttracks::core
