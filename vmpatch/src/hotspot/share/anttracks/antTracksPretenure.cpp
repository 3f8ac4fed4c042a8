/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksPretenure.hpp"
#include "anttracks/antTracksSites.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "gc/parallel/parallelScavengeHeap.inline.hpp"
#include "gc/parallel/psOldGen.hpp"
#include "gc/serial/serialHeap.hpp"
#include "gc/serial/tenuredGeneration.inline.hpp"
#include "gc/shared/gcLocker.hpp"
#include "runtime/mutexLocker.hpp"
#include ANTTRACKS_THREAD_HPP

HeapWord* AntTracksPretenure::allocate_old(Thread* thread, size_t words) {
  if (!thread->is_Java_thread() || !AntTracksMark::has_sites()) return NULL;
  if (!AntTracksSiteList::has(AntTracksSites::of_next_object(ANTTRACKS_JAVA_THREAD(thread)))) return NULL;
  HeapWord* mem = NULL;
  if (UseParallelGC) {
    MutexLocker locked(Heap_lock);
    mem = ParallelScavengeHeap::heap()->old_gen()->allocate(words);
  } else if (UseSerialGC) {
    MutexLocker locked(Heap_lock);
    mem = ANTTRACKS_SERIAL_ALLOCATE_OLD(words);
  }
  if (mem == NULL) return NULL;
  thread->incr_allocated_bytes(words * HeapWordSize);
  ANTTRACKS_SAMPLE_OUTSIDE_TLAB(thread, words * HeapWordSize);
  return mem;
}
