// SPDX-License-Identifier: Apache-2.0
#include "agent/full/collections.h"

#include "trace/events.h"

namespace anttracks::core {

void Collections::Push(trace::SegmentKind kind, const AntTracksGC& gc) {
  const std::vector<trace::Space> spaces = InWords({gc.spaces, gc.nspaces});
  trace::Collection collection;
  collection.id = gc.id;
  collection.kind = static_cast<trace::GcKind>(gc.kind);
  collection.cause = gc.cause == nullptr ? "" : gc.cause;
  collection.time = outlet_.clock.Now();
  collection.spaces = spaces;
  trace::ByteBuffer segment;
  trace::AppendCollection(&segment, kind, collection);
  // So that the trace of a killed process is complete up to the last collection.
  outlet_.PushFrame(segment, kind == trace::SegmentKind::kGcEnd ? ChunkAfter::kEnds : ChunkAfter::kGoesOn);
}

void Collections::Begin(const AntTracksGC& gc) {
  parts_.gc_events.CollectionBegins(pause_limit_);
  parts_.sync_points.CollectionBegins(gc);
  count_.Add(1);
  if (parts_.census != nullptr) return parts_.census->CollectionBegins(gc);
  // These have to know all objects: they move them in an order of their own, or free their classes.
  const bool needs_all = gc.kind == ANTTRACKS_GC_FULL || gc.kind == ANTTRACKS_GC_REMARK;
  parts_.mutators.HandOverAll(PushMode::kTry, needs_all ? OnSkipped::kRead : OnSkipped::kWriteAsSkipped);
  parts_.stacks.HandOver();
  if (parts_.provenance != nullptr) parts_.provenance->CollectionBegins(gc);
  Push(trace::SegmentKind::kGcBegin, gc);
}

void Collections::End(const AntTracksGC& gc) {
  parts_.gc_events.CollectionEnds();
  if (parts_.provenance != nullptr) parts_.provenance->CollectionEnds(gc);
  parts_.skipped.Forget();
  if (classes_unloaded_) ForgetSiteClasses();
  if (parts_.census == nullptr) Push(trace::SegmentKind::kGcEnd, gc);
  parts_.sync_points.CollectionEnds(gc);
  parts_.census == nullptr ? BeginSyncPoint(gc) : BeginCensusIfDue(gc);
}

void Collections::BeginSyncPoint(const AntTracksGC& gc) {
  const bool next_file = source_.sync_point_wanted();
  if (!parts_.sync_points.due() && !next_file) return;
  if (!parts_.sync_points.MayFollow(gc.kind, parts_.gc_events.any_slides())) return;
  if (!outlet_.queue.TellLoss()) outlet_.failure.Fail("out of memory");
  if (next_file) {
    source_.NextFileQueued();
    if (!outlet_.queue.PushMark(kNextFile)) outlet_.CannotQueue();
  }
  parts_.sync_points.Begin({gc.spaces, gc.nspaces});
}

void Collections::BeginCensusIfDue(const AntTracksGC& gc) {
  Census& census = *parts_.census;
  if (!census.CollectionEnds(gc) || !parts_.sync_points.MayFollow(gc.kind, census.LeftDead(gc))) return;
  census.Begin();
  parts_.sync_points.Begin({gc.spaces, gc.nspaces});
}

void Collections::ClassUnload(uint64_t klass) {
  const uint64_t id = parts_.definitions.Unload(klass);
  if (id == 0) return;
  classes_unloaded_ = true;
  trace::ByteBuffer segment;
  trace::AppendClassUnload(&segment, id);
  outlet_.PushFrame(segment);
}

// No application thread is in a callback, the workers' last events are here, and classes are unloaded only by
// collections before which walkers have ended what they had been given, and the walk of a sync point has ended,
// or stands still, as in a remark.
void Collections::ForgetSiteClasses() {
  classes_unloaded_ = false;
  parts_.mutators.ForgetSiteClasses();
  parts_.sync_points.ForgetSiteClasses();
  if (!parts_.sync_points.background().busy()) parts_.definitions.Shrink();
}

}  // namespace anttracks::core
