// SPDX-License-Identifier: Apache-2.0
// What a collection means to a full trace or a census: the order in which the parts of a session hand over what
// they have, the segments around the collection's moves, and whether a sync point or a census follows.
//
// Thread safety: by the VM thread at a safepoint, where no application thread is in a callback; count by any.
// Ownership: borrows everything.
#pragma once

#include <chrono>
#include <cstdint>

#include "agent/base/counter.h"
#include "agent/full/census.h"
#include "agent/full/gc_events.h"
#include "agent/full/mutators.h"
#include "agent/full/provenance.h"
#include "agent/full/skipped.h"
#include "agent/full/stack_samples.h"
#include "agent/full/sync_points.h"
#include "agent/heap/definitions.h"
#include "agent/stream/sync_point_source.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

class Collections {
 public:
  struct Parts {
    Definitions& definitions;
    Skipped& skipped;
    StackSamples& stacks;
    GcEvents& gc_events;
    SyncPoints& sync_points;
    Mutators& mutators;
    Census* census;          // nullptr: every object is recorded
    Provenance* provenance;  // nullptr: it is not kept
  };

  // source: whose next data file begins with a sync point. pause_limit: how long the reports of a collection
  // together may wait for the writer.
  Collections(SyncPointSource& source, const Outlet& outlet, const Parts& parts,
              std::chrono::milliseconds pause_limit)
      : source_(source), outlet_(outlet), parts_(parts), pause_limit_(pause_limit) {}

  // When it returns objects may move.
  void Begin(const AntTracksGC& gc);
  // All workers have reported.
  void End(const AntTracksGC& gc);
  // Between the two.
  void ClassUnload(uint64_t klass);

  uint64_t count() const { return count_.value(); }

 private:
  void Push(trace::SegmentKind kind, const AntTracksGC& gc);
  void BeginSyncPoint(const AntTracksGC& gc);
  void BeginCensusIfDue(const AntTracksGC& gc);
  void ForgetSiteClasses();

  SyncPointSource& source_;
  const Outlet outlet_;
  const Parts parts_;
  const std::chrono::milliseconds pause_limit_;
  bool classes_unloaded_ = false;  // in this collection
  Counter count_;
};

}  // namespace anttracks::core
