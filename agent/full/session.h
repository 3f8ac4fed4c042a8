// SPDX-License-Identifier: Apache-2.0
// One trace being recorded: what the VM reports goes to the part that turns it into segments. Knows neither
// JVMTI nor files. Uses the VM interface's plain C structs as they are, since conversion on these paths would
// cost.
//
//     callbacks --> Session --+-> Mutators   application threads: allocation
//                             +-> GcEvents   GC workers: moves, fillers
//                             `-> SyncPoints the VM thread, and the agent's own: the heap as it stands
//     Mutators, GcEvents, SyncPoints --> ObjectReader --> Definitions; --> Outlet (queue, failure, clock) -->
//     writer
//
// Thread safety: mutators() as it says; Collection* and ClassUnload in the VM thread at a safepoint, where no
// application thread is in a callback; gc_events() as it says. Everything else is atomic or lives in Failure
// and BufferQueue.
//
// Ownership: the session owns all of these and the queue. AntTracksVM must outlive it. It must not be destroyed
// before the VM's stop returned.
//
// Failure: see Failure. Nothing here throws to the VM; callbacks.cc catches.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/counter.h"
#include "agent/full/budget.h"
#include "agent/full/gc_events.h"
#include "agent/full/mutators.h"
#include "agent/full/skipped.h"
#include "agent/full/sync_points.h"
#include "agent/heap/definitions.h"
#include "agent/heap/object_reader.h"
#include "agent/stream/sync_point_source.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

struct SessionConfig {
  size_t buffer_bytes = 64 << 10;
  size_t queue_bytes = 32 << 20;
  size_t wait_bytes = 0;  // queued, before threads wait; 0: queue_bytes
  double fuzz = 0.1;      // of the size of buffers
  WhenFull when_full = WhenFull::kBlock;
  // Of a TLAB, read at once while it is in the cache; 0: whole TLABs.
  uint32_t stretch_bytes = 64 << 10;
  double budget_percent = 0;            // of the program's CPU time; 0: no budget
  uint32_t share = trace::kWholeShare;  // of the stretches that are read, without a budget
  unsigned walkers = 0;                 // threads that read what others have allocated
  Walkers::Waited walker_waited = {};   // for tests
  // How long the host may wait for the writer; see wait_budget.h.
  std::chrono::milliseconds wait_limit = limits::kHangs;
  std::chrono::milliseconds report_limit = limits::kReport;
  std::chrono::milliseconds pause_limit = limits::kPause;
  std::chrono::milliseconds first_sight_limit = limits::kFirstSight;
  // When tracing is attached to a program: bytes outside eden that are listed in the pause; what is more, after
  // it.
  uint64_t most_in_pause = 32 << 20;
  uint32_t most_id = trace::kMaxId;  // see Definitions
};

class Session final : public SyncPointSource {
 public:
  Session(const AntTracksVM& vm, const SessionConfig& config);
  ~Session() override;

  // Before the VM's start. The heap and the GC workers are known now.
  void Begin(trace::SyncReason reason);
  // Before the VM's stop: the walk of the old space ends, and none begins; its sync point stays incomplete,
  // unless it is the first one, which a trace is worth nothing without. At the return nobody waits for the
  // writer any more: threads that did would keep the VM from its safepoint, and stop itself waits in one.
  void PrepareStop() { sync_points_.PrepareStop(); }
  // After the VM's stop: hands over what is left and closes the queue.
  void Finish(std::string_view reason) noexcept override;
  // Without the VM's stop (it is gone already): threads' open buffers are lost and say so.
  void Abandon(std::string_view reason) noexcept override;

  Mutators& mutators() { return mutators_; }
  const Mutators& mutators() const { return mutators_; }
  GcEvents& gc_events() { return gc_events_; }
  SyncPoints& sync_points() { return sync_points_; }
  void FirstSyncBegin(std::span<const AntTracksSpace> spaces) { sync_points_.FirstBegin(reason_, spaces); }

  void CollectionBegin(const AntTracksGC& gc);
  void CollectionEnd(const AntTracksGC& gc);
  void ClassUnload(uint64_t klass);
  // When tracing has gone off, before objects move: nobody is in the heap at the return, and nobody goes there
  // any more.
  void LeaveHeap() noexcept;

  double SyncPointBytes() const override { return sync_points_.EstimatedBytes(); }
  void RequestCollection() override { background().RequestCollection(); }

  // What tracing may cost from now on, in percent of the program's CPU time; 100 and more: whatever it does.
  // False: there is no memory for it. Any thread, one at a time.
  bool SetBudget(double percent);
  const Budget& budget() const { return budget_; }
  void HandOver() override;
  Background& background() { return sync_points_.background(); }

  uint32_t stretch_bytes() const { return stretch_bytes_; }
  Definitions& definitions() { return definitions_; }
  bool definitions_pending() const override { return definitions_.pending(); }
  std::vector<trace::ByteBuffer> TakeDefinitions() override { return definitions_.Take(); }

  std::string end_reason() const override;
  // Counters of threads that run may lag behind each other.
  CounterValues counters() const override;

 private:
  void PushCollection(trace::SegmentKind kind, const AntTracksGC& gc);
  void ForgetSiteClasses();
  void SetEndReason(std::string_view reason);
  Budget::Costs CostsSoFar() const;

  const AntTracksVM& vm_;
  const uint32_t stretch_bytes_;
  const std::chrono::milliseconds pause_limit_;
  const Outlet outlet_;
  Definitions definitions_;
  ObjectReader reader_;

  trace::SyncReason reason_ = trace::SyncReason::kStart;
  bool classes_unloaded_ = false;  // in this collection; of the VM thread
  Counter collections_;

  const double budget_percent_;  // at the beginning
  Budget budget_;
  Skipped skipped_;
  uint64_t adjusted_ns_ = 0;  // of the writer

  mutable std::mutex end_mutex_;
  std::string end_reason_;

  GcEvents gc_events_;
  SyncPoints sync_points_;
  Mutators mutators_;  // last: its walkers end first
};

}  // namespace anttracks::core
