/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSIDS_HPP
#define SHARE_ANTTRACKS_ANTTRACKSIDS_HPP

#include "memory/allStatic.hpp"
#include "utilities/globalDefinitions.hpp"

// The ids of scheme ash: what stands for a site in the hash code of an object (Odaira et al., VEE 2010).
//
// A field of 30 bits is an id and a random part. No id is a prefix of another. A site whose objects are hashed for the first
// time gets an id of 12 bits, which leaves 18 random ones; from the 1,025th site on it has 16 bits, from the 16,385th on 20,
// from the 262,145th on 24. When a random part comes out as 0, which it does more often the more hash codes of the site
// there are, the site gets an id that is 4 bits shorter, down to 4 bits. Its older ids remain its own. So few sites with many
// hash codes, and many with few, share the field.
//
// The paper begins with long ids. Then two of a few dozen objects of a place, hashed one after the other, often have the same
// hash code, and there are programs that fail with that: javac does before JDK 24 (JDK-8288590). The numbers that random parts
// are taken from differ as long as they can (antTracksMark.cpp): with 18 bits those of 121,000 objects that a thread hashes.
//
// One day all of the field may be given away: that takes some 50 million hash codes of busy sites, 14 million where a quarter
// of a million sites have some, or 4 million sites with one. From then on a site with 14 random bits or more keeps its id, and
// its hash codes repeat; others go on as ANTTRACKS_SITE_OVERFLOW, which has an id of 4 bits from the beginning.
//
// Threads: any, also at a safepoint. site_of takes no lock; draw takes one when a site gets another id.
class AntTracksIds : AllStatic {
 public:
  // Before the first object is made.
  static void initialize();
  // A new field for an object of the site: never 0 in its random part, which is the upper bits of value. Of a site without
  // room it is one of ANTTRACKS_SITE_OVERFLOW.
  static uint32_t draw(uint32_t site, uint32_t value);
  // ANTTRACKS_SITE_NONE: no site has had such an id.
  static uint32_t site_of(uint32_t field);
};

#endif // SHARE_ANTTRACKS_ANTTRACKSIDS_HPP
