// SPDX-License-Identifier: Apache-2.0
#include "agent/core/buffer_queue.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "trace/segment_writer.h"

namespace anttracks::core {

using Lock = std::unique_lock<std::mutex>;

// The writer sleeps until it has this much to write, as waking it costs a system call.
constexpr size_t kWakeBytes = 256 << 10;
// Small, so that what the writer holds beside the bound is small.
constexpr int kMostPopped = 32;

BufferQueue::BufferQueue(const Clock& clock, size_t buffer_bytes, size_t bound_bytes,
                         std::chrono::milliseconds limit)
    : clock_(clock),
      buffer_bytes_(buffer_bytes),
      bound_bytes_(bound_bytes),
      wake_bytes_(std::min(kWakeBytes, bound_bytes / 4)),
      limit_(limit) {}

BufferQueue::~BufferQueue() {
  for (Buffer* list : {pool_, head_}) {
    while (list != nullptr) {
      Buffer* next = list->next;
      std::free(list);
      list = next;
    }
  }
}

Buffer* BufferQueue::Make(size_t bytes) {
  void* memory = std::malloc(sizeof(Buffer) + bytes);
  if (memory == nullptr) return nullptr;
  Buffer* buffer = new (memory) Buffer();
  buffer->capacity = static_cast<uint32_t>(bytes);
  return buffer;
}

Buffer* BufferQueue::Acquire() {
  {
    const Lock lock(mutex_);
    if (Buffer* buffer = pool_; buffer != nullptr) {
      pool_ = buffer->next;
      pooled_--;
      const uint32_t capacity = buffer->capacity;
      *buffer = Buffer();
      buffer->capacity = capacity;
      return buffer;
    }
  }
  return Make(buffer_bytes_);
}

Buffer* BufferQueue::AcquireSized(size_t bytes) { return Make(bytes); }

void BufferQueue::Release(Buffer* buffer) {
  buffer->next = nullptr;
  Recycle(buffer);
}

void BufferQueue::Recycle(Buffer* list) {
  Buffer* unwanted = nullptr;
  {
    const Lock lock(mutex_);
    while (list != nullptr) {
      Buffer* next = list->next;
      const bool keep = list->capacity == buffer_bytes_ && (pooled_ + 1) * buffer_bytes_ <= bound_bytes_;
      list->next = keep ? pool_ : unwanted;
      (keep ? pool_ : unwanted) = list;
      pooled_ += keep;
      list = next;
    }
  }
  while (unwanted != nullptr) {
    Buffer* next = unwanted->next;
    std::free(unwanted);
    unwanted = next;
  }
}

void BufferQueue::Append(Buffer* buffer) {
  buffer->next = nullptr;
  (tail_ == nullptr ? head_ : tail_->next) = buffer;
  tail_ = buffer;
  queued_bytes_ += buffer->capacity;
  flushes_ += buffer->flush;
}

// True if there is room or the queue is discarded; false: stalled.
bool BufferQueue::WaitForRoom(Lock& lock) {
  if (queued_bytes_ < bound_bytes_ || discard_) return true;
  if (stalled_) return false;
  const uint64_t begin = Clock::Monotonic();
  const bool room =
      room_.wait_for(lock, limit_, [this] { return queued_bytes_ < bound_bytes_ || discard_ || stalled_; });
  blocked_ns_.fetch_add(Clock::Monotonic() - begin, std::memory_order_relaxed);
  return room && (queued_bytes_ < bound_bytes_ || discard_);
}

void BufferQueue::BeginStall() {
  if (stalled_) return;
  stalled_ = true;
  stall_tail_ = tail_;
  stall_time_ = clock_.Now();
  epoch_.fetch_add(1, std::memory_order_release);
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

bool BufferQueue::Push(Buffer* buffer, PushMode mode) {
  Buffer* refused = nullptr;
  {
    Lock lock(mutex_);
    bool room = mode == PushMode::kForce || (mode == PushMode::kTry && queued_bytes_ < 2 * bound_bytes_);
    if (mode == PushMode::kBounded) room = WaitForRoom(lock);
    if (discard_) {
      refused = buffer;
    } else if (!room) {
      BeginStall();
      CountLoss(1, buffer->used);
      refused = buffer;
    } else if (!Decodable(*buffer)) {
      CountLoss(1, buffer->used);
      refused = buffer;
    } else {
      const bool was_ready = Ready();
      Append(buffer);
      if (!was_ready && Ready()) work_.notify_one();
    }
  }
  if (refused != nullptr) Release(refused);
  return refused == nullptr;
}

bool BufferQueue::PushSegments(std::span<const uint8_t> segments, PushMode mode, bool flush) {
  Buffer* buffer = AcquireSized(segments.size());
  if (buffer == nullptr) {
    DropUnqueued(1, segments.size());
    return false;
  }
  std::memcpy(buffer->data(), segments.data(), segments.size());
  buffer->used = static_cast<uint32_t>(segments.size());
  buffer->flush = flush;
  return Push(buffer, mode);
}

bool BufferQueue::PushMark(uint8_t kind) {
  Buffer* mark = AcquireSized(0);
  if (mark == nullptr) return false;
  mark->kind = kind;
  mark->flush = true;
  return Push(mark, PushMode::kForce);
}

double BufferQueue::fill() {
  const Lock lock(mutex_);
  return static_cast<double>(queued_bytes_) / static_cast<double>(bound_bytes_);
}

void BufferQueue::DropUnqueued(size_t segments, size_t bytes) {
  const Lock lock(mutex_);
  if (discard_) return;
  BeginStall();
  CountLoss(segments, bytes);
}

// The LOSS of a stall goes where the dropped segments would have been.
void BufferQueue::QueueLoss() {
  trace::ByteBuffer segment;
  trace::AppendLoss(&segment, stall_time_, stall_segments_, stall_bytes_,
                    "the trace file could not be written fast enough");
  Buffer* loss = Make(segment.size());
  if (loss == nullptr) return;  // stays stalled, tried again at the next Pop
  std::memcpy(loss->data(), segment.data(), segment.size());
  loss->used = static_cast<uint32_t>(segment.size());
  if (stall_tail_ == nullptr) {
    loss->next = head_;
    head_ = loss;
  } else {
    loss->next = stall_tail_->next;
    stall_tail_->next = loss;
  }
  if (loss->next == nullptr) tail_ = loss;
  queued_bytes_ += loss->capacity;
  stall_tail_ = nullptr;
  stalled_ = false;
  stall_segments_ = stall_bytes_ = 0;
}

Buffer* BufferQueue::Pop(std::chrono::milliseconds wait) {
  Lock lock(mutex_);
  work_.wait_for(lock, wait, [this] { return Ready() || stalled_ || closed(); });
  if (stalled_) QueueLoss();
  if (head_ == nullptr) return nullptr;
  Buffer* list = head_;
  Buffer* last = nullptr;
  for (int taken = 0; head_ != nullptr && taken < kMostPopped; taken++) {
    last = head_;
    queued_bytes_ -= last->capacity;
    flushes_ -= last->flush;
    head_ = last->next;
  }
  last->next = nullptr;
  if (head_ == nullptr) tail_ = nullptr;
  room_.notify_all();
  return list;
}

void BufferQueue::Close() {
  const Lock lock(mutex_);
  closed_.store(true, std::memory_order_release);
  work_.notify_one();
}

void BufferQueue::Discard() {
  Buffer* list = nullptr;
  {
    const Lock lock(mutex_);
    discard_ = true;
    list = head_;
    head_ = tail_ = stall_tail_ = nullptr;
    queued_bytes_ = flushes_ = 0;
    room_.notify_all();
  }
  Recycle(list);
}

}  // namespace anttracks::core
