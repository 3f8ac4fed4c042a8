// SPDX-License-Identifier: Apache-2.0
// Records one trace: passes each report of the VM to the part that writes its segments. Uses neither JVM TI nor
// files. Uses the VM interface's plain C structs directly, since conversion on these paths would cost time.
//
//     callbacks --> Session --+-> Mutators    application threads: allocation
//                             +-> GcEvents    GC workers: moves, fillers
//                             +-> Collections the VM thread: begin and end; a Census instead of all others
//                             `-> SyncPoints  the VM thread and the agent's own: lists of the heap
//     Mutators, GcEvents, SyncPoints --> ObjectReader --> Definitions; --> Outlet (queue, failure, clock) -->
//     writer --> CostControl, which sets what Mutators skip
//
// Thread safety: the parts say it for themselves. Everything else is atomic, or part of Failure and
// BufferQueue.
//
// Ownership: the session owns its parts and the queue. AntTracksVM must outlive it. It must not be destroyed
// before the VM's stop has returned.
//
// Failure: see Failure. Exceptions do not reach the VM: callbacks.cc catches them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/full/census.h"
#include "agent/full/collections.h"
#include "agent/full/cost_control.h"
#include "agent/full/gc_events.h"
#include "agent/full/mutators.h"
#include "agent/full/provenance.h"
#include "agent/full/stack_samples.h"
#include "agent/full/sync_points.h"
#include "agent/heap/definitions.h"
#include "agent/heap/object_reader.h"
#include "agent/stream/sync_point_source.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

struct SessionConfig {
  size_t buffer_bytes = 64 << 10;
  size_t queue_bytes = 32 << 20;
  size_t wait_bytes = 0;  // threads wait when more than this is queued; 0: queue_bytes
  double fuzz = 0.1;      // share by which buffer sizes vary
  WhenFull when_full = WhenFull::kBlock;
  // Size of a TLAB stretch, which is read while it is in the cache; 0: whole TLABs.
  uint32_t stretch_bytes = 64 << 10;
  uint32_t stack_bytes = 0;  // that a thread allocates between two sample points; 0: no stacks
  // The most CPU time that stacks may take, of that of the program, before the points get further apart; 0:
  // any, without a budget.
  double stack_percent = 0;
  uint32_t most_stacks = StackTable::kMost;
  double budget_percent = 0;            // of the program's CPU time; 0: no budget
  uint32_t share = trace::kWholeShare;  // of the stretches, which are read if there is no budget
  unsigned walkers = 0;                 // number of walkers
  Walkers::Waited walker_waited = {};   // for tests
  // How long the host may wait for the writer; see wait_budget.h.
  std::chrono::milliseconds wait_limit = limits::kHangs;
  std::chrono::milliseconds report_limit = limits::kReport;
  std::chrono::milliseconds pause_limit = limits::kPause;
  std::chrono::milliseconds first_sync_point_limit = limits::kFirstSyncPoint;
  // At an attach: up to this many bytes outside eden are listed in the pause, the rest after it.
  uint64_t most_in_pause = 32 << 20;
  uint32_t most_id = trace::kMaxId;                 // see Definitions
  std::optional<std::chrono::seconds> census = {};  // mode=census: every=
  bool keeps_provenance = false;                    // keep=yes
};

class Session final : public SyncPointSource {
 public:
  Session(const AntTracksVM& vm, const SessionConfig& config);
  ~Session() override;

  // Must be called before the VM's start, once the heap and the number of GC workers are known.
  void Begin(trace::SyncReason reason);
  // Must be called before the VM's stop. The walk of the old space ends, and none begins; its sync point stays
  // incomplete, except for the first one, without which a trace is worthless. When it returns no thread waits
  // for the writer any more: a waiting thread would delay the safepoint in which the VM stops tracing.
  void PrepareStop() { sync_points_.PrepareStop(); }
  // After the VM's stop: queues what is left and closes the queue.
  void Finish(std::string_view reason) noexcept override;
  // When the VM is gone already, without its stop: the open buffers of threads are lost, and counted.
  void Abandon(std::string_view reason) noexcept override;

  Mutators& mutators() { return mutators_; }
  const Mutators& mutators() const { return mutators_; }
  GcEvents& gc_events() { return gc_events_; }
  SyncPoints& sync_points() { return sync_points_; }
  Collections& collections() { return collections_; }
  void FirstSyncBegin(std::span<const AntTracksSpace> spaces) { sync_points_.FirstBegin(reason_, spaces); }

  // After tracing was switched off, before objects move: when it returns no thread of the agent reads the heap,
  // nor will any.
  void LeaveHeap() noexcept;

  double SyncPointBytes() const override { return sync_points_.EstimatedBytes(); }
  trace::SavedProvenance TakeProvenance() override;
  void RequestCollection() override { background().RequestCollection(); }

  // nullptr: every object is recorded.
  Census* census() { return census_ ? &*census_ : nullptr; }
  const Census* census() const { return census_ ? &*census_ : nullptr; }

  CostControl& cost() { return cost_; }
  void HandOver() override;
  Background& background() { return sync_points_.background(); }

  uint32_t stretch_bytes() const { return stretch_bytes_; }
  Definitions& definitions() { return definitions_; }
  bool definitions_pending() const override { return definitions_.pending(); }
  std::vector<trace::ByteBuffer> TakeDefinitions() override { return definitions_.Take(); }

  std::string end_reason() const override;
  // Counts of running threads may be from slightly different moments.
  CounterValues counters() const override;

 private:
  void SetEndReason(std::string_view reason);
  // nullptr: it is not kept.
  Provenance* provenance() { return provenance_ ? &*provenance_ : nullptr; }

  const AntTracksVM& vm_;
  const uint32_t stretch_bytes_;
  const double budget_percent_;  // at the start
  const Outlet outlet_;
  Definitions definitions_;
  ObjectReader reader_;
  trace::SyncReason reason_ = trace::SyncReason::kStart;
  uint64_t adjusted_ns_ = 0;  // when the writer last adjusted what tracing costs

  mutable std::mutex end_mutex_;
  std::string end_reason_;

  CostControl cost_;
  StackSamples stacks_;
  std::optional<Provenance> provenance_;
  GcEvents gc_events_;
  std::optional<Census> census_;
  SyncPoints sync_points_;
  Mutators mutators_;  // after all that its walkers use
  Collections collections_;
};

}  // namespace anttracks::core
