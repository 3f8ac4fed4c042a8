// SPDX-License-Identifier: Apache-2.0
// The pool of event buffers and the queue to the writer. The order of the queue is the order of the file.
//
//     pool --Acquire--> owner --Push--> queue --Pop--> writer --Recycle--> pool
//       ^                 |  \                                             |
//       +-----Release-----+   +-- dropped: counted, LOSS in the queue -----+
//
// A buffer belongs to exactly one of pool, owner, queue and writer. Only that one touches its contents, so that
// only a hand-over takes the lock.
//
// Bound. The buffers in the queue, with the writer and in the pool stay within the bound together. The buffers
// of owners, at most one each, and what PushMode allows come on top. Push waits for room until the caller's
// wait budget is used up; then the buffer is queued nevertheless, up to twice the bound, and dropped beyond
// that. Threads may begin to wait below the bound (wait_bytes), since queued buffers need room in the current
// data file. If threads wait and the writer takes nothing for the time limit, the writer hangs, and nobody
// waits any more. What is pushed with kForce goes in beyond that, until the queue overflows: at four times the
// bound, or at 64 MiB if that is more.
//
// Stall. Once something was dropped the queue is stalled: nobody waits, and a buffer without room is dropped at
// once. It ends when a LOSS is queued where the dropped segments would have been: by the writer's next Pop, or
// by TellLoss. With on-overflow=drop nobody ever waits, and what exceeds the bound is dropped.
//
// Fuzz. Threads that run the same code would fill buffers of equal size at the same time and contend for the
// lock. So each buffer from Acquire has a random capacity, up to the share `fuzz` less than its memory. The
// memory is the same for all, so that the pool can give any buffer to any thread.
//
// Waking. The writer sleeps until enough is queued. What is pushed with kTry or kForce, in pauses, does not
// wake it unless the queue fills: the next other push does, or the end of the writer's own wait.
//
// Thread safety: full. The lock is never held during I/O, nor while a buffer is allocated, but for that of a
// stall's LOSS.
//
// Units: bytes of memory, the buffer's head included.
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

// Kinds of marks in the queue: the next data file begins here; the sync point at the start of a file is
// complete here.
inline constexpr uint8_t kNextFile = 255, kSyncComplete = 254;

struct Buffer {
  Buffer* next = nullptr;
  uint32_t size = 0;      // bytes after the head; for BufferQueue
  uint32_t capacity = 0;  // how many of them the owner may use
  uint32_t used = 0;
  // 0: data() holds complete segments; otherwise the payload of one segment of this kind.
  uint8_t kind = 0;
  bool flush = false;  // the chunk ends after this buffer
  uint64_t stream = 0;

  uint8_t* data() { return reinterpret_cast<uint8_t*>(this + 1); }
  size_t memory() const { return sizeof(Buffer) + size; }
};

enum class PushMode {
  kBounded,  // wait for room; with on-overflow=drop, drop
  kTry,      // drop only above twice the bound; for hand-overs at a safepoint
  kNoWait,   // as kTry, outside of pauses: wakes the writer
  kGiveUp,   // as kTry, but not counted as a loss: the sync point is abandoned
  kWait,     // wait, except with on-overflow=drop; then as kGiveUp. For the first sync point
  kForce,    // never wait, drop only if the queue overflows; for the frames of collections and sync points, and
             // ends
};

struct QueueConfig {
  size_t buffer_bytes = 64 << 10;  // of a thread's buffer, without its head
  double fuzz = 0.1;               // 0 to 0.5
  size_t bound_bytes = 32 << 20;   // four buffers or more
  size_t wait_bytes = 0;           // threads wait when more than this is queued; 0: bound_bytes
  WhenFull when_full = WhenFull::kBlock;
  // How long the writer may take nothing while threads wait for room.
  std::chrono::milliseconds wait_limit = limits::kHangs;
};

// Whether the chunk of the file goes on after these segments, or ends.
enum class ChunkAfter : bool { kGoesOn, kEnds };

class BufferQueue {
 public:
  BufferQueue(const Clock& clock, const QueueConfig& config);
  ~BufferQueue();
  BufferQueue(const BufferQueue&) = delete;

  // Acquire gives a buffer with a capacity of buffer_bytes() less the fuzz, AcquireSized one of exactly that
  // many bytes. nullptr: out of memory.
  Buffer* Acquire();
  Buffer* AcquireSized(size_t bytes);
  void Release(Buffer* buffer);

  // Takes ownership in any case. False: the contents were dropped. budget: how long Push may wait; nullptr:
  // until the writer hangs.
  bool Push(Buffer* buffer, PushMode mode, WaitBudget* budget = nullptr);
  // Copies complete segments. False: dropped, or out of memory.
  bool PushSegments(std::span<const uint8_t> segments, PushMode mode, ChunkAfter chunk = ChunkAfter::kGoesOn,
                    WaitBudget* budget = nullptr);
  // Queues a mark (kNextFile, kSyncComplete). False: out of memory, or the queue overflows.
  bool PushMark(uint8_t kind);
  // Queues a LOSS for events that were lost elsewhere. False: out of memory.
  bool PushLoss(std::span<const uint8_t> segment);
  // Queues the LOSS of a stall now; what is dropped later gets another LOSS. Called before a sync point, since
  // readers know the heap again from there on. False: out of memory.
  bool TellLoss();
  // Counts as lost what could not even be pushed.
  void DropUnqueued(size_t segments, size_t bytes);

