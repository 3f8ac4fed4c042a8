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
#include "anttracks/antTracksVersion.hpp"
#include "memory/allStatic.hpp"
#include "oops/oopsHierarchy.hpp"

class ANTTRACKS_REGION;

// G1's regions as spaces. Which of them a pause collects is known only when it ends: optional regions of a mixed pause
// and humongous objects may be collected in it, and old regions in which marking found nothing alive go in its remark pause.
class AntTracksG1Regions : AllStatic {
  // By region, since the pause began.
  static bool* _optional;  // what the agent was told then
  static bool* _failed;    // there was no room to copy one of its objects to; G1 of 21 has forgotten it when the pause ends

  static bool may_be_collected(ANTTRACKS_REGION* region, uint32_t gc_kind);

  class Describe;

 public:
  static void describe(AntTracksSpaces* out, AntTracksSpaces::Moment moment, uint32_t gc_kind);
  // An object stays in a young collection. By any worker.
  static void failed_at(oop obj);
  // AntTracksVM::next_objects. HotSpot itself must tell what is an object: others may have lost their class.
  static uint64_t next_objects(uint64_t* from, uint64_t top);
};

#endif // SHARE_ANTTRACKS_ANTTRACKSG1REGIONS_HPP
