/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracks.hpp"
#include "anttracks/antTracksForwarding.hpp"
#include "anttracks/antTracksHeap.hpp"
#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksSpaces.hpp"
#include "anttracks/antTracksStacks.hpp"
#include "anttracks/antTracksThread.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "classfile/classLoaderData.hpp"
#include "gc/shared/gcCause.hpp"
#include "gc/shared/gcId.hpp"
#include "gc/shared/threadLocalAllocBuffer.inline.hpp"
#include "memory/resourceArea.hpp"
#include "memory/universe.hpp"
#include "oops/instanceKlass.hpp"
#include "oops/oop.inline.hpp"
#include "prims/jvmtiExport.hpp"
#include "runtime/os.inline.hpp"
#include "runtime/safepoint.hpp"
#include ANTTRACKS_THREAD_HPP
#include "runtime/threadSMR.hpp"

bool AntTracks::_gc_active = false;
AntTracksWorker* AntTracks::_workers = NULL;

static ANTTRACKS_MUTEX* retire_lock = NULL;  // made before the first start

void AntTracks::make_workers() {
  if (retire_lock == NULL) retire_lock = new ANTTRACKS_MUTEX();
  if (!UseParallelGC && _workers == NULL) _workers = new AntTracksWorker[UseG1GC ? ParallelGCThreads : 1];
}

static void report_heap(const AntTracksCallbacks& callbacks) {
  ResourceMark rm;
  AntTracksSpaces spaces;
  AntTracksHeap::describe(&spaces, AntTracksSpaces::at_sync);
  callbacks.sync_begin(callbacks.context, spaces.data(), spaces.count());
  AntTracksHeap::walk_eden(callbacks, spaces);
  callbacks.sync_end(callbacks.context);
}

int32_t AntTracks::start(const AntTracksCallbacks& callbacks) {
  if (AntTracksRecording::listened_to()) return -1;
  if (callbacks.tlab == NULL) {
    AntTracksRecording::start(callbacks);
    return 0;
  }
  Universe::heap()->ensure_parsability(false);
  for (JavaThreadIteratorWithHandle jtiwh; JavaThread* thread = jtiwh.next(); ) {
    AntTracksThreadState* const state = thread->anttracks();
    state->_agent_slot = NULL;
    state->_reported = thread->tlab().end() != NULL ? thread->tlab().top() : NULL;
    state->_random = 0;
    state->_in_tlab._bytes = state->_outside._bytes = 0;  // points of a trace before this one
  }
  report_heap(callbacks);
  AntTracksRecording::start(callbacks);
  for (JavaThreadIteratorWithHandle jtiwh; JavaThread* thread = jtiwh.next(); ) {
    limit_tlab(thread);
  }
  return 0;
}

int32_t AntTracks::stop() {
  if (!AntTracksRecording::listened_to()) return -1;
  for (JavaThreadIteratorWithHandle jtiwh; JavaThread* thread = jtiwh.next(); ) {
    ThreadLocalAllocBuffer& tlab = thread->tlab();
    if (tlab.end() == NULL) continue;
    tlab_retired(thread, tlab.start(), tlab.top());
    if (in_stretches()) tlab.set_back_allocation_end();
  }
  for (JavaThreadIteratorWithHandle jtiwh; JavaThread* thread = jtiwh.next(); ) {
    thread_exit(thread);
  }
  AntTracksRecording::stop();
  return 0;
}

void AntTracks::report_tlab(Thread* thread, HeapWord* start, HeapWord* top) {
  AntTracksThreadState* const state = ANTTRACKS_JAVA_THREAD(thread)->anttracks();
  HeapWord* const from = state->_reported != NULL ? state->_reported : start;
  state->_reported = top;
  if (from < top) {
    AntTracksStacks::pass(state, &state->_in_tlab, pointer_delta(top, from));
    const AntTracksCallbacks& callbacks = AntTracksRecording::callbacks();
    callbacks.tlab(callbacks.context, thread, &state->_agent_slot, (uint64_t)from, (uint64_t)top,
                   SafepointSynchronize::is_at_safepoint());
  }
}

// Several workers may retire TLABs at once. The agent gets one at a time.
void AntTracks::tlab_retired(Thread* thread, HeapWord* start, HeapWord* top) {
  if (!AntTracksRecording::active()) return;
  const bool by_worker = ANTTRACKS_WORKERS_RETIRE_TLABS && Thread::current()->is_Worker_thread();
  if (by_worker) retire_lock->lock();
  report_tlab(thread, start, top);
  if (by_worker) retire_lock->unlock();
  ANTTRACKS_JAVA_THREAD(thread)->anttracks()->_reported = NULL;
}

bool AntTracks::in_stretches() {
  return AntTracksRecording::active() &&
         (AntTracksRecording::callbacks().stretch_bytes != 0 || AntTracksStacks::wanted()) &&
         !JvmtiExport::should_post_sampled_object_alloc();
}

