// SPDX-License-Identifier: Apache-2.0
// Keeps collections from running while the process exits. When native code calls exit(), the JVM's own objects
// are destroyed while its threads go on: a collection that touches them crashes (HotSpot 17 and 25, Parallel
// and Serial; also without an agent). The agent ends the trace within exit(), which takes time and so makes
// such a crash more likely. Worse, the exiting thread gets a processor just when other threads stop for a
// collection.
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
    Duration begin = std::chrono::milliseconds(20);  // how long to wait for a collection to begin
    Duration end = std::chrono::seconds(1);          // how long to wait for a running one to end
    Duration stay = std::chrono::milliseconds(100);  // how long the VM thread is then held
  };

  // Called by the VM thread when a collection begins and ends. They do not return while the thread is held.
  void CollectionBegins();
  void CollectionEnds();
  // The last call of the exiting thread. Waits until the VM thread is at the begin or the end of a collection,
  // and holds it there until the process is gone. After the limits everything goes on as if there were no gate.
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
