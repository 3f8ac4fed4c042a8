/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKS_HPP
#define SHARE_ANTTRACKS_ANTTRACKS_HPP

#include "anttracks/anttracks_abi.h"
#include "memory/allocation.hpp"
#include "oops/markWord.hpp"
#include "oops/oopsHierarchy.hpp"
#include "utilities/globalDefinitions.hpp"

class AntTracksEvents;
class ClassLoaderData;
class JavaThread;
class Thread;

// What the hooks in HotSpot's files call. The hooks are one line each; everything
// that they do is here (events), in antTracksSites (allocation sites) and in
// antTracksInterface (the table that the agent gets).
//
// Two things are independent of each other:
//  - AntTracksMark::has_sites(): every object carries its allocation site in the mark word, always,
//    also without an agent, when the VM runs with a supported set of flags.
//  - recording(): an agent has started; events are reported to its callbacks.
//    Changes only at a safepoint.

class AntTracks : AllStatic {
  friend class AntTracksInterface;
  friend class VM_AntTracks;

  static volatile bool _recording;
  static bool _gc_active;
  static AntTracksCallbacks _callbacks;
  static AntTracksEvents* _events;  // by worker, of collectors whose workers do not hold them

  static bool in_stretches();
  static void report_tlab(Thread* thread, HeapWord* start, HeapWord* top);
  static void report_gc(bool begin, uint32_t kind);

 public:
  static bool recording() { return _recording; }
  static const AntTracksCallbacks& callbacks() { return _callbacks; }

  // Allocation. The agent gets a TLAB in stretches, each while it is still in the processor's cache: the
  // TLAB's end is lowered so that the slow path is taken after each (as HotSpot does for sampled allocations,
  // which have precedence).
  static HeapWord* allocate_in_next_stretch(Thread* thread, size_t words);
  static void limit_tlab(Thread* thread);
  static void tlab_retired(Thread* thread, HeapWord* start, HeapWord* top);
  static void allocated_outside_tlab(Thread* thread, oop obj);
  static void thread_exit(JavaThread* thread);

  // Collections. kind: ANTTRACKS_GC_*.
  static void gc_begin(uint32_t kind);
  static void gc_end(uint32_t kind);
  // At a safepoint: what TLABs hold so far.
  static void report_tlabs();
  static void filler(HeapWord* start, size_t words);
  static void class_loader_unloading(ClassLoaderData* cld);

  // For Serial, and G1's workers.
  static inline void copied(oop from, oop to, size_t words, bool promoted, uint worker = 0);
  static inline void slid(oop from, HeapWord* to, size_t words, uint worker = 0);
  static inline void stayed(oop obj, size_t words, uint worker = 0);
};

// A batch of events of one GC worker, handed to the agent when full and at the
// end of the collection. Belongs to the worker's manager.
class AntTracksBatchBase {
  friend class AntTracks;
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
  // The worker has copied from to to (and won the race for it).
  void copied(oop from, oop to, size_t words, bool promoted) {
    if (AntTracks::recording()) add(from, to, words, promoted);
  }
 private:
  void add(oop from, oop to, size_t words, bool promoted) {
    AntTracksMove* const m = next();
    m->from = cast_from_oop<uint64_t>(from);
    m->to = cast_from_oop<uint64_t>(to) | (promoted ? 1 : 0);
    m->words = words;
  }
};

class AntTracksSlides : public AntTracksBatch<AntTracksSlide, &AntTracksCallbacks::slides> {
 public:
  // The worker moves a live object, or leaves it where it is (from == to). The
  // object's header must still be readable at from.
  void slid(HeapWord* from, HeapWord* to, size_t words) {
    if (AntTracks::recording()) add(from, to, words);
  }
  void slid(HeapWord* from, HeapWord* to);
  // Unlike slid they can meet fillers that this collection has made, which it treats as live.
  void stayed(HeapWord* at);
  void slid_unless_filler(oop from, HeapWord* to, size_t words);
 private:
  void add(HeapWord* from, HeapWord* to, size_t words) {
    AntTracksSlide* const s = next();
    s->from = (uint64_t)from;
    s->to = (uint64_t)to;
    s->words = words;
  }
};

// Of one GC worker. Made when an agent asks for the interface.
class AntTracksEvents : public CHeapObj<mtGC> {
 public:
  AntTracksMoves  _moves;
  AntTracksSlides _slides;
};

inline void AntTracks::copied(oop from, oop to, size_t words, bool promoted, uint worker) {
  if (recording()) _events[worker]._moves.copied(from, to, words, promoted);
}

inline void AntTracks::stayed(oop obj, size_t words, uint worker) {
  HeapWord* const at = cast_from_oop<HeapWord*>(obj);
  if (recording()) _events[worker]._slides.slid(at, at, words);
}

inline void AntTracks::slid(oop from, HeapWord* to, size_t words, uint worker) {
  if (recording()) _events[worker]._slides.slid_unless_filler(from, to, words);
}

#endif // SHARE_ANTTRACKS_ANTTRACKS_HPP