void AntTracks::limit_tlab(Thread* thread) {
  ThreadLocalAllocBuffer& tlab = thread->tlab();
  if (!in_stretches() || tlab.end() == NULL) return;
  const size_t stretch = AntTracksRecording::callbacks().stretch_bytes / HeapWordSize;
  size_t limit = stretch != 0 ? stretch : SIZE_MAX;
  if (AntTracksStacks::wanted()) {
    limit = MIN2(limit, AntTracksStacks::words_to_point(ANTTRACKS_JAVA_THREAD(thread)));
  }
  tlab.limit_to(limit);
}

HeapWord* AntTracks::allocate_in_next_stretch(Thread* thread, size_t words) {
  ThreadLocalAllocBuffer& tlab = thread->tlab();
  if (!in_stretches() || tlab.end() == NULL) return NULL;
  tlab.set_back_allocation_end();
  HeapWord* const mem = tlab.allocate(words);
  if (mem == NULL) return NULL;
  report_tlab(thread, tlab.start(), mem);
  limit_tlab(thread);
  return mem;
}

void AntTracks::allocated_outside_tlab(Thread* thread, oop obj) {
  if (!AntTracksRecording::active()) return;
  if (AntTracksStacks::wanted()) AntTracksStacks::look_away(ANTTRACKS_JAVA_THREAD(thread));
  limit_tlab(thread);
  AntTracksThreadState* const state = ANTTRACKS_JAVA_THREAD(thread)->anttracks();
  const AntTracksCallbacks& callbacks = AntTracksRecording::callbacks();
  callbacks.object(callbacks.context, thread, &state->_agent_slot, cast_from_oop<uint64_t>(obj));
  if (AntTracksStacks::wanted()) AntTracksStacks::allocated_outside(ANTTRACKS_JAVA_THREAD(thread), obj->size());
}

void AntTracks::thread_exit(JavaThread* thread) {
  AntTracksThreadState* const state = thread->anttracks();
  if (AntTracksRecording::active() && state->_agent_slot != NULL) {
    const AntTracksCallbacks& callbacks = AntTracksRecording::callbacks();
    callbacks.thread_exit(callbacks.context, thread, &state->_agent_slot);
  }
}

static void report_gc(AntTracksSpaces::Moment moment, uint32_t kind) {
  ResourceMark rm;
  AntTracksSpaces spaces;
  AntTracksHeap::describe(&spaces, moment, kind);
  AntTracksGC gc;
  gc.size = sizeof(gc);
  gc.id = GCId::current();
  gc.kind = kind;
  gc.nspaces = spaces.count();
  gc.cause = kind == ANTTRACKS_GC_REMARK ? "Concurrent Mark" : GCCause::to_string(Universe::heap()->gc_cause());
  gc.spaces = spaces.data();
  const AntTracksCallbacks& callbacks = AntTracksRecording::callbacks();
  (moment == AntTracksSpaces::at_gc_begin ? callbacks.gc_begin : callbacks.gc_end)(callbacks.context, &gc);
}

void AntTracks::gc_begin(uint32_t kind) {
  const bool forwards = UseSerialGC || UseG1GC || ANTTRACKS_PARALLEL_FORWARDS;
  if (kind == ANTTRACKS_GC_FULL && forwards) AntTracksForwarding::initialize(AntTracksHeap::reserved().start());
  if (!AntTracksRecording::listened_to()) return;
  report_gc(AntTracksSpaces::at_gc_begin, kind);
  _gc_active = AntTracksRecording::active();
}

void AntTracks::gc_end(uint32_t kind) {
  if (!AntTracksRecording::listened_to()) return;
  AntTracksBatchBase::flush_all();
  AntTracksFillers::report_held();
  _gc_active = false;
  report_gc(AntTracksSpaces::at_gc_end, kind);
}

void AntTracks::report_tlabs() {
  if (!AntTracksRecording::active()) return;
  for (JavaThreadIteratorWithHandle jtiwh; JavaThread* thread = jtiwh.next(); ) {
    ThreadLocalAllocBuffer& tlab = thread->tlab();
    if (tlab.end() != NULL) report_tlab(thread, tlab.start(), tlab.top());
  }
}

// Fillers that are made outside of collections end TLABs, or lie in eden: they die with it and are not reported. Nor are
// G1's: a heap dump finds only what is marked, and nothing marks them.
void AntTracks::filler(HeapWord* start, size_t words) {
  const oop obj = cast_to_oop(start);
  if (AntTracksMark::has_sites()) obj->set_mark(markWord(AntTracksMark::filler_mark().value() | ANTTRACKS_PROTOTYPE(obj).value()));
  if (_gc_active && !UseG1GC) AntTracksFillers::add(start, words);
}

void AntTracks::class_loader_unloading(ClassLoaderData* cld) {
  if (!AntTracksRecording::listened_to()) return;
  const AntTracksCallbacks& callbacks = AntTracksRecording::callbacks();
  for (Klass* k = cld->klasses(); k != NULL; k = k->next_link()) {
    callbacks.class_unload(callbacks.context, (uint64_t)k);
  }
}
