// SPDX-License-Identifier: Apache-2.0
#include "agent/stream/buffer_queue.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "trace/events.h"

namespace anttracks::core {

using Lock = std::unique_lock<std::mutex>;

// The writer sleeps until it has this much to write, as waking it costs a system call.
constexpr size_t kWakeBytes = 256 << 10;
// And takes few at a time (and no more than a quarter of what may wait), so that threads that wait for room go
// on soon.
constexpr int kMostPopped = 32;
// While a disk hangs frames alone are queued, of each collection: what a process can spare.
constexpr size_t kLeastMost = 64 << 20;

BufferQueue::BufferQueue(const Clock& clock, const QueueConfig& config)
    : clock_(clock),
      buffer_bytes_(config.buffer_bytes),
      fuzz_bytes_(static_cast<size_t>(static_cast<double>(config.buffer_bytes) * config.fuzz)),
      bound_bytes_(config.bound_bytes),
      wait_bytes_(config.wait_bytes == 0 ? config.bound_bytes : config.wait_bytes),
      most_bytes_(std::max(kLeastMost, 4 * bound_bytes_)),
      wake_bytes_(std::min(kWakeBytes, wait_bytes_ / 4)),
      when_full_(config.when_full),
      limit_(config.wait_limit) {}

BufferQueue::~BufferQueue() {
  Free(pool_);
  Free(head_);
}

void BufferQueue::Free(Buffer* list) {
  while (list != nullptr) {
    Buffer* next = list->next;
    std::free(list);
    list = next;
  }
}

Buffer* BufferQueue::Make(size_t bytes) {
  void* memory = std::malloc(sizeof(Buffer) + bytes);
  if (memory == nullptr) return nullptr;
  allocated_buffers_.fetch_add(1, std::memory_order_relaxed);
  Buffer* buffer = new (memory) Buffer();
  buffer->size = buffer->capacity = static_cast<uint32_t>(bytes);
  return buffer;
}

// Not random, but different for buffers that are given out one after the other (a linear congruential
// generator).
uint32_t BufferQueue::NextCapacity() {
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  return static_cast<uint32_t>(buffer_bytes_ - (((random_ >> 32) * (fuzz_bytes_ + 1)) >> 32));
}

Buffer* BufferQueue::Acquire() {
  Buffer* buffer = nullptr;
  uint32_t capacity = 0;
  {
    const Lock lock(mutex_);
    capacity = NextCapacity();
    buffer = pool_;
    if (buffer != nullptr) {
      pool_ = buffer->next;
      pooled_bytes_ -= buffer->memory();
    }
  }
  if (buffer == nullptr) {
    buffer = Make(buffer_bytes_);
    if (buffer == nullptr) return nullptr;
  }
  const uint32_t size = buffer->size;
  *buffer = Buffer();
  buffer->size = size;
  buffer->capacity = capacity;
  return buffer;
}

Buffer* BufferQueue::AcquireSized(size_t bytes) { return Make(bytes); }

void BufferQueue::Release(Buffer* buffer) {
  buffer->next = nullptr;
  Pool(buffer, From::kOwner);
}

void BufferQueue::Recycle(Buffer* list) { Pool(list, From::kWriter); }

// Keeps the buffers that the bound has room for, and frees the others.
void BufferQueue::Pool(Buffer* list, From from) {
  Buffer* unwanted = nullptr;
  {
    const Lock lock(mutex_);
    while (list != nullptr) {
      Buffer* next = list->next;
      const size_t bytes = list->memory();
      if (from == From::kWriter) taken_bytes_ -= bytes;
      const bool keep = list->size == buffer_bytes_ && !discard_ &&
                        pooled_bytes_ + queued() + taken_bytes_ + bytes <= bound_bytes_;
      list->next = keep ? pool_ : unwanted;
      (keep ? pool_ : unwanted) = list;
      if (keep) pooled_bytes_ += bytes;
      list = next;
    }
    if (from == From::kWriter) {
      waited_since_ = WaitBudget::Time();
      room_.notify_all();
    }
  }
  Free(unwanted);
}

// What the pool may not keep any more, to be freed without the lock.
Buffer* BufferQueue::TrimPool() {
  Buffer* unwanted = nullptr;
  while (pool_ != nullptr && (discard_ || pooled_bytes_ + queued() + taken_bytes_ > bound_bytes_)) {
    Buffer* buffer = pool_;
    pool_ = buffer->next;
    pooled_bytes_ -= buffer->memory();
    buffer->next = unwanted;
    unwanted = buffer;
  }
  return unwanted;
}

void BufferQueue::CountQueued(size_t bytes) {
  const size_t now = queued() + bytes;
  queued_bytes_.store(now, std::memory_order_relaxed);
  if (now > high_water_bytes()) high_water_bytes_.store(now, std::memory_order_relaxed);
}

void BufferQueue::Append(Buffer* buffer) {
  buffer->next = nullptr;
  (tail_ == nullptr ? head_ : tail_->next) = buffer;
  tail_ = buffer;
  CountQueued(buffer->memory());
  flushes_ += buffer->flush;
}

// Until there is room, the budget is used up, the writer hangs, or the queue stalls.
void BufferQueue::WaitForRoom(Lock& lock, size_t bytes, WaitBudget* budget) {
  using std::chrono::steady_clock;
  const auto begin = steady_clock::now();
  const auto until = budget == nullptr ? WaitBudget::Time::max() : budget->Begin(begin);
  auto now = begin;
  if (std::exchange(owes_wake_, false)) work_.notify_one();
  while (!MayGo(bytes) && !stalled_ && now < until && !WriterHangs(now)) {
    if (waited_since_ == WaitBudget::Time()) waited_since_ = now;
    if (now == begin) waits_.fetch_add(1, std::memory_order_relaxed);
    room_.wait_until(lock, std::min(until, waited_since_ + limit_));
    now = steady_clock::now();
  }
  if (budget != nullptr) budget->End(now);
  blocked_ns_.fetch_add(static_cast<uint64_t>(std::chrono::nanoseconds(now - begin).count()),
                        std::memory_order_relaxed);
}

// Whether the buffer goes in.
bool BufferQueue::Admit(Lock& lock, size_t bytes, PushMode mode, WaitBudget* budget) {
  if (mode == PushMode::kForce) return admits_all_ || !overflows();
  const bool may_be_lost = mode == PushMode::kBounded;
  if (may_be_lost || mode == PushMode::kWait) {
    if (MayGo(bytes)) return true;
    const bool waits = when_full_ == WhenFull::kBlock && !stalled_;
    if (waits) WaitForRoom(lock, bytes, budget);
    if (MayGo(bytes)) return true;
    if (may_be_lost && (!waits || stalled_ || WriterHangs(std::chrono::steady_clock::now()))) return false;
  }
  return admits_all_ || queued() < 2 * bound_bytes_;
}

void BufferQueue::BeginStall() {
  if (stalled_) return;
  stalled_ = true;
  stall_tail_ = tail_;
  stall_time_ = clock_.Now();
  room_.notify_all();
  work_.notify_one();
}

void BufferQueue::CountLoss(uint64_t segments, uint64_t bytes) {
  lost_segments_.fetch_add(segments, std::memory_order_relaxed);
  lost_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (!stalled_) return;
  stall_segments_ += segments;
  stall_bytes_ += bytes;
}

// In a pause only when the queue fills: writer and compressors would take processors from the collection, and
// the lock from who still hands over.
bool BufferQueue::WakesWriter(PushMode mode, bool was_ready) {
  if (!Ready()) return false;
  owes_wake_ |= !was_ready;
  const bool may_be_in_pause = mode == PushMode::kTry || mode == PushMode::kForce;
  if (may_be_in_pause && queued() < wait_bytes_ / 4) return false;
  return std::exchange(owes_wake_, false);
}

bool BufferQueue::Push(Buffer* buffer, PushMode mode, WaitBudget* budget) {
  Buffer* refused = nullptr;
  Buffer* unwanted = nullptr;
  bool wakes = false;
  {
    Lock lock(mutex_);
    const bool room = Admit(lock, buffer->memory(), mode, budget);
    if (discard_ || (!room && (mode == PushMode::kGiveUp || mode == PushMode::kWait))) {
      refused = buffer;
    } else if (!room) {
      BeginStall();
      CountLoss(1, buffer->used);
      refused = buffer;
    } else {
      const bool was_ready = Ready();
      Append(buffer);
      unwanted = TrimPool();
      wakes = WakesWriter(mode, was_ready);
    }
  }
  if (wakes) work_.notify_one();
  Free(unwanted);
  if (refused != nullptr) Release(refused);
  return refused == nullptr;
}

// nullptr: out of memory.
Buffer* BufferQueue::MakeSegments(std::span<const uint8_t> segments) {
  Buffer* buffer = Make(segments.size());
  if (buffer == nullptr) return nullptr;
  std::memcpy(buffer->data(), segments.data(), segments.size());
  buffer->used = static_cast<uint32_t>(segments.size());
  return buffer;
}

bool BufferQueue::PushSegments(std::span<const uint8_t> segments, PushMode mode, ChunkAfter chunk,
                               WaitBudget* budget) {
  Buffer* buffer = MakeSegments(segments);
  if (buffer == nullptr) {
    DropUnqueued(1, segments.size());
    return false;
  }
  buffer->flush = chunk == ChunkAfter::kEnds;
  return Push(buffer, mode, budget);
}

bool BufferQueue::PushMark(uint8_t kind) {
  Buffer* mark = AcquireSized(0);
  if (mark == nullptr) return false;
  mark->kind = kind;
  mark->flush = true;
  return Push(mark, PushMode::kForce);
}

bool BufferQueue::PushLoss(std::span<const uint8_t> segment) {
  Buffer* loss = MakeSegments(segment);
  const Lock lock(mutex_);
  if (loss == nullptr) return false;
  if (discard_) {
    std::free(loss);
    return true;
  }
  Append(loss);
  work_.notify_one();
  return true;
}

bool BufferQueue::TellLoss() {
  const Lock lock(mutex_);
  if (stalled_) QueueLoss();
  return !stalled_;
}

void BufferQueue::DropUnqueued(size_t segments, size_t bytes) {
  const Lock lock(mutex_);
  if (discard_) return;
  BeginStall();
  CountLoss(segments, bytes);
}

// nullptr: out of memory.
Buffer* BufferQueue::MakeLoss() noexcept {
  try {
    trace::ByteBuffer segment;
    trace::AppendLoss(&segment, stall_time_, stall_segments_, stall_bytes_,
                      "the trace file could not be written fast enough");
    return MakeSegments(segment.span());
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// The LOSS of a stall goes where the dropped segments would have been.
void BufferQueue::QueueLoss() {
  Buffer* loss = MakeLoss();
  if (loss == nullptr) return;  // stays stalled, tried again at the next Pop
  if (stall_tail_ == nullptr) {
    loss->next = head_;
    head_ = loss;
  } else {
    loss->next = stall_tail_->next;
    stall_tail_->next = loss;
  }
  if (loss->next == nullptr) tail_ = loss;
  CountQueued(loss->memory());
  stall_tail_ = nullptr;
  stalled_ = false;
  stall_segments_ = stall_bytes_ = 0;
}

Buffer* BufferQueue::Pop(std::chrono::milliseconds wait) {
  Lock lock(mutex_);
  work_.wait_for(lock, wait, [this] { return Ready() || stalled_ || closed(); });
  owes_wake_ = false;
  if (stalled_) QueueLoss();
  if (head_ == nullptr) return nullptr;
  Buffer* list = head_;
  Buffer* last = nullptr;
  size_t bytes = 0;
  for (int taken = 0; head_ != nullptr && taken < kMostPopped; taken++) {
    const size_t more = head_->memory();
    if (taken != 0 && bytes + more > wait_bytes_ / 4) break;
    last = head_;
    bytes += more;
    flushes_ -= last->flush;
    if (last == stall_tail_) stall_tail_ = nullptr;  // its LOSS had no memory: it comes first next time
    head_ = last->next;
  }
  queued_bytes_.store(queued() - bytes, std::memory_order_relaxed);
  taken_bytes_ += bytes;
  last->next = nullptr;
  if (head_ == nullptr) tail_ = nullptr;
  return list;
}

void BufferQueue::AdmitAll() {
  const Lock lock(mutex_);
  admits_all_ = true;
  room_.notify_all();
}

void BufferQueue::Close() {
  const Lock lock(mutex_);
  closed_.store(true, std::memory_order_release);
  work_.notify_one();
}

void BufferQueue::Discard() {
  Buffer* list = nullptr;
  Buffer* unwanted = nullptr;
  {
    const Lock lock(mutex_);
    discard_ = true;
    list = head_;
    head_ = tail_ = stall_tail_ = nullptr;
    queued_bytes_.store(0, std::memory_order_relaxed);
    flushes_ = 0;
    unwanted = TrimPool();
    room_.notify_all();
  }
  Free(list);
  Free(unwanted);
}

}  // namespace anttracks::core
