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
#include "anttracks/antTracksVersion.hpp"

class G1CMBitMap;
class ANTTRACKS_REGION;

// What G1's hooks call.
class AntTracksG1 : AllStatic {
  static uint32_t _young_kind;  // of the young collection that runs: ANTTRACKS_GC_YOUNG or ANTTRACKS_GC_MIXED

 public:
  static void young_begin();
  static void young_end();
  static void remark_begin();
  static void remark_end();
  // In a full collection, by the thread that compacts. to is NULL if the object stays where it is.
  static inline void slid(oop obj, HeapWord* to, size_t words);
  // Reports the marked objects of a region that is not compacted.
  static void stayed_in(ANTTRACKS_REGION* region, G1CMBitMap* marked);

  // In a young collection: the worker has found no room for the object, which stays where it is.
  static void stayed(oop obj, markWord mark, size_t words, uint worker);

  // The number of the current thread among the workers.
  static uint worker();
};

inline void AntTracksG1::slid(oop obj, HeapWord* to, size_t words) {
  if (AntTracksRecording::active()) AntTracks::slid(obj, to != NULL ? to : cast_from_oop<HeapWord*>(obj), words, worker());
}

#endif // SHARE_ANTTRACKS_ANTTRACKSG1_HPP
