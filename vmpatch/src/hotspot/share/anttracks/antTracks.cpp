/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "precompiled.hpp"
#include "anttracks/antTracks.hpp"
#include "anttracks/antTracksForwarding.hpp"
#include "anttracks/antTracksHeap.hpp"
#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksThread.hpp"
#include "classfile/classLoaderData.hpp"
#include "gc/shared/gcCause.hpp"
#include "gc/shared/gcId.hpp"
#include "gc/shared/threadLocalAllocBuffer.inline.hpp"
#include "memory/resourceArea.hpp"
#include "memory/universe.hpp"
#include "oops/instanceKlass.hpp"
#include "oops/oop.inline.hpp"
#include "prims/jvmtiExport.hpp"
#include "runtime/mutexLocker.hpp"
#include "runtime/os.inline.hpp"
#include "runtime/safepoint.hpp"
#include "runtime/thread.hpp"
#include "runtime/threadSMR.hpp"

volatile bool AntTracks::_recording = false;
bool AntTracks::_gc_active = false;
AntTracksCallbacks AntTracks::_callbacks;
AntTracksEvents* AntTracks::_events = NULL;
AntTracksBatchBase* AntTracksBatchBase::_all = NULL;
uint AntTracksBatchBase::_count = 0;

static os::PlatformMutex* filler_lock = NULL;  // made with the first batch, before any collection

void AntTracks::report_tlab(Thread* thread, HeapWord* start, HeapWord* top) {
  AntTracksThreadState* const state = thread->as_Java_thread()->anttracks();
  HeapWord* const from = state->_reported != NULL ? state->_reported : start;
  state->_reported = top;
  if (from < top) {
    _callbacks.tlab(_callbacks.context, thread, &state->_agent_slot, (uint64_t)from, (uint64_t)top,
                    SafepointSynchronize::is_at_safepoint());
  }
}

void AntTracks::tlab_retired(Thread* thread, HeapWord* start, HeapWord* top) {
  if (!recording()) return;
  report_tlab(thread, start, top);
  thread->as_Java_thread()->anttracks()->_reported = NULL;
}

bool AntTracks::in_stretches() {
  return recording() && _callbacks.stretch_bytes != 0 && !JvmtiExport::should_post_sampled_object_alloc();
}

void AntTracks::limit_tlab(Thread* thread) {
  ThreadLocalAllocBuffer& tlab = thread->tlab();
  if (in_stretches() && tlab.end() != NULL) tlab.limit_to(_callbacks.stretch_bytes / HeapWordSize);
}

// NULL: the TLAB has no room for the object, up to its real end, which it has again.
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
  if (!recording()) return;
  limit_tlab(thread);
  AntTracksThreadState* const state = thread->as_Java_thread()->anttracks();
  _callbacks.object(_callbacks.context, thread, &state->_agent_slot, cast_from_oop<uint64_t>(obj));
}

void AntTracks::thread_exit(JavaThread* thread) {
  AntTracksThreadState* const state = thread->anttracks();
  if (recording() && state->_agent_slot != NULL) {
    _callbacks.thread_exit(_callbacks.context, thread, &state->_agent_slot);
  }
}

void AntTracks::report_gc(bool begin, uint32_t kind) {
  ResourceMark rm;
  AntTracksSpaces spaces;
  AntTracksHeap::describe(&spaces, begin ? AntTracksHeap::at_begin : AntTracksHeap::at_end, kind);
  AntTracksGC gc;
  gc.size = sizeof(gc);
  gc.id = GCId::current();
  gc.kind = kind;
  gc.nspaces = spaces.count();
  gc.cause = kind == ANTTRACKS_GC_REMARK ? "Concurrent Mark" : GCCause::to_string(Universe::heap()->gc_cause());
  gc.spaces = spaces.data();
  (begin ? _callbacks.gc_begin : _callbacks.gc_end)(_callbacks.context, &gc);
}

void AntTracks::gc_begin(uint32_t kind) {
  if (kind == ANTTRACKS_GC_FULL && UseSerialGC) AntTracksForwarding::initialize(AntTracksHeap::reserved().start());
  if (!recording()) return;
  report_gc(true, kind);
  _gc_active = true;
}

void AntTracks::gc_end(uint32_t kind) {
  if (!recording()) return;
  for (AntTracksBatchBase* b = AntTracksBatchBase::_all; b != NULL; b = b->_next) {
    b->flush();
  }
  _gc_active = false;
  report_gc(false, kind);
}

void AntTracks::report_tlabs() {
  if (!recording()) return;
  for (JavaThreadIteratorWithHandle jtiwh; JavaThread* thread = jtiwh.next(); ) {
    ThreadLocalAllocBuffer& tlab = thread->tlab();
    if (tlab.end() != NULL) report_tlab(thread, tlab.start(), tlab.top());
  }
}

// Fillers outside of collections end TLABs, or lie in eden: they die with it and are not reported. Nor are G1's:
// where a heap dump could find them nothing marks them as alive.
void AntTracks::filler(HeapWord* start, size_t words) {
  if (AntTracksMark::has_sites()) cast_to_oop(start)->set_mark(AntTracksMark::filler_mark());
  if (!_gc_active || UseG1GC) return;
  AntTracksFiller event;
  event.address = (uint64_t)start;
  event.words = words;
  filler_lock->lock();
  _callbacks.fillers(_callbacks.context, AntTracksBatchBase::count(), &event, 1);
  filler_lock->unlock();
}

void AntTracks::class_loader_unloading(ClassLoaderData* cld) {
  if (!recording()) return;
  for (Klass* k = cld->klasses(); k != NULL; k = k->next_link()) {
    _callbacks.class_unload(_callbacks.context, (uint64_t)k);
  }
}

AntTracksBatchBase::AntTracksBatchBase() : _next(_all), _worker(_count++), _length(0) {
  if (filler_lock == NULL) filler_lock = new os::PlatformMutex();
  _all = this;
}

template <class E, void (*AntTracksCallbacks::*callback)(void*, uint32_t, const E*, uint32_t)>
void AntTracksBatch<E, callback>::flush() {
  if (_length == 0) return;
  const AntTracksCallbacks& callbacks = AntTracks::callbacks();
  (callbacks.*callback)(callbacks.context, _worker, _events, _length);
  _length = 0;
}

template class AntTracksBatch<AntTracksMove, &AntTracksCallbacks::moves>;
template class AntTracksBatch<AntTracksSlide, &AntTracksCallbacks::slides>;

void AntTracksSlides::slid(HeapWord* from, HeapWord* to) {
  if (AntTracks::recording()) add(from, to, cast_to_oop(from)->size());
}

void AntTracksSlides::slid_unless_filler(oop from, HeapWord* to, size_t words) {
  if (AntTracksMark::site_of(from->mark()) == ANTTRACKS_SITE_FILLER) return;
  add(cast_from_oop<HeapWord*>(from), to, words);
}

void AntTracksSlides::stayed(HeapWord* at) {
  if (!AntTracks::recording()) return;
  const oop obj = cast_to_oop(at);
  if (AntTracksMark::site_of(obj->mark()) == ANTTRACKS_SITE_FILLER && obj->mark().is_neutral()) return;
  add(at, at, obj->size());
}
