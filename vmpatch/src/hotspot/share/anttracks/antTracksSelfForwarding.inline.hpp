/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSSELFFORWARDING_INLINE_HPP
#define SHARE_ANTTRACKS_ANTTRACKSSELFFORWARDING_INLINE_HPP

#include "anttracks/antTracksMark.hpp"
#include "memory/allStatic.hpp"
#include "oops/oop.hpp"

// Forwarding in a copying collection of Serial or G1, which forwards an object to itself when there is no room to copy
// it to. A mark that is overwritten by that must be preserved elsewhere, just when memory is short; and almost every
// mark has a site. So an unlocked object keeps its mark, except that the lowest bits are all set: 111, which a
// pointer's mark never has. Not so in Parallel, which preserves all marks; nor in 25, where a bit of the mark does this.
class AntTracksSelfForwarding : AllStatic {
  static const uintptr_t bits = ((uintptr_t)1 << markWord::age_shift) - 1;
  static bool is_self_forwarded(markWord mark) { return (mark.value() & bits) == bits; }

 public:
  // The mark that forwards obj to to. old: the object's mark until now.
  static markWord forwarding_mark(const oopDesc* obj, oop to, markWord old) {
    const bool keeps = cast_from_oop<const oopDesc*>(to) == obj && old.is_neutral() && AntTracksMark::has_sites() && !UseParallelGC;
    return keeps ? markWord(old.value() | bits) : markWord::encode_pointer_as_mark(cast_from_oop<void*>(to));
  }
  // mark: of the object, which is forwarded.
  static oop forwardee(const oopDesc* obj, markWord mark) {
    return is_self_forwarded(mark) ? cast_to_oop((uintptr_t)obj) : cast_to_oop(mark.decode_pointer());
  }
  // The object's mark when the collection is over, if it has not been preserved.
  static markWord restored_mark(markWord mark) {
    return is_self_forwarded(mark) ? markWord((mark.value() & ~bits) | markWord::unlocked_value) : markWord::prototype();
  }
};

#endif // SHARE_ANTTRACKS_ANTTRACKSSELFFORWARDING_INLINE_HPP
