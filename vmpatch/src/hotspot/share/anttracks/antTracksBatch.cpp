/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksBatch.hpp"
#include "anttracks/antTracksForwarding.hpp"
#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "gc/shared/gc_globals.hpp"
#include "oops/oop.inline.hpp"
#include "runtime/os.inline.hpp"
#include "utilities/growableArray.hpp"

AntTracksBatchBase* AntTracksBatchBase::_all = NULL;
uint AntTracksBatchBase::_count = 0;

static ANTTRACKS_MUTEX* filler_lock = NULL;  // made with the first batch, before any collection
static GrowableArrayCHeap<AntTracksFiller, mtGC>* held_fillers = NULL;  // of the collection that runs

AntTracksBatchBase::AntTracksBatchBase() : _next(_all), _worker(_count++), _length(0) {
  if (filler_lock == NULL) filler_lock = new ANTTRACKS_MUTEX();
  _all = this;
}

void AntTracksBatchBase::flush_all() {
  for (AntTracksBatchBase* b = _all; b != NULL; b = b->_next) {
    b->flush();
  }
}

template <class E, void (*AntTracksCallbacks::*callback)(void*, uint32_t, const E*, uint32_t)>
void AntTracksBatch<E, callback>::flush() {
  if (_length == 0) return;
  const AntTracksCallbacks& callbacks = AntTracksRecording::callbacks();
  (callbacks.*callback)(callbacks.context, _worker, _events, _length);
  _length = 0;
}

template class AntTracksBatch<AntTracksMove, &AntTracksCallbacks::moves>;
template class AntTracksBatch<AntTracksSlide, &AntTracksCallbacks::slides>;

void AntTracksSlides::slid(HeapWord* from, HeapWord* to, size_t words) {
  if (!AntTracksRecording::active()) return;
  const oop obj = cast_to_oop(from);
  const markWord mark = obj->mark();
  const bool filler = mark.is_marked() ? AntTracksForwarding::is_filler(obj, mark) : AntTracksMark::is_filler(mark);
  add_unless_filler(filler, from, to, words);
}

void AntTracksSlides::slid(HeapWord* from, HeapWord* to) {
  if (AntTracksRecording::active()) slid(from, to, cast_to_oop(from)->size());
}

static AntTracksFiller event_of(HeapWord* start, size_t words) {
  AntTracksFiller event;
  event.address = (uint64_t)start;
  event.words = words;
  return event;
}

void AntTracksFillers::add(HeapWord* start, size_t words) {
  const AntTracksFiller event = event_of(start, words);
  const AntTracksCallbacks& callbacks = AntTracksRecording::callbacks();
  filler_lock->lock();
  callbacks.fillers(callbacks.context, worker(), &event, 1);
  filler_lock->unlock();
}

void AntTracksFillers::held(HeapWord* start, size_t words) {
  if (UseG1GC) return;
  filler_lock->lock();
  if (held_fillers == NULL) held_fillers = new GrowableArrayCHeap<AntTracksFiller, mtGC>(16);
  held_fillers->append(event_of(start, words));
  filler_lock->unlock();
}

void AntTracksFillers::report_held() {
  if (held_fillers == NULL || held_fillers->is_empty()) return;
  const AntTracksCallbacks& callbacks = AntTracksRecording::callbacks();
  callbacks.fillers(callbacks.context, worker(), held_fillers->adr_at(0), held_fillers->length());
  held_fillers->clear();
}
