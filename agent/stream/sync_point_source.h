// SPDX-License-Identifier: Apache-2.0
// An event source whose trace may rotate: on request it makes a sync point, with which the next data file
// begins.
//
//     idle --WantSyncPoint--> wanted --end of a collection: NextFileQueued--> queued, the mark is in the queue
//       ^-------------------- the writer comes to the mark: NextFileBegun -----'
//
// Thread safety: full; each function says who calls it.
#pragma once

#include <atomic>

#include "agent/stream/event_source.h"
#include "trace/provenance.h"

namespace anttracks::core {

class SyncPointSource : public EventSource {
 public:
  SyncPointSource(ValidIn recorded, const QueueConfig& config) : EventSource(recorded, config) {}

  // Asks for a sync point after the next collection that allows it, and a new file with it. Any thread.
  void WantSyncPoint() { wanted_.store(true, std::memory_order_relaxed); }
  // A wish that came while the mark of a new file was queued was for the file before, and is fulfilled by that
  // mark. So queued_ is read first.
  bool sync_point_wanted() const {
    return !queued_.load(std::memory_order_acquire) && wanted_.load(std::memory_order_relaxed);
  }
  // The writer calls it when it comes to the mark.
  void NextFileBegun() {
    wanted_.store(false, std::memory_order_relaxed);  // released by the next line
    queued_.store(false, std::memory_order_release);
  }
  // About how many bytes the latest sync point takes before compression, estimated from the part that was read.
  // 0: not known yet. Any thread.
  virtual double SyncPointBytes() const = 0;
  // With keep=yes, when the sync point of the current data file is complete: the provenance of its objects.
  // By the writer.
  virtual trace::SavedProvenance TakeProvenance() = 0;
  // Has a young collection done soon, by another thread. Any thread.
  virtual void RequestCollection() = 0;
  // Must be called before the mark kNextFile is queued. By the VM thread.
  void NextFileQueued() { queued_.store(true, std::memory_order_release); }

 private:
  std::atomic<bool> wanted_{false}, queued_{false};
};

}  // namespace anttracks::core
