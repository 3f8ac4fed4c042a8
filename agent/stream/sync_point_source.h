// SPDX-License-Identifier: Apache-2.0
// An event source whose trace may rotate: when it is asked for a sync point it makes one, with which the next
// data file begins.
//
//     idle --WantSyncPoint--> wanted --end of a collection: NextFileQueued--> queued, the mark is in the queue
//       ^-------------------- the writer comes to the mark: NextFileBegun -----'
//
// Thread safety: full; each function says who calls it.
#pragma once

#include <atomic>

#include "agent/stream/event_source.h"

namespace anttracks::core {

class SyncPointSource : public EventSource {
 public:
  explicit SyncPointSource(const QueueConfig& config) : EventSource(ValidIn::kFull, config) {}

  // The next collection that can be one shall be a sync point and begin a new file. Any thread.
  void WantSyncPoint() { wanted_.store(true, std::memory_order_relaxed); }
  // What was wanted while a new file was under way was wanted of the file before it: so the mark is asked for
  // first.
  bool sync_point_wanted() const {
    return !queued_.load(std::memory_order_acquire) && wanted_.load(std::memory_order_relaxed);
  }
  // From the writer, at the mark.
  void NextFileBegun() {
    wanted_.store(false, std::memory_order_relaxed);  // released by the next line
    queued_.store(false, std::memory_order_release);
  }
  // About how many bytes, before compression, the youngest sync point takes, from the part that was read. 0:
  // not known yet. Any thread.
  virtual double SyncPointBytes() const = 0;
  // Soon, in another thread. Any thread.
  virtual void RequestCollection() = 0;

 protected:
  // Before the mark kNextFile is queued.
  void NextFileQueued() { queued_.store(true, std::memory_order_release); }

 private:
  std::atomic<bool> wanted_{false}, queued_{false};
};

}  // namespace anttracks::core
