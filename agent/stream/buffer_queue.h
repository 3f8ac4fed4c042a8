// SPDX-License-Identifier: Apache-2.0
// The pool of event buffers and the queue to the writer. The order of the queue is the order of the file.
//
//     pool --Acquire--> owner --Push--> queue --Pop--> writer --Recycle--> pool
//       ^                 |  \                                             |
//       +-----Release-----+   +-- dropped: counted, LOSS in the queue -----+
//
// A buffer belongs to exactly one of pool, owner, queue, writer. Its contents are touched only by the one that
// has it, so that only hand-over takes the lock.
//
// Bound. What is queued, what the writer has taken and what the pool keeps stay within the bound together; on
// top come the buffers of owners, at most one each, and what PushMode lets through. Push waits for room, which
// may be less than the bound (wait_bytes: what waits here has its place in the file whatever the writer
// decides), until the budget of whoever waits is used up; then it goes in all the same, up to twice the bound,
// and is dropped beyond that. When threads have waited and the writer has taken nothing for the time limit it
// hangs: nobody waits any more.
//
// Stall. Once something was dropped the queue counts as stalled: what comes is dropped at once until the writer
// takes something, or LetIn. LOSS is queued at the place where the dropped segments would have been. With
// on-overflow=drop nobody waits, and what exceeds the bound is dropped.
//
// Fuzz. Threads that run the same code would fill buffers of one size at the same time and meet at the lock.
// Each buffer that Acquire gives has therefore a capacity of its own, less than its memory by up to a share.
// Memory is the same for all, so that the pool can give any of them to anyone.
//
// Thread safety: full. The lock is never held during I/O or allocation of buffers.
//
// Units: bytes are memory, with the head of the buffer.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>

#include "agent/base/clock.h"
#include "agent/base/policies.h"
#include "agent/stream/wait_budget.h"
#include "trace/format.h"

namespace anttracks::core {

// Marks: the next data file begins here; the sync point that a file begins with is complete here.
inline constexpr uint8_t kNextFile = 255, kSyncComplete = 254;

struct Buffer {
  Buffer* next = nullptr;
  uint32_t size = 0;      // bytes behind the head; for BufferQueue
  uint32_t capacity = 0;  // how much the owner may use of them
  uint32_t used = 0;
  // kind 0: data holds complete segments; else the payload of one.
  uint8_t kind = 0;
  bool flush = false;  // the chunk ends behind it
  uint64_t stream = 0;

  uint8_t* data() { return reinterpret_cast<uint8_t*>(this + 1); }
  size_t memory() const { return sizeof(Buffer) + size; }
};

enum class PushMode {
  kBounded,  // wait, or if full means drop, drop
  kTry,      // drop only if twice the bound is queued; for what is handed over at a safepoint
  kGiveUp,   // as kTry, but without a loss: for a sync point, which is abandoned then
  kWait,     // wait unless full means drop, then as kGiveUp; for the first sync point
  kForce,    // never wait or drop: collections, sync points, ends
};

struct QueueConfig {
  size_t buffer_bytes = 64 << 10;  // of a thread's buffer, without its head
  double fuzz = 0.1;               // 0 to 0.5
  size_t bound_bytes = 32 << 20;   // four buffers or more
  size_t wait_bytes = 0;           // so much may be queued before threads wait; 0: bound_bytes
  WhenFull when_full = WhenFull::kBlock;
  // How long the writer may take nothing while threads wait for room.
  std::chrono::milliseconds wait_limit = limits::kHangs;
};

// The chunk of the file that segments get into.
enum class ChunkAfter : bool { kGoesOn, kEnds };

class BufferQueue {
 public:
  BufferQueue(const Clock& clock, const QueueConfig& config);
  ~BufferQueue();
  BufferQueue(const BufferQueue&) = delete;

  // nullptr: out of memory. Acquire gives one of buffer_bytes(), less the fuzz; AcquireSized exactly that much.
  Buffer* Acquire();
  Buffer* AcquireSized(size_t bytes);
  void Release(Buffer* buffer);

  // Takes the buffer in any case. False: its contents were dropped. budget: how long it may wait; nullptr:
  // until the writer hangs.
  bool Push(Buffer* buffer, PushMode mode, WaitBudget* budget = nullptr);
  // Copies complete segments. False: dropped, or out of memory.
  bool PushSegments(std::span<const uint8_t> segments, PushMode mode, ChunkAfter chunk = ChunkAfter::kGoesOn,
                    WaitBudget* budget = nullptr);
  // Puts a mark between buffers: one without contents, of that kind. False: out of memory.
  bool PushMark(uint8_t kind);
  // Puts a LOSS there for what is lost elsewhere. False: out of memory.
  bool PushLoss(std::span<const uint8_t> segment);
  // Puts the LOSS of a stall into the queue now: what is dropped after this is told by another one, behind what
  // is pushed meanwhile. A sync point begins with it, as a reader takes the heap for known from there on.
  // False: out of memory.
  bool TellLoss();
  // Counts as lost what could not even be pushed.
  void DropUnqueued(size_t segments, size_t bytes);

