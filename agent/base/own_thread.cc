// SPDX-License-Identifier: Apache-2.0
#include "agent/base/own_thread.h"

#include <pthread.h>
#include <sched.h>

namespace anttracks::core {

void NeverPreempt() noexcept {
  if (sched_getscheduler(0) != SCHED_OTHER) return;
  const sched_param normal{};
  (void)sched_setscheduler(0, SCHED_BATCH, &normal);
}

void BeginOwnThread(const char* name, Wakeup wakeup) noexcept {
  (void)pthread_setname_np(pthread_self(), name);
  if (wakeup == Wakeup::kNeverPreempts) NeverPreempt();
}

}  // namespace anttracks::core
