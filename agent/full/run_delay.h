// SPDX-License-Identifier: Apache-2.0
// Measures how long a thread had to wait for a processor. If it waits no processor is idle, and its work slows
// others down.
//
// The kernel counts for each thread the time that it ran and the time that it was ready but waited
// (/proc/thread-self/schedstat). Where it does not, the thread counts as never waiting.
//
// Thread safety: an object belongs to the thread that made it.
#pragma once

#include <cstdint>
#include <optional>

namespace anttracks::core {

class RunDelay {
 public:
  RunDelay();
  ~RunDelay();
  RunDelay(const RunDelay&) = delete;

  // The part, 0 to 1, of the time since the last call in which the thread waited, of that in which it ran or
  // waited. The first call gives 0. Costs a system call.
  double Share();

 private:
  struct Times {
    uint64_t ran_ns = 0, waited_ns = 0;
  };
  std::optional<Times> Read() const;

  int fd_;
  Times last_;
};

}  // namespace anttracks::core
