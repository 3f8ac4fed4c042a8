// SPDX-License-Identifier: Apache-2.0
// How long the host may wait for the writer. All limits are here; docs/agent.md has them, too.
//
// A budget belongs to what is delayed: one report of a thread (which is in the VM and so delays a safepoint), a
// collection's pause, or the walk at the start. Threads that wait at the same time use the budget once: elapsed
// time counts.
//
// Thread safety: none; BufferQueue uses it under its lock, and the owner refills it while nobody waits.
#pragma once

#include <chrono>

namespace anttracks::core {

namespace limits {

using std::chrono::milliseconds;

// If the writer takes nothing for so long it hangs, and nobody waits until it goes on.
inline constexpr milliseconds kHangs{10'000};
inline constexpr milliseconds kReport{1'000};
inline constexpr milliseconds kPause{1'000};
inline constexpr milliseconds kFirstSyncPoint{10'000};
// At the end of a trace, at exit or on request: without progress of the file, and in total.
inline constexpr milliseconds kEndWithoutProgress{30'000};
inline constexpr milliseconds kEnd{60'000};
// For a write to the file of stats=.
inline constexpr milliseconds kStats{5'000};

}  // namespace limits

class WaitBudget {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit WaitBudget(std::chrono::milliseconds limit = limits::kReport) : left_(limit) {}

  void Refill(std::chrono::milliseconds limit) { left_ = limit; }
  // A thread begins to wait; returns until when it may.
  Time Begin(Time now) {
    if (waiting_++ == 0) begin_ = now;
    return begin_ + left_;
  }
  void End(Time now) {
    if (--waiting_ == 0) left_ -= now - begin_;
  }

 private:
  std::chrono::steady_clock::duration left_;
  Time begin_{};
  unsigned waiting_ = 0;
};

}  // namespace anttracks::core
