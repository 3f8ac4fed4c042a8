/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksG1.hpp"
#include "anttracks/antTracksG1Regions.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "gc/g1/g1CollectedHeap.inline.hpp"
#include "gc/g1/g1ConcurrentMarkBitMap.inline.hpp"
#include ANTTRACKS_REGION_INLINE_HPP
#include "oops/oop.inline.hpp"
#include ANTTRACKS_WORKER_HPP

uint32_t AntTracksG1::_young_kind = ANTTRACKS_GC_YOUNG;

// From 22 on pauses outside of mixed phases, too: old regions that could not be evacuated earlier.
static bool takes_old_regions() {
  return ANTTRACKS_G1_TAKES_OLD_REGIONS(G1CollectedHeap::heap());
}

void AntTracksG1::young_begin() {
  if (!AntTracksRecording::listened_to()) return;
  _young_kind = takes_old_regions() ? ANTTRACKS_GC_MIXED : ANTTRACKS_GC_YOUNG;
  AntTracks::gc_begin(_young_kind);
}

void AntTracksG1::young_end() {
  if (AntTracksRecording::listened_to()) AntTracks::gc_end(_young_kind);
}

void AntTracksG1::remark_begin() {
  AntTracks::report_tlabs();
  AntTracks::gc_begin(ANTTRACKS_GC_REMARK);
}

void AntTracksG1::remark_end() {
  AntTracks::gc_end(ANTTRACKS_GC_REMARK);
}

uint AntTracksG1::worker() {
  Thread* const thread = Thread::current();
  return thread->is_Worker_thread() ? ANTTRACKS_WORKER_ID(thread) : 0;
}

void AntTracksG1::stayed(oop obj, markWord mark, size_t words, uint worker) {
  if (!AntTracksRecording::listened_to()) return;
  AntTracksG1Regions::failed_at(obj);
  AntTracks::stayed(obj, mark, words, worker);
}

namespace {

class StayedClosure : public StackObj {
  const uint _worker;
 public:
  StayedClosure() : _worker(AntTracksG1::worker()) {}
  size_t apply(oop obj) {
    const size_t words = obj->size();
    AntTracks::slid(obj, cast_from_oop<HeapWord*>(obj), words, _worker);
    return words;
  }
};

}  // namespace

void AntTracksG1::stayed_in(ANTTRACKS_REGION* region, G1CMBitMap* marked) {
  if (!AntTracksRecording::active() || region->is_continues_humongous()) return;
  StayedClosure stayed;
  if (region->is_starts_humongous()) {
    stayed.apply(cast_to_oop(region->bottom()));
  } else {
    region->apply_to_marked_objects(marked, &stayed);
  }
}
