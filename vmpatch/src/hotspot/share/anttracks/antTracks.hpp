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

#include "anttracks/antTracksBatch.hpp"
#include "anttracks/antTracksRecording.hpp"
#include "memory/allStatic.hpp"
#include "oops/oopsHierarchy.hpp"

class ClassLoaderData;
class JavaThread;
class Thread;

// The events: what hooks in HotSpot's files call when threads allocate, collectors move objects and classes are
// unloaded. They reach the agent while AntTracksRecording says so.
class AntTracks : AllStatic {
  static bool _gc_active;
  static AntTracksWorker* _workers;  // NULL with Parallel, whose managers hold the batches

  static bool in_stretches();
  static void report_tlab(Thread* thread, HeapWord* start, HeapWord* top);

 public:
  // Before the first start.
  static void make_workers();
  // At a safepoint. -1: already started, or not started.
  static int32_t start(const AntTracksCallbacks& callbacks);
  static int32_t stop();

  // Allocation.
  static void tlab_retired(Thread* thread, HeapWord* start, HeapWord* top);
  static void allocated_outside_tlab(Thread* thread, oop obj);
  static void thread_exit(JavaThread* thread);
  // The agent gets a TLAB in stretches, each while it is still in the processor's cache: the TLAB's end is lowered so
  // that the slow path is taken after each, and for each object whose stack is wanted (as HotSpot does for sampled
  // allocations, which have precedence).
  static void limit_tlab(Thread* thread);
  // NULL: the TLAB has no room for the object. Its end is the real one again.
  static HeapWord* allocate_in_next_stretch(Thread* thread, size_t words);

  // Collections. kind: ANTTRACKS_GC_*.
  static void gc_begin(uint32_t kind);
  static void gc_end(uint32_t kind);
  // At a safepoint: reports what TLABs hold so far.
  static void report_tlabs();
  // Gives a new filler its site, and reports it if it was made by a collection.
  static void filler(HeapWord* start, size_t words);
  static void class_loader_unloading(ClassLoaderData* cld);

  // For Serial, and G1's workers.
  static void copied(oop from, oop to, markWord mark, size_t words, AntTracksMoves::Generation generation, uint worker = 0) {
    if (AntTracksRecording::active()) _workers[worker]._moves.copied(from, to, mark, words, generation);
  }
  static void slid(oop from, HeapWord* to, size_t words, uint worker = 0) {
    if (AntTracksRecording::active()) _workers[worker]._slides.slid(cast_from_oop<HeapWord*>(from), to, words);
  }
  static void stayed(oop obj, markWord mark, size_t words, uint worker = 0) {
    if (AntTracksRecording::active()) _workers[worker]._slides.failed(obj, mark, words);
  }
};

#endif // SHARE_ANTTRACKS_ANTTRACKS_HPP
