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
//     [ hash with a site          | the same in words            | 1 1 ]    (from bit 33: schemes hash and ash)
//
// In 25 Parallel's full collection is one, too; the site begins at bit 42, and FullGCForwarding hands over to this class if
// there are sites. With compact headers there is no room for them beside the class: marks do not keep them, but are preserved.
class AntTracksForwarding : AllStatic {
  static uintptr_t _before;     // 8 bytes before the heap's first object: no distance is 0
  static uintptr_t _site_bits;  // of a mark that is marked; 0 without sites
  static int _left;             // how far they lie to the right in a neutral mark
  static int _right;            // what a distance in bytes is shifted by
  static uintptr_t _flag;       // set in neutral marks that have them; 0: in all

 public:
  static void initialize(HeapWord* heap_start);
  // Marks keep sites in the collection that runs, which is a full one of Serial or G1, in 25 also of Parallel.
  static bool keeps_sites() { return _site_bits != 0; }
  // The site, if it is in the mark itself. That of a locked object is not; its mark is restored afterwards.
  static uintptr_t site_bits(markWord mark) {
    if (mark.is_marked()) return mark.value() & _site_bits;
    return mark.is_neutral() && (mark.value() & _flag) == _flag ? (mark.value() << _left) & _site_bits : 0;
  }
  // A live object's mark while it waits for phase 2.
  static markWord marked(markWord mark) { return markWord(site_bits(mark) | markWord::marked_value); }
  // The same, but the stock VM's if marks do not keep sites. mark: the object's.
  static inline markWord marked(oop obj, markWord mark);
  // The neutral mark of an object that has been or will be forwarded: a new object's, with its site.
  static markWord neutral(markWord mark) {
    const uintptr_t site = site_bits(mark);
    return markWord((site >> _left) | (site != 0 ? _flag : 0) | markWord::unlocked_value);
  }
  static inline markWord without_site(markWord mark);
  // Of an object with this mark, which is marked.
  static bool is_filler(oop obj, markWord mark);
  static inline void forward(oop obj, HeapWord* to);
  // NULL: it stays where it is.
  static inline oop forwardee(oop obj);
  // The object has arrived, or stays: gives it a new object's mark, with its site.
  static inline void unmark(oop obj);
};

#endif // SHARE_ANTTRACKS_ANTTRACKSFORWARDING_HPP
