// SPDX-License-Identifier: Apache-2.0
// What all threads of the agent do first.
#pragma once

#include <cstdint>

namespace anttracks::core {

// What a thread does to others when there is work for it: kPreempts leaves that to the system.
enum class Wakeup : uint8_t { kNeverPreempts, kPreempts };

// From now on the calling thread does not take the processor from another one because there is work for it:
// it waits for one that is idle, or until a time slice ends (SCHED_BATCH, sched(7)). Its share of the
// processors stays what it was. A thread that somebody gave another policy keeps it, and so does one that the
// system does not allow to change.
void NeverPreempt() noexcept;

// The same, unless it may preempt, for a thread that was made here; name: at most 15 bytes.
void BeginOwnThread(const char* name, Wakeup wakeup = Wakeup::kNeverPreempts) noexcept;

}  // namespace anttracks::core
