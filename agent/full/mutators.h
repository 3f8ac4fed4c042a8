// SPDX-License-Identifier: Apache-2.0
// What application threads report: stretches of their TLABs, objects outside TLABs, and their end. A thread's
// stretches are read in batches, by the thread itself or by walkers, and written to the thread's stream.
//
// Thread safety: Alloc, Object and ThreadExit by application threads, each with its own state; WalkAll,
// HandOverAll and ForgetSiteClasses at a safepoint, or when no thread can be in a callback; the rest by any
// thread. The mutex of the registry is held while waiting for a walker to end its batch, but never while
// waiting for the writer. Ownership: owns the states, which the VM's slots point to; borrows the rest.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "agent/base/counters.h"
#include "agent/full/budget.h"
#include "agent/full/provenance.h"
#include "agent/full/skipped.h"
#include "agent/full/stack_samples.h"
#include "agent/full/thread_state.h"
#include "agent/full/walkers.h"
#include "agent/heap/definitions.h"
#include "agent/heap/object_reader.h"
#include "agent/stream/outlet.h"

namespace anttracks::core {

// When a stretch is reported: while threads run, or at a safepoint, where no thread may wait.
enum class Moment : bool { kRunning, kSafepoint };
// What HandOverAll does with skipped ranges.
enum class OnSkipped : bool { kWriteAsSkipped, kRead };

class Mutators {
 public:
  struct Config {
    std::chrono::milliseconds report_limit;  // how long a report may wait for the writer
    unsigned walkers = 0;
    Walkers::Waited walker_waited = {};  // for tests
  };

  Mutators(Definitions& definitions, ObjectReader& reader, const Budget& budget, Skipped& skipped,
           StackSamples& stacks, Provenance* provenance, const Outlet& outlet, const Config& config);
  ~Mutators();
  Mutators(const Mutators&) = delete;

  void Start() { walkers_.Start(walker_count_); }

  // The thread allocated the objects in [start, top).
  void Alloc(void* thread, void** slot, uint64_t start, uint64_t top, Moment moment);
  // The thread allocated the object at address, outside its TLAB.
  void Object(void* thread, void** slot, uint64_t address);
  // The thread allocates an object, in which so many sample points lie, at the place that the first site names.
  void Stack(void* thread, void** slot, const AntTracksStack& stack);
  void ThreadExit(void* thread, void** slot);

  // Reads all stretches that were reported and not yet read.
  void WalkAll();
  // Queues everything that was reported, and writes or reads what was skipped since the last collection.
  void HandOverAll(PushMode mode, OnSkipped on_skipped);
  // Clears the threads' caches of site-class pairs.
  void ForgetSiteClasses();

  Walkers& walkers() { return walkers_; }
  const Walkers& walkers() const { return walkers_; }
  // Counts of running threads may be from slightly different moments.
  void AddCounts(AllocCounts* sum) const;
  void Count(CounterValues* values) const;

 private:
  struct Orphans {  // skipped ranges of a thread that has ended
    uint32_t thread = 0;
    std::vector<AddressRange> skipped;
  };
  static constexpr size_t kMostOutside = 32;  // objects outside TLABs in a batch
  // The most bytes of objects in a run, but for the last one. A longer stretch becomes several runs; walkers do
  // not read it.
  static constexpr uint64_t kMostOfRun = 4 << 20;

  ThreadState* State(void* thread, void** slot);
  void LastWords(ThreadState& state, void* thread);

  bool RoomForRun(ThreadState& state, size_t bytes, uint32_t share, PushMode mode);
  void WriteRun(ThreadState& state, const AddressRange& range, trace::How how, uint32_t share,
                std::span<const uint16_t> ids, std::span<const uint32_t> lengths, PushMode mode);
  void WriteOutside(ThreadState& state, uint64_t address, const Header& header, PushMode mode);
  bool ReadOutside(const Batch& batch, std::vector<Header>* headers, Lookup lookup);
  bool ReadBlock(ThreadState& state, const Batch& batch, AddressRange* stretch, Scratch& scratch,
                 PushMode mode);
  bool ReadBatch(ThreadState& state, const Batch& batch, PushMode mode, Lookup lookup);
  bool ReadForThread(ThreadState& state, const Batch& batch);
  std::unique_ptr<Scratch> TakeScratch();
  void HandBatch(ThreadState& state);
  void ReadNow(ThreadState& state, PushMode mode, Walkers::Take take);

  void NoteFilled(ThreadState& state, const AddressRange& stretch);
  void TellFilled(ThreadState& state);
  void Skip(ThreadState& state, const AddressRange& stretch);
  void ReadSkipped(ThreadState& state, PushMode mode);
  void WriteSkipped(ThreadState& state, PushMode mode);
  void SettleSkipped(OnSkipped on_skipped, PushMode mode);

  Definitions& definitions_;
  ObjectReader& reader_;
  const Budget& budget_;
  Skipped& skipped_;
  StackSamples& stacks_;
  Provenance* const provenance_;  // nullptr: it is not kept
  const Outlet outlet_;
  const std::chrono::milliseconds report_limit_;
  Staging staging_;

  std::mutex scratch_mutex_;
  std::vector<std::unique_ptr<Scratch>> scratch_;  // as many as threads have read at the same time

  mutable std::mutex registry_mutex_;
  ThreadState* threads_ = nullptr;
  AllocCounts exited_;  // of threads that have ended
  std::vector<Orphans> orphans_;

  std::atomic<uint64_t> unread_bytes_{0};  // of stretches in the batches of all threads
  const unsigned walker_count_;
  Walkers walkers_;  // the last member, so that it is destroyed first
};

}  // namespace anttracks::core
