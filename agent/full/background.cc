// SPDX-License-Identifier: Apache-2.0
#include "agent/full/background.h"

#include <utility>

namespace anttracks::core {

void Background::Loop(const AntTracksVM& vm) {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopped_ || task_ || collect_; });
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

bool Background::Withdraw() {
  const std::lock_guard lock(mutex_);
  if (!task_) return false;
  task_ = nullptr;
  busy_ = false;
  idle_.notify_all();
  return true;
}

void Background::WaitIdle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return !busy_; });
}

void Background::WaitUntil(const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this, &done] { return done() || !busy_; });
}

void Background::Notify(const std::function<void()>& change) {
  const std::lock_guard lock(mutex_);
  change();
  idle_.notify_all();
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
