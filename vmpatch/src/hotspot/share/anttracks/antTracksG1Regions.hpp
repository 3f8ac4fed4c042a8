/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSG1REGIONS_HPP
#define SHARE_ANTTRACKS_ANTTRACKSG1REGIONS_HPP

#include "anttracks/antTracksSpaces.hpp"
#include "memory/allStatic.hpp"

class HeapRegion;

// G1's regions as spaces. Which of them a pause collects is known only when it ends: optional regions of a mixed pause
// and humongous objects may be collected in it, and old regions in which marking found nothing alive go in its remark pause.
class AntTracksG1Regions : AllStatic {
  static bool* _optional;  // by region: what the agent was told when the pause began

  static bool may_be_collected(HeapRegion* region, uint32_t gc_kind);

  class Describe;

 public:
  static void describe(AntTracksSpaces* out, AntTracksSpaces::Moment moment, uint32_t gc_kind);
  // AntTracksVM::next_objects. HotSpot itself must tell what is an object: others may have lost their class.
  static uint64_t next_objects(uint64_t* from, uint64_t top);
};

#endif // SHARE_ANTTRACKS_ANTTRACKSG1REGIONS_HPP
