// SPDX-License-Identifier: Apache-2.0
// Threads of the agent that read what application threads have allocated, so that those need not: until the
// next collection objects stay where they are, and a core that is idle costs the application nothing.
//
// A batch (some stretches, some objects outside TLABs) is given to the walkers, or stays with its thread: when
// the walkers are behind, or cannot read it (a site-class pair that nobody has seen yet: only a thread that the
// VM knows may ask the VM).
//
//     thread --Give--> given --walker--> read
//       ^                |       `--cannot--> refused --+
//       +----Claim-------+------------------------------+   at the latest when a collection begins
//
// Walkers that have to wait for a processor stay out of it for a while (RunDelay): with no core idle they would
// only make the application's threads late. Threads then read all by themselves.
//
// The stream of a thread (buffer) belongs to one at a time: the walker that has one of its batches, or who
// claimed it.
//
// Thread safety: full. Give and Claim by the thread itself, or by the VM thread when no thread runs. Walkers
// run with all signals blocked but those of faults, which the VM's SafeFetch needs. Ownership: borrows all; a
// state must be claimed for good (Forget) before it goes.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "agent/full/read_pace.h"
#include "agent/heap/tlab_walker.h"

namespace anttracks::core {

struct ThreadState;

struct Batch {
  Stretch stretches[kLanes];
  unsigned count = 0;  // of stretches
  uint32_t share = 0;  // with which they were chosen
  trace::How how = trace::How::kTlab;
  std::vector<uint64_t> outside;  // addresses of objects outside TLABs
  uint64_t bytes = 0;             // of the stretches

  void Add(const Stretch& stretch) {
    stretches[count++] = stretch;
    bytes += stretch.top - stretch.start;
  }
  void Clear() {
    for (Stretch& stretch : stretches) stretch = Stretch();
    count = 0;
    outside.clear();
    bytes = 0;
  }
  bool empty() const { return count == 0 && outside.empty(); }
};

// Of a ThreadState; guarded by the walkers' mutex.
struct ReadQueue {
  std::deque<Batch> given;  // oldest first
  size_t refused = 0;       // of these, at the front: only the thread can read them
  bool claimed = false;     // the stream belongs to somebody
  bool listed = false;      // the walkers know that there is something
  uint32_t keep = 0;        // so many batches stay with the thread, since walkers refused
  uint32_t keep_next = 1;
};

class Walkers {
 public:
  // Reads the batch into the state's stream. False: nothing was read, its thread must.
  using Read = std::function<bool(ThreadState&, const Batch&)>;
  // Whether there is room for what would be read.
  using Ready = std::function<bool()>;

  // In a walker: the part of its time in which it waited for a processor since it was asked last.
  using Waited = std::function<double()>;

  Walkers(Read read, Ready ready, Waited waited)
      : read_(std::move(read)), ready_(std::move(ready)), waited_(std::move(waited)) {}
  ~Walkers() { Stop(); }
  Walkers(const Walkers&) = delete;

  // Fewer if the system has no more; without any, Give refuses everything.
  void Start(unsigned threads);
  // Waits for what is being read; what is given stays there.
  void Stop();
  // Not while they stay out.
  bool any() const { return any_.load(std::memory_order_relaxed) && !out_.load(std::memory_order_relaxed); }

  // True: the batch is taken (and empty now).
  bool Give(ThreadState& state, Batch* batch);
  // Of what a thread has given: what walkers have refused to read, or all that they have not read.
  enum class Take : bool { kRefused, kAll };
  // Waits until nobody else has the stream, takes it, and gives it back at the end of its life.
  class Claim {
   public:
    Claim(Walkers& walkers, ThreadState& state, Take take);
    ~Claim();
    Claim(const Claim&) = delete;
    // Oldest first.
    const std::deque<Batch>& batches() const { return batches_; }

   private:
    Walkers& walkers_;
    ThreadState& state_;
    std::deque<Batch> batches_;
  };
  // Before the state goes: waits for a walker that has it, drops what is not read.
  void Forget(ThreadState& state) noexcept;
  // Waits until no walker is in the heap. What is given and not yet begun is read later.
  void WaitIdle() noexcept;

  // Whoever reads says how long it took.
  ReadPace& pace() { return pace_; }

  uint64_t batches_read() const { return read_count_.load(std::memory_order_relaxed); }
  uint64_t batches_refused() const { return refused_count_.load(std::memory_order_relaxed); }
  // Times that they stayed out.
  uint64_t rests() const { return rests_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kMostBatches = 8;  // of a thread
  static constexpr uint32_t kMostKept = 64;

  // A walker stays out when it waited for more of its time than this, in so many batches.
  static constexpr double kMostWaited = 0.1;
  static constexpr int kBatchesBetween = 16;
  static constexpr std::chrono::milliseconds kShortestRest{100}, kLongestRest{3200};

  static void* Main(void* self);
  void Run();
  void Rest(std::unique_lock<std::mutex>& lock);
  void ReadOne(std::unique_lock<std::mutex>& lock);
  void Refused(ReadQueue& queue);
  void List(ThreadState& state) noexcept;
  void Unlist(ThreadState& state);
  std::deque<Batch> TakeBatches(ReadQueue& queue, Take take);

  const Read read_;
  const Ready ready_;
  const Waited waited_;
  ReadPace pace_;
  std::vector<pthread_t> threads_;
  std::atomic<bool> any_{false}, out_{false};
  std::mutex mutex_;
  std::condition_variable work_, released_;
  // Guarded by mutex_.
  std::deque<ThreadState*> list_;  // those with given batches that are not claimed
  uint64_t bytes_ = 0;             // given, not yet read or claimed: a collection's pause has to read it
  unsigned reading_ = 0;           // walkers that are in the heap
  bool stop_ = false;
  std::chrono::milliseconds rest_ = kShortestRest;  // the next one
  std::atomic<uint64_t> read_count_{0}, refused_count_{0}, rests_{0};
};

}  // namespace anttracks::core
