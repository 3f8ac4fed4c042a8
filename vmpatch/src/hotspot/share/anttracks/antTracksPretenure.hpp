/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSPRETENURE_HPP
#define SHARE_ANTTRACKS_ANTTRACKSPRETENURE_HPP

#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksSiteList.hpp"
#include "memory/allStatic.hpp"
#include "oops/markWord.hpp"

class Thread;

// Objects of listed sites are made in the old generation (Parallel and Serial). Their allocation takes the slow path
// in all tiers; HotSpot lets that return old objects, as it does for large ones: the cards of an object that compiled
// code fills without barriers are marked by CardTableBarrierSet::on_slowpath_allocation_exit.
//
// Or they are made as all others, and the first collection that meets them copies them to the old generation
// (-XX:+AntTracksPretenureByCopy; Parallel, Serial and G1).
class AntTracksPretenure : AllStatic {
  static HeapWord* allocate_old(Thread* thread, size_t words);

 public:
  // Whether a young collection must not keep the object with this mark young. In its workers.
  static bool promotes(markWord mark) {
    return AntTracksPretenureByCopy && mark.is_neutral() && AntTracksSiteList::has(AntTracksMark::site_of(mark));
  }
  // Memory for an object that the thread is about to make. NULL: its site is not in the list, or there is no room.
  // *outside becomes true if there is.
  static HeapWord* allocate(Thread* thread, size_t words, bool* outside) {
    HeapWord* const mem = AntTracksSiteList::at_allocation() ? allocate_old(thread, words) : NULL;
    if (mem != NULL) *outside = true;
    return mem;
  }
  // Whether compiled code that makes an object with this mark has to take the slow path.
  static bool is_old(intptr_t mark) {
    return AntTracksSiteList::at_allocation() && AntTracksSiteList::has(AntTracksMark::site_of(markWord((uintptr_t)mark)));
  }
};

#endif // SHARE_ANTTRACKS_ANTTRACKSPRETENURE_HPP