  // For the writer. Waits up to that long until enough is queued to be worth writing. Returns a list of
  // buffers, oldest first; nullptr: the queue is empty.
  Buffer* Pop(std::chrono::milliseconds wait);
  // Returns the buffers that Pop gave; until then they count against the bound.
  void Recycle(Buffer* list);
  bool closed() const { return closed_.load(std::memory_order_acquire); }

  // From now on everything is queued, and threads that wait for room go on: at the end of a trace nobody may
  // wait in the VM, and little is left to queue.
  void AdmitAll();
  // Nothing is pushed any more; Pop no longer waits.
  void Close();
  // The writer is gone: from now on what is pushed is recycled without being counted, and nobody waits.
  void Discard();

  size_t buffer_bytes() const { return buffer_bytes_; }
  // Queued bytes divided by wait_bytes: 1 and more when threads would wait. Takes no lock.
  double fill() const { return static_cast<double>(queued()) / static_cast<double>(wait_bytes_); }

  // So much is queued that not even frames go in. Takes no lock.
  bool overflows() const { return queued() >= most_bytes_; }

  uint64_t lost_segments() const { return lost_segments_.load(std::memory_order_relaxed); }
  uint64_t lost_bytes() const { return lost_bytes_.load(std::memory_order_relaxed); }
  // How often threads waited for room, and for how many ns in total.
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }
  uint64_t blocked_ns() const { return blocked_ns_.load(std::memory_order_relaxed); }
  // The most that was ever queued.
  uint64_t high_water_bytes() const { return high_water_bytes_.load(std::memory_order_relaxed); }
  // Buffers that were allocated, as the pool was empty.
  uint64_t allocated_buffers() const { return allocated_buffers_.load(std::memory_order_relaxed); }

 private:
  size_t queued() const { return queued_bytes_.load(std::memory_order_relaxed); }
  // Enough is queued to wake the writer.
  bool Ready() const { return queued() >= wake_bytes_ || flushes_ != 0; }
  // A buffer that is larger than wait_bytes_ has room in an empty queue.
  bool HasRoom(size_t bytes) const {
    const size_t waiting = queued() + taken_bytes_;
    return waiting == 0 || waiting + bytes <= wait_bytes_;
  }
  bool MayGo(size_t bytes) const { return HasRoom(bytes) || discard_ || admits_all_; }
  bool WriterHangs(WaitBudget::Time now) const {
    return waited_since_ != WaitBudget::Time() && now >= waited_since_ + limit_;
  }
  void WaitForRoom(std::unique_lock<std::mutex>& lock, size_t bytes, WaitBudget* budget);
  bool Admit(std::unique_lock<std::mutex>& lock, size_t bytes, PushMode mode, WaitBudget* budget);
  bool WakesWriter(PushMode mode, bool was_ready);
  void BeginStall();
  void CountLoss(uint64_t segments, uint64_t bytes);
  void Append(Buffer* buffer);
  void CountQueued(size_t bytes);
  void QueueLoss();
  uint32_t NextCapacity();
  Buffer* Make(size_t bytes);
  Buffer* MakeSegments(std::span<const uint8_t> segments);
  Buffer* MakeLoss() noexcept;
  // Whose buffers go back to the pool: an owner's that were never queued, or the writer's.
  enum class From : bool { kOwner, kWriter };
  void Pool(Buffer* list, From from);
  Buffer* TrimPool();
  static void Free(Buffer* list);

  const Clock& clock_;
  const size_t buffer_bytes_;
  const size_t fuzz_bytes_;
  const size_t bound_bytes_, wait_bytes_, most_bytes_;
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
  size_t taken_bytes_ = 0;  // taken by the writer, not yet recycled
  uint64_t random_ = 0;
  size_t flushes_ = 0;      // queued buffers with flush
  bool owes_wake_ = false;  // the writer has enough to do since it slept, and nobody has woken it
  // When threads began to wait without the writer taking anything since; zero: no thread waits.
  WaitBudget::Time waited_since_{};
  bool stalled_ = false;
  bool discard_ = false;
  bool admits_all_ = false;
  Buffer* stall_tail_ = nullptr;  // the last queued buffer when the stall began
  uint64_t stall_segments_ = 0, stall_bytes_ = 0;
  uint64_t stall_time_ = 0;

  std::atomic<bool> closed_{false};
  // Written under mutex_. Read without it for fill(), which is a hint, so relaxed is enough.
  std::atomic<size_t> queued_bytes_{0};
  // Counters only: no order with anything else.
  std::atomic<uint64_t> lost_segments_{0}, lost_bytes_{0}, waits_{0}, blocked_ns_{0}, high_water_bytes_{0},
      allocated_buffers_{0};
};

}  // namespace anttracks::core
