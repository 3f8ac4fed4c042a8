// SPDX-License-Identifier: Apache-2.0
#include "agent/full/background.h"

#include <utility>

#include "agent/base/own_thread.h"

namespace anttracks::core {

// A task that is held comes before a collection all the same: the walk of a sync point is to end before the
// next one begins.
void Background::Loop(const AntTracksVM& vm) {
  NeverPreempt();
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return task_ ? !held_ : stopped_ || collect_; });
    if (task_) {
      const std::function<void()> task = std::exchange(task_, nullptr);
      lock.unlock();
      task();
      lock.lock();
      busy_ = false;
      idle_.notify_all();
    } else if (stopped_) {
      return;
    } else {
      // Not under the lock: at the safepoint the VM thread may call Start.
      lock.unlock();
      vm.collect();
      lock.lock();
      collect_ = false;
    }
  }
}

void Background::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  work_.notify_one();
}

bool Background::Start(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  task_ = std::move(task);
  busy_ = true;
  cancelled_ = false;
  work_.notify_one();
  return true;
}

void Background::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool Background::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

bool Background::Hold() {
  std::unique_lock lock(mutex_);
  held_ = true;
  work_.notify_one();
  idle_.wait(lock, [this] { return !busy_ || stands_ || task_; });
  return busy_;
}

void Background::Release() {
  const std::lock_guard lock(mutex_);
  held_ = false;
  work_.notify_one();
}

bool Background::Pass() {
  std::unique_lock lock(mutex_);
  stands_ = held_;
  if (stands_) idle_.notify_all();
  work_.wait(lock, [this] { return !held_ || cancelled_; });
  stands_ = false;
  return !cancelled_;
}

void Background::Rest(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  work_.wait_for(lock, limit, [this] { return held_ || cancelled_; });
}

void Background::Cancel() noexcept {
  std::unique_lock lock(mutex_);
  cancelled_ = true;
  if (task_) {
    task_ = nullptr;
    busy_ = false;
    idle_.notify_all();
  }
  work_.notify_one();
  idle_.wait(lock, [this] { return !busy_; });
}

void Background::WaitIdle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return !busy_; });
}

bool Background::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

void Background::RequestCollection() {
  const std::lock_guard lock(mutex_);
  collect_ = true;
  work_.notify_one();
}

}  // namespace anttracks::core
