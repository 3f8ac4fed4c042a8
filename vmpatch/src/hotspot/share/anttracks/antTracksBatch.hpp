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

// Fillers share a worker number, the one after the batches': any worker makes them, and reports them one by one.
class AntTracksFillers : AllStatic {
 public:
  static uint worker() { return AntTracksBatchBase::count(); }
  // The collection that runs has made it.
  static void add(HeapWord* start, size_t words);
  // It lives, because another agent has met it in a walk over the heap and holds it, and lies at start when the collection
  // ends. Where it came from the trace may have no object (what fills the end of a TLAB is not reported), so it is no move
  // or slide, but reported at the end as if the collection had made it. Not with G1, whose fillers are in no trace.
  static void held(HeapWord* start, size_t words);
  static void report_held();
};

class AntTracksMoves : public AntTracksBatch<AntTracksMove, &AntTracksCallbacks::moves> {
 public:
  // The generation that the copy is in, as bit 0 of AntTracksMove::to.
  enum Generation { to_young = 0, to_old = 1 };

  // The worker has copied from to to (and won the race for it). mark: the one that it had before.
  void copied(oop from, oop to, markWord mark, size_t words, Generation generation) {
    if (!AntTracksRecording::active()) return;
    if (AntTracksMark::is_filler(mark)) {
      AntTracksFillers::held(cast_from_oop<HeapWord*>(to), words);
    } else {
      add(from, to, words, generation);
    }
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
  // In a full collection: the worker moves a live object, or leaves it where it is (from == to). The object's header must
  // still be readable at from; its mark may be forwarded. A filler may be one that this collection has made and treats as
  // live: it is reported twice.
  void slid(HeapWord* from, HeapWord* to, size_t words);
  void slid(HeapWord* from, HeapWord* to);
  void stayed(HeapWord* at) { slid(at, at); }
  // A young collection had no room for the object. mark: the one that it had before.
  void failed(oop obj, markWord mark, size_t words) {
    HeapWord* const at = cast_from_oop<HeapWord*>(obj);
    if (AntTracksRecording::active()) add_unless_filler(AntTracksMark::is_filler(mark), at, at, words);
  }
 private:
  void add_unless_filler(bool filler, HeapWord* from, HeapWord* to, size_t words) {
    if (filler) {
      AntTracksFillers::held(to, words);
    } else {
      add(from, to, words);
    }
  }
  void add(HeapWord* from, HeapWord* to, size_t words) {
    AntTracksSlide* const s = next();
    s->from = (uint64_t)from;
    s->to = (uint64_t)to;
    s->words = words;
  }
};

// The batches of one GC worker of Serial or G1. Made when an agent requests the interface.
class AntTracksWorker : public CHeapObj<mtGC> {
 public:
  AntTracksMoves  _moves;
  AntTracksSlides _slides;
};

#endif // SHARE_ANTTRACKS_ANTTRACKSBATCH_HPP
