// SPDX-License-Identifier: Apache-2.0
#include "agent/full/walkers.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "agent/base/own_thread.h"
#include "agent/full/thread_state.h"

namespace anttracks::core {
namespace {

// When there is no room for what would be read.
constexpr std::chrono::milliseconds kPause{1};

}  // namespace

void Walkers::Start(unsigned threads) {
  threads_.reserve(threads);  // from here on nothing throws
  sigset_t most, before;
  sigfillset(&most);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&most, fault);
  pthread_sigmask(SIG_BLOCK, &most, &before);
  for (unsigned i = 0; i < threads; i++) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, &Walkers::Main, this) != 0) break;
    threads_.push_back(thread);
    any_ = true;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Walkers::Stop() {
  any_ = false;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    work_.notify_all();
    stopped_.notify_all();
  }
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  threads_.clear();
}

void* Walkers::Main(void* self) {
  BeginOwnThread("anttracks-walk");
  static_cast<Walkers*>(self)->Run();
  return nullptr;
}

void Walkers::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stop_ || !list_.empty(); });
    if (stop_) return;
    if (!ready_()) {
      // If the walkers have too much to read, threads read for themselves and wait for room.
      stopped_.wait_for(lock, kPause, [this] { return stop_; });
      continue;
    }
    const std::optional<double> waited = ReadOne(lock);
    if (!waited) continue;
    if (*waited > kMostWaited) {
      Rest(lock);
    } else {
      rest_ = kShortestRest;
    }
  }
}

// What is given and not read yet its thread finds with the next batch, or a collection does. Each rest that
// follows another one is longer.
void Walkers::Rest(std::unique_lock<std::mutex>& lock) {
  rests_.fetch_add(1, std::memory_order_relaxed);
  resting_++;
  stopped_.wait_for(lock, rest_, [this] { return stop_; });
  resting_--;
  rest_ = std::min(2 * rest_, kLongestRest);
}

// Every kBatchesBetween batches: what waited_ says of the batch's thread, which lives as long as its stream is
// claimed. Nothing here may throw but read_, which does not: no memory is needed.
std::optional<double> Walkers::ReadOne(std::unique_lock<std::mutex>& lock) {
  ThreadState& state = *list_.front();
  list_.pop_front();
  ReadQueue& queue = state.unread;
  queue.listed = false;
  queue.claimed = true;
  reading_++;
  const bool look = ++batches_ % kBatchesBetween == 0;
  // A reference stays valid: batches that are given meanwhile are appended.
  const auto batch = queue.given.begin() + static_cast<ptrdiff_t>(queue.refused);
  const Batch& first = *batch;
  lock.unlock();
  const bool read = read_(state, first);
  const std::optional<double> waited = look ? waited_(state) : std::nullopt;
  lock.lock();
  reading_--;
  queue.claimed = false;
  if (read) {
    read_count_.fetch_add(1, std::memory_order_relaxed);
    queue.keep_next = 1;
    bytes_ -= first.bytes;
    queue.given.erase(queue.given.begin() + static_cast<ptrdiff_t>(queue.refused));
  } else {
    Refused(queue);
  }
  List(state);
  released_.notify_all();
  return waited;
}

// A thread whose batches are refused again and again keeps them for a while.
void Walkers::Refused(ReadQueue& queue) {
  refused_count_.fetch_add(1, std::memory_order_relaxed);
  queue.refused++;
  queue.keep = queue.keep_next;
  queue.keep_next = std::min(2 * queue.keep_next, kMostKept);
}

void Walkers::List(ThreadState& state) noexcept {
  ReadQueue& queue = state.unread;
  if (queue.claimed || queue.listed || queue.given.size() == queue.refused) return;
  try {
    list_.push_back(&state);
  } catch (const std::bad_alloc&) {
    return;  // whoever claims the stream next reads it
  }
  queue.listed = true;
  work_.notify_one();
}

void Walkers::Unlist(ThreadState& state) {
  if (state.unread.listed) list_.erase(std::find(list_.begin(), list_.end(), &state));
  state.unread.listed = false;
}

bool Walkers::Give(ThreadState& state, Batch* batch) {
  if (!any()) return false;
  const std::lock_guard lock(mutex_);
  ReadQueue& queue = state.unread;
  if (queue.refused != 0 || queue.given.size() >= kMostBatches ||
      bytes_ + batch->bytes > pace_.BytesIn(ReadPace::kMostGivenNs))
    return false;
  if (queue.keep != 0) {
    queue.keep--;
    return false;
  }
  queue.given.push_back(std::exchange(*batch, Batch()));
  bytes_ += queue.given.back().bytes;
  List(state);
  return true;
}

std::deque<Batch> Walkers::TakeBatches(ReadQueue& queue, Take take) {
  std::deque<Batch> batches;
  if (take == Take::kAll) {
    batches.swap(queue.given);
  } else {
    for (; queue.refused != 0; queue.refused--) {
      batches.push_back(std::move(queue.given.front()));
      queue.given.pop_front();
    }
  }
  queue.refused = 0;
  for (const Batch& batch : batches) bytes_ -= batch.bytes;
  return batches;
}

Walkers::Claim::Claim(Walkers& walkers, ThreadState& state, Take take) : walkers_(walkers), state_(state) {
  std::unique_lock lock(walkers_.mutex_);
  ReadQueue& queue = state_.unread;
  walkers_.released_.wait(lock, [&queue] { return !queue.claimed; });
  walkers_.Unlist(state_);
  batches_ = walkers_.TakeBatches(queue, take);
  queue.claimed = true;  // last: before, what throws leaves the stream to others
}

Walkers::Claim::~Claim() {
  const std::lock_guard lock(walkers_.mutex_);
  state_.unread.claimed = false;
  walkers_.List(state_);
  walkers_.released_.notify_all();
}

void Walkers::Forget(ThreadState& state) noexcept {
  std::unique_lock lock(mutex_);
  released_.wait(lock, [&state] { return !state.unread.claimed; });
  Unlist(state);
  ReadQueue& queue = state.unread;
  for (const Batch& batch : queue.given) bytes_ -= batch.bytes;
  queue.given.clear();  // takes no memory: the state goes whatever happens
  queue.refused = 0;
}

void Walkers::WaitIdle() noexcept {
  std::unique_lock lock(mutex_);
  released_.wait(lock, [this] { return reading_ == 0; });
}

}  // namespace anttracks::core
