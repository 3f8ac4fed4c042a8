// SPDX-License-Identifier: Apache-2.0
// How long the host may be made to wait for the writer. All limits are here; docs/agent.md tells them.
//
// A budget belongs to what is held up: one report of a thread (which holds up a safepoint, as it is in the VM),
// a collection's pause, the walk at the start. Threads that wait at the same time use it once: what counts is
// time that passes.
//
// Thread safety: none; BufferQueue touches it under its lock, the owner refills it while nobody waits.
#pragma once

#include <chrono>

namespace anttracks::core {

namespace limits {

using std::chrono::milliseconds;

// Without anything taken by the writer: then it hangs, and nobody waits any more until it goes on.
inline constexpr milliseconds kHangs{10'000};
inline constexpr milliseconds kReport{1'000};
inline constexpr milliseconds kPause{1'000};
inline constexpr milliseconds kFirstSight{10'000};
// An end of the trace, at exit or on request: without progress of the file, and in all.
inline constexpr milliseconds kEndWithoutProgress{30'000};
inline constexpr milliseconds kEnd{60'000};
// A write of the file of stats=.
inline constexpr milliseconds kStats{5'000};

}  // namespace limits

class WaitBudget {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit WaitBudget(std::chrono::milliseconds limit = limits::kReport) : left_(limit) {}

  void Refill(std::chrono::milliseconds limit) { left_ = limit; }
  // Somebody waits from now on; until when.
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
