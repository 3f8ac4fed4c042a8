// SPDX-License-Identifier: Apache-2.0
// Which sampled objects still live: weak references, which somebody has to look at after a collection. Threads
// that bring samples do, a few references each time, so that none of them pays for all and the agent needs no
// thread.
//
// Thread safety: full. Nobody waits for a thread that looks, but LookAtAll, within limits, and TakeAll: it may
// have been suspended.
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

  // The VM thread. Never waits.
  void CollectionEnded() { collections_.fetch_add(1, std::memory_order_relaxed); }

  // Looks at no more than `most` that were not looked at since a collection ended. bury(watched): true: it was
  // dead, its death was told, and the reference is free. It may throw; then the reference stays.
  template <class Bury>
  void Look(size_t most, Bury&& bury) {
    if (!due()) [[likely]]
      return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) LookLocked(most, bury);
  }

  // At each of them, also if no collection ended. Does not if another thread looks for longer than that.
  template <class Bury>
  void LookAtAll(std::chrono::milliseconds wait, Bury&& bury) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    for (const auto until = std::chrono::steady_clock::now() + wait; !lock.owns_lock(); (void)lock.try_lock()) {
      if (std::chrono::steady_clock::now() >= until) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    looking_ = false;
    LookLocked(SIZE_MAX, bury);
  }

  // Empties it.
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

  template <class Bury>
  void LookLocked(size_t most, Bury& bury) {
    if (!looking_) {
      TakeFresh();
      looking_ = true;
      round_ = collections_.load(std::memory_order_relaxed);
      next_ = 0;
    }
    for (; most > 0 && next_ < watched_.size(); most--) {
      if (!bury(watched_[next_])) {
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

  // Collections that have ended; those for which all were looked at.
  std::atomic<uint64_t> collections_{0}, done_{0};

  std::mutex fresh_mutex_;
  std::vector<Watched> fresh_;  // guarded by it

  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<Watched> watched_;
  bool looking_ = false;  // a round is under way: what is before next_ was looked at
  uint64_t round_ = 0;    // for so many collections
  size_t next_ = 0;
};

}  // namespace anttracks::core
