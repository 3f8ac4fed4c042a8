// SPDX-License-Identifier: Apache-2.0
#include "agent/core/readers.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/core/thread_state.h"

namespace anttracks::core {
namespace {

// When there is no room for what would be read.
constexpr std::chrono::milliseconds kPause{1};

}  // namespace

void Readers::Start(unsigned threads) {
  sigset_t most, before;
  sigfillset(&most);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&most, fault);
  pthread_sigmask(SIG_BLOCK, &most, &before);
  for (unsigned i = 0; i < threads; i++) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, &Readers::Main, this) != 0) break;
    threads_.push_back(thread);
    any_ = true;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Readers::Stop() {
  any_ = false;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    work_.notify_all();
  }
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  threads_.clear();
}

void* Readers::Main(void* self) {
  pthread_setname_np(pthread_self(), "anttracks-read");
  static_cast<Readers*>(self)->Run();
  return nullptr;
}

void Readers::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stop_ || !list_.empty(); });
    if (stop_) return;
    if (ready_()) {
      ReadOne(lock);
    } else {
      // Threads that find the readers behind read by themselves, and wait for room.
      work_.wait_for(lock, kPause, [this] { return stop_; });
    }
  }
}

void Readers::ReadOne(std::unique_lock<std::mutex>& lock) {
  ThreadState& state = *list_.front();
  list_.pop_front();
  ReadQueue& queue = state.unread;
  Batch batch = std::move(queue.given.front());
  queue.given.pop_front();
  queue.listed = false;
  queue.claimed = true;
  lock.unlock();
  const bool read = read_(state, batch);
  lock.lock();
  bytes_ -= batch.bytes;
  queue.claimed = false;
  if (read) {
    read_count_.fetch_add(1, std::memory_order_relaxed);
    queue.keep_next = 1;
  } else {
    Refused(queue, std::move(batch));
  }
  List(state);
  released_.notify_all();
}

// A thread whose batches are refused again and again keeps them for a while.
void Readers::Refused(ReadQueue& queue, Batch&& batch) {
  refused_count_.fetch_add(1, std::memory_order_relaxed);
  queue.refused.push_back(std::move(batch));
  queue.keep = queue.keep_next;
  queue.keep_next = std::min(2 * queue.keep_next, kMostKept);
}

void Readers::List(ThreadState& state) {
  ReadQueue& queue = state.unread;
  if (queue.claimed || queue.listed || queue.given.empty()) return;
  queue.listed = true;
  list_.push_back(&state);
  work_.notify_one();
}

bool Readers::Give(ThreadState& state, Batch* batch) {
  if (!any()) return false;
  const std::lock_guard lock(mutex_);
  ReadQueue& queue = state.unread;
  if (!queue.refused.empty() || queue.given.size() >= kMostBatches || bytes_ + batch->bytes > kMostBytes) return false;
  if (queue.keep != 0) {
    queue.keep--;
    return false;
  }
  bytes_ += batch->bytes;
  queue.given.push_back(std::exchange(*batch, Batch()));
  List(state);
  return true;
}

std::deque<Batch> Readers::Claim(ThreadState& state, bool all) {
  std::unique_lock lock(mutex_);
  ReadQueue& queue = state.unread;
  released_.wait(lock, [&queue] { return !queue.claimed; });
  queue.claimed = true;
  if (queue.listed) list_.erase(std::find(list_.begin(), list_.end(), &state));
  queue.listed = false;
  std::deque<Batch> batches = std::exchange(queue.refused, {});
  if (all) {
    for (Batch& batch : queue.given) {
      bytes_ -= batch.bytes;
      batches.push_back(std::move(batch));
    }
    queue.given.clear();
  }
  return batches;
}

void Readers::Release(ThreadState& state) {
  const std::lock_guard lock(mutex_);
  state.unread.claimed = false;
  List(state);
  released_.notify_all();
}

void Readers::Forget(ThreadState& state) {
  const std::lock_guard lock(mutex_);
  state.unread = ReadQueue();
}

}  // namespace anttracks::core