  // The writer's side. Waits until there is something worth writing, for that long. The oldest of the queue,
  // oldest first; nullptr when there is nothing at all.
  Buffer* Pop(std::chrono::milliseconds wait);
  // Gives back what Pop gave; until then it counts against the bound.
  void Recycle(Buffer* list);
  bool closed() const { return closed_.load(std::memory_order_acquire); }

  // From now on everything is let in, and who waits for room goes on: at the end nobody may wait in the VM, and
  // what is left is not much.
  void LetIn();
  // Nothing is pushed any more; Pop no longer waits.
  void Close();
  // From now on everything pushed is recycled uncounted, nobody waits: the writer is gone.
  void Discard();

  size_t buffer_bytes() const { return buffer_bytes_; }
  // Queued bytes as a part of those at which threads wait; above 1 when something was forced in. Takes no lock.
  double fill() const { return static_cast<double>(queued()) / static_cast<double>(wait_bytes_); }

  uint64_t lost_segments() const { return lost_segments_.load(std::memory_order_relaxed); }
  uint64_t lost_bytes() const { return lost_bytes_.load(std::memory_order_relaxed); }
  // Times that a thread waited for room, and ns that they waited altogether.
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }
  uint64_t blocked_ns() const { return blocked_ns_.load(std::memory_order_relaxed); }
  // The most that was ever queued.
  uint64_t high_water_bytes() const { return high_water_bytes_.load(std::memory_order_relaxed); }
  // Buffers taken from the system's memory instead of the pool.
  uint64_t allocated_buffers() const { return allocated_buffers_.load(std::memory_order_relaxed); }

 private:
  size_t queued() const { return queued_bytes_.load(std::memory_order_relaxed); }
  // There is enough for the writer to be worth waking.
  bool Ready() const { return queued() >= wake_bytes_ || flushes_ != 0; }
  // Something larger goes in alone.
  bool HasRoom(size_t bytes) const {
    const size_t waiting = queued() + taken_bytes_;
    return waiting == 0 || waiting + bytes <= wait_bytes_;
  }
  bool MayGo(size_t bytes) const { return HasRoom(bytes) || discard_ || let_in_; }
  bool WriterHangs(WaitBudget::Time now) const {
    return waited_since_ != WaitBudget::Time() && now >= waited_since_ + limit_;
  }
  void WaitForRoom(std::unique_lock<std::mutex>& lock, size_t bytes, WaitBudget* budget);
  bool Admit(std::unique_lock<std::mutex>& lock, size_t bytes, PushMode mode, WaitBudget* budget);
  void BeginStall();
  void CountLoss(uint64_t segments, uint64_t bytes);
  void Append(Buffer* buffer);
  void CountQueued(size_t bytes);
  void QueueLoss();
  uint32_t NextCapacity();
  Buffer* Make(size_t bytes);
  Buffer* MakeSegments(std::span<const uint8_t> segments);
  void Pool(Buffer* list, bool taken);
  Buffer* TrimPool();
  static void Free(Buffer* list);

  const Clock& clock_;
  const size_t buffer_bytes_;
  const size_t fuzz_bytes_;
  const size_t bound_bytes_, wait_bytes_;
  const size_t wake_bytes_;
  const WhenFull when_full_;
  const std::chrono::milliseconds limit_;

  std::mutex mutex_;
  std::condition_variable room_, work_;
  // Guarded by mutex_.
  Buffer* pool_ = nullptr;
  size_t pooled_bytes_ = 0;
  Buffer* head_ = nullptr;
  Buffer* tail_ = nullptr;
  size_t taken_bytes_ = 0;  // by the writer, not yet recycled
  uint64_t random_ = 0;
  size_t flushes_ = 0;  // queued buffers that ask for the end of the chunk
  // Since when threads have waited without the writer taking anything; zero: they have not.
  WaitBudget::Time waited_since_{};
  bool stalled_ = false;
  bool discard_ = false;
  bool let_in_ = false;
  Buffer* stall_tail_ = nullptr;  // last buffer that was queued when the stall began
  uint64_t stall_segments_ = 0, stall_bytes_ = 0;
  uint64_t stall_time_ = 0;

  std::atomic<bool> closed_{false};
  // Written under mutex_. Relaxed is enough for who reads it without: fill() is a hint.
  std::atomic<size_t> queued_bytes_{0};
  // Counters only: no order with anything else.
  std::atomic<uint64_t> lost_segments_{0}, lost_bytes_{0}, waits_{0}, blocked_ns_{0}, high_water_bytes_{0},
      allocated_buffers_{0};
};

}  // namespace anttracks::core
