/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSG1_HPP
#define SHARE_ANTTRACKS_ANTTRACKSG1_HPP

#include "anttracks/antTracks.hpp"
#include "anttracks/antTracksHeap.hpp"

class G1CMBitMap;
class HeapRegion;

// What is G1's own: which regions a pause collects is known when it ends. Optional regions of a mixed pause and
// humongous objects may be collected in it, old regions in which marking found nothing alive go in its remark pause.
class AntTracksG1 : AllStatic {
  static uint32_t _kind;   // of the pause, ANTTRACKS_GC_*
  static bool* _optional;  // by region: told so when the pause began

  static bool may_be_collected(HeapRegion* region, uint32_t kind);

  class Describe;

 public:
  static void young_begin();
  static void young_end();
  static void full_begin();
  static void full_end();
  static void remark_begin();
  static void remark_end();
  // In a full collection, by the thread that compacts. to: NULL: it stays.
  static inline void slid(oop obj, HeapWord* to, size_t words);
  // The marked objects of a region that is not compacted.
  static void stayed_in(HeapRegion* region, G1CMBitMap* marked);

  // AntTracksVM::next_objects. HotSpot itself must tell what is an object: others may have lost their class.
  static uint64_t next_objects(uint64_t* from, uint64_t top);

  static void describe(AntTracksSpaces* out, AntTracksHeap::Moment moment, uint32_t kind);
  static uint worker();
};

inline void AntTracksG1::slid(oop obj, HeapWord* to, size_t words) {
  if (AntTracks::recording()) AntTracks::slid(obj, to != NULL ? to : cast_from_oop<HeapWord*>(obj), words, worker());
}

#endif // SHARE_ANTTRACKS_ANTTRACKSG1_HPP
