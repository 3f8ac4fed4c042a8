/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSBATCH_HPP
#define SHARE_ANTTRACKS_ANTTRACKSBATCH_HPP

#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksRecording.hpp"
#include "anttracks/anttracks_abi.h"
#include "memory/allStatic.hpp"
#include "memory/allocation.hpp"
#include "oops/oopsHierarchy.hpp"
#include "utilities/globalDefinitions.hpp"

// A batch of events of one GC worker, handed to the agent when full and at the
// end of the collection. Belongs to the worker's manager, or to AntTracksWorker.
class AntTracksBatchBase {
  static AntTracksBatchBase* _all;
  static uint _count;
  AntTracksBatchBase* const _next;
 protected:
  const uint _worker;
  uint _length;
  AntTracksBatchBase();
  virtual void flush() = 0;
 public:
  static uint count() { return _count; }
  static void flush_all();
};

template <class E, void (*AntTracksCallbacks::*callback)(void*, uint32_t, const E*, uint32_t)>
class AntTracksBatch : public AntTracksBatchBase {
  enum { capacity = 256 };
  E _events[capacity];
  virtual void flush();
 protected:
  E* next() {
    if (_length == capacity) flush();
    return &_events[_length++];
  }
};

class AntTracksMoves : public AntTracksBatch<AntTracksMove, &AntTracksCallbacks::moves> {
 public:
  // The generation that the copy is in, as bit 0 of AntTracksMove::to.
  enum Generation { to_young = 0, to_old = 1 };

  // The worker has copied from to to (and won the race for it). Not a filler: another agent may have met it in a walk over
  // the heap, so that it lives; no trace has it.
  void copied(oop from, oop to, size_t words, Generation generation) {
    if (!AntTracksRecording::active()) return;
    const markWord mark(*cast_from_oop<uintptr_t*>(to));
    if (!AntTracksMark::is_filler(mark)) add(from, to, words, generation);
  }
 private:
  void add(oop from, oop to, size_t words, Generation generation) {
    AntTracksMove* const m = next();
    m->from = cast_from_oop<uint64_t>(from);
    m->to = cast_from_oop<uint64_t>(to) | (uint64_t)generation;
    m->words = words;
  }
};

class AntTracksSlides : public AntTracksBatch<AntTracksSlide, &AntTracksCallbacks::slides> {
 public:
  // The worker moves a live object, or leaves it where it is (from == to). The object's header must still be readable at
  // from. Not a filler: this collection may have made it, and treat it as live, or see above.
  void slid(HeapWord* from, HeapWord* to);
  // In a full collection, which may have forwarded its mark.
  void slid(HeapWord* from, HeapWord* to, size_t words);
  void stayed(HeapWord* at) { slid(at, at); }
  // A young collection had no room for the object, whose mark may say so.
  void failed(HeapWord* at, size_t words) { add(at, at, words); }
 private:
  void add(HeapWord* from, HeapWord* to, size_t words) {
    AntTracksSlide* const s = next();
    s->from = (uint64_t)from;
    s->to = (uint64_t)to;
    s->words = words;
  }
};

// Fillers are reported one by one, as any worker makes them: they share a worker number, the one after the batches'.
class AntTracksFillers : AllStatic {
 public:
  static uint worker() { return AntTracksBatchBase::count(); }
  static void add(HeapWord* start, size_t words);
};

// The batches of one GC worker of Serial or G1. Made when an agent requests the interface.
class AntTracksWorker : public CHeapObj<mtGC> {
 public:
  AntTracksMoves  _moves;
  AntTracksSlides _slides;
};

#endif // SHARE_ANTTRACKS_ANTTRACKSBATCH_HPP
