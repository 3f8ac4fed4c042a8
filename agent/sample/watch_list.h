// SPDX-License-Identifier: Apache-2.0
// Finds out which sampled objects have died: weak references to them must be checked after each collection.
// Threads that bring samples check a few references each time, so that no thread pays for all of them, and the
// agent needs no thread for it.
//
// Thread safety: full. A thread that checks may have been suspended, so no other thread waits for it, except
// TakeAll, and LookAtAll within a limit.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace anttracks::core {

class WatchList {
 public:
  struct Watched {
    uint64_t number;  // of the sample
    void* reference;  // the VM's; not owned
  };

  void Add(const Watched& watched) {
    const std::lock_guard lock(fresh_mutex_);
    fresh_.push_back(watched);
  }

  // Called by the VM thread. Never waits.
  void CollectionEnded() { collections_.fetch_add(1, std::memory_order_relaxed); }

  // Checks up to `most` references that were not checked since the last collection. mark_if_dead(watched)
  // returns true if the object was dead; it has then recorded the death and freed the reference. If it throws
  // the reference is kept.
  template <class MarkIfDead>
  void Look(size_t most, MarkIfDead&& mark_if_dead) {
    if (!due()) [[likely]]
      return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) LookLocked(most, mark_if_dead);
  }

  // Checks all references, even if no collection has ended. Does nothing if another thread checks for longer
  // than `wait`.
  template <class MarkIfDead>
  void LookAtAll(std::chrono::milliseconds wait, MarkIfDead&& mark_if_dead) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    for (const auto until = std::chrono::steady_clock::now() + wait; !lock.owns_lock(); (void)lock.try_lock()) {
      if (std::chrono::steady_clock::now() >= until) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    looking_ = false;
    LookLocked(SIZE_MAX, mark_if_dead);
  }

  // Empties the list.
  std::vector<Watched> TakeAll() {
    const std::lock_guard lock(mutex_);
    TakeFresh();
    looking_ = false;
    return std::move(watched_);
  }

 private:
  bool due() const {
    return collections_.load(std::memory_order_relaxed) != done_.load(std::memory_order_relaxed);
  }

  void TakeFresh() {
    const std::lock_guard lock(fresh_mutex_);
    watched_.insert(watched_.end(), fresh_.begin(), fresh_.end());
    fresh_.clear();
  }

  template <class MarkIfDead>
  void LookLocked(size_t most, MarkIfDead& mark_if_dead) {
    if (!looking_) {
      TakeFresh();
      looking_ = true;
      round_ = collections_.load(std::memory_order_relaxed);
      next_ = 0;
    }
    for (; most > 0 && next_ < watched_.size(); most--) {
      if (!mark_if_dead(watched_[next_])) {
        next_++;
        continue;
      }
      watched_[next_] = watched_.back();
      watched_.pop_back();
    }
    if (next_ < watched_.size()) return;
    looking_ = false;
    done_.store(round_, std::memory_order_relaxed);
  }

  // collections_: how many have ended; done_: after how many of them all references were checked.
  std::atomic<uint64_t> collections_{0}, done_{0};

  std::mutex fresh_mutex_;
  std::vector<Watched> fresh_;  // guarded by it

  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<Watched> watched_;
  bool looking_ = false;  // a round is under way: the references before next_ were checked
  uint64_t round_ = 0;    // collections_ when the round began
  size_t next_ = 0;
};

}  // namespace anttracks::core
