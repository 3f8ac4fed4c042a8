/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSFORWARDING_HPP
#define SHARE_ANTTRACKS_ANTTRACKSFORWARDING_HPP

#include "anttracks/antTracksMark.hpp"
#include "memory/allStatic.hpp"
#include "oops/oop.hpp"

// Forwarding in a sliding collection (Serial's and G1's mark-compact) that leaves the site in the mark: the
// destination is kept as its distance from the heap's start, in the bits below the site. So no mark has to be
// preserved because of its site, and no object loses it. Without sites the distance has all bits.
//
//     63                39 38                                   2 1 0
//     [ site              | bytes from the heap's start, + 8     | 1 1 ]
class AntTracksForwarding : AllStatic {
  static uintptr_t _before;     // 8 bytes before the heap's first object: no distance is 0
  static uintptr_t _site_bits;  // of a mark; 0 without sites

 public:
  static void initialize(HeapWord* heap_start);
  // The site, if it is in the mark itself. That of a locked object is not; its mark is restored afterwards.
  static uintptr_t site_bits(markWord mark) {
    return mark.is_neutral() || mark.is_marked() ? mark.value() & _site_bits : 0;
  }
  // A live object's mark while it waits for phase 2.
  static markWord marked(markWord mark) { return markWord(site_bits(mark) | markWord::marked_value); }
  static markWord without_site(markWord mark) { return markWord(mark.value() & ~_site_bits); }
  static inline void forward(oop obj, HeapWord* to);
  // NULL: it stays where it is.
  static inline oop forwardee(oop obj);
  // The object has arrived, or stays: gives it a new object's mark, with its site.
  static inline void unmark(oop obj);
};

#endif // SHARE_ANTTRACKS_ANTTRACKSFORWARDING_HPP
