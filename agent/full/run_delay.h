// SPDX-License-Identifier: Apache-2.0
// Tells a thread whether it had to wait for a processor: then no processor is idle, and what it does is done at
// the cost of others.
//
// The kernel counts, for each thread, the time that it ran and the time that it waited while it could have run
// (/proc/thread-self/schedstat). Where it does not, the thread is taken to have waited never.
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

  // Of the time since the last call in which the thread ran or could have run, the part in which it waited. 0
  // at first. Costs a system call.
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
