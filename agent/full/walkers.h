// SPDX-License-Identifier: Apache-2.0
// Walkers: threads of the agent that read stretches in place of the application threads that filled them.
// Objects do not move before the next collection, and using an idle core costs the application nothing.
//
// A thread gives a batch (some stretches, some objects outside TLABs) to the walkers. It reads the batch itself
// if the walkers have too much to read, or cannot read it: it has a site-class pair that is not in the tables,
// and only threads that the VM knows may ask the VM.
//
//     thread --Give--> given --walker--> read
//       ^                |       `--cannot--> refused --+
//       +----Claim-------+------------------------------+   at the latest when a collection begins
//
// A walker that sees the application's threads wait for a processor (RunDelay) rests for a while, and meanwhile
// walkers are given nothing: with no idle core they would only slow the application down. Threads then read
// everything themselves.
//
// A thread's stream belongs to one at a time: the walker that reads one of its batches, or whoever has claimed
// it.
//
// Thread safety: full. Give and Claim by the thread itself, or by the VM thread when no thread runs. Walkers
// block all signals except those of faults, which the VM's SafeFetch needs. Ownership: borrows everything; call
// Forget before a state is destroyed.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "agent/full/read_pace.h"
#include "agent/heap/tlab_walker.h"

namespace anttracks::core {

struct ThreadState;

struct Batch {
  AddressRange stretches[kLanes];
  unsigned count = 0;  // of stretches
  uint32_t share = 0;  // with which the stretches were chosen
  trace::How how = trace::How::kTlab;
  std::vector<uint64_t> outside;  // addresses of objects outside TLABs
  uint64_t bytes = 0;             // of the stretches

  void Add(const AddressRange& stretch) {
    stretches[count++] = stretch;
    bytes += stretch.top - stretch.start;
  }
  void Clear() {
    for (AddressRange& stretch : stretches) stretch = AddressRange();
    count = 0;
    outside.clear();
    bytes = 0;
  }
  bool empty() const { return count == 0 && outside.empty(); }
};

// The walkers' part of a ThreadState; guarded by their mutex.
struct ReadQueue {
  std::deque<Batch> given;  // oldest first
  size_t refused = 0;       // the first so many of these only the thread can read
  bool claimed = false;     // a walker or a Claim has the stream
  bool listed = false;      // the state is in list_
  uint32_t keep = 0;        // how many batches the thread reads itself, since walkers refused one
  uint32_t keep_next = 1;
};

class Walkers {
 public:
  // Reads the batch into the state's stream. False: nothing was read, and the thread must read it.
  using Read = std::function<bool(ThreadState&, const Batch&)>;
  // Whether the queue has room for what would be read.
  using Ready = std::function<bool()>;

  // Called in a walker: the part of the time since the last call in which this thread of the application waited
  // for a processor. nullopt: not known yet.
  using Waited = std::function<std::optional<double>(ThreadState&)>;

  Walkers(Read read, Ready ready, Waited waited)
      : read_(std::move(read)), ready_(std::move(ready)), waited_(std::move(waited)) {}
  ~Walkers() { Stop(); }
  Walkers(const Walkers&) = delete;

  // Starts that many walkers, or fewer if the system refuses; without any, Give returns false.
  void Start(unsigned threads);
  // Waits for the batches that are being read; the others stay in their queues.
  void Stop();
  // False while one of them rests.
  bool any() const {
    return any_.load(std::memory_order_relaxed) && resting_.load(std::memory_order_relaxed) == 0;
  }

  // True: the walkers have taken the batch, which is empty now.
  bool Give(ThreadState& state, Batch* batch);
  // Which batches of a thread a Claim takes: those that walkers refused, or all that are not read.
  enum class Take : bool { kRefused, kAll };
  // Waits until nobody else has the stream, and takes it until it is destroyed.
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
  // Before the state is destroyed: waits for a walker that uses it, and drops batches that are not read.
  void Forget(ThreadState& state) noexcept;
  // Waits until no walker reads the heap. Batches that are not begun are read later.
  void WaitIdle() noexcept;

  // Threads and walkers report here how long reading took.
  ReadPace& pace() { return pace_; }

  uint64_t batches_read() const { return read_count_.load(std::memory_order_relaxed); }
  uint64_t batches_refused() const { return refused_count_.load(std::memory_order_relaxed); }
  // How often they rested.
  uint64_t rests() const { return rests_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kMostBatches = 8;  // in a thread's queue
  static constexpr uint32_t kMostKept = 64;

  // A walker rests if the thread of the last of so many batches waited for more than this part of its time.
  static constexpr double kMostWaited = 0.1;
  static constexpr unsigned kBatchesBetween = 16;
  static constexpr std::chrono::milliseconds kShortestRest{100}, kLongestRest{3200};

  static void* Main(void* self);
  void Run();
  void Rest(std::unique_lock<std::mutex>& lock);
  std::optional<double> ReadOne(std::unique_lock<std::mutex>& lock);
  void Refused(ReadQueue& queue);
  void List(ThreadState& state) noexcept;
  void Unlist(ThreadState& state);
  std::deque<Batch> TakeBatches(ReadQueue& queue, Take take);

  const Read read_;
  const Ready ready_;
  const Waited waited_;
  ReadPace pace_;
  std::vector<pthread_t> threads_;
  std::atomic<bool> any_{false};
  std::atomic<unsigned> resting_{0};  // walkers that do
  std::mutex mutex_;
  std::condition_variable work_, released_, stopped_;
  // Guarded by mutex_.
  std::deque<ThreadState*> list_;  // states with batches to read that are not claimed
  uint64_t bytes_ = 0;             // given, not yet read or claimed: a collection's pause must read them
  unsigned reading_ = 0;           // walkers that read the heap now
  unsigned batches_ = 0;           // that walkers have begun
  bool stop_ = false;
  std::chrono::milliseconds rest_ = kShortestRest;  // the next one
  std::atomic<uint64_t> read_count_{0}, refused_count_{0}, rests_{0};
};

}  // namespace anttracks::core
