// SPDX-License-Identifier: Apache-2.0
// Keeps collections away from the end of the process. Native code's exit() destroys the JVM's own objects while
// its threads go on: a collection that touches them then crashes (HotSpot 17 and 25, Parallel and Serial; also
// without an agent). The end of a trace takes its time within exit(), which must not make that likelier; and it
// gets a processor when threads stop for a collection, so that exit() would go on just when one begins.
//
// Thread safety: full.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace anttracks::core {

class ExitGate {
 public:
  using Duration = std::chrono::steady_clock::duration;

  struct Limits {
    Duration begin = std::chrono::milliseconds(20);  // of the wait for a collection to begin
    Duration end = std::chrono::seconds(1);          // of the wait for the end of one that is under way
    Duration stay = std::chrono::milliseconds(100);  // of the VM thread's, after both
  };

  // The VM thread, at a collection's begin and end.
  void CollectionBegins();
  void CollectionEnds();
  // The thread that exits, last. Waits for the VM thread to be where a collection begins or has ended, and
  // makes it stay there until the process is gone. Past the limits everything goes on as if there were no gate.
  void ProcessExits(const Limits& limits);

 private:
  void StayLocked(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool collecting_ = false, stays_ = false;
  std::chrono::steady_clock::time_point stay_until_{};
};

}  // namespace anttracks::core
