/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSFORWARDING_INLINE_HPP
#define SHARE_ANTTRACKS_ANTTRACKSFORWARDING_INLINE_HPP

#include "anttracks/antTracksForwarding.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "oops/oop.inline.hpp"

inline void AntTracksForwarding::forward(oop obj, HeapWord* to) {
  obj->set_mark(markWord(site_bits(obj->mark()) | (((uintptr_t)to - _before) >> _right) | markWord::marked_value));
  assert(forwardee(obj) == cast_to_oop(to), "the distance has run into the site");
}

inline oop AntTracksForwarding::forwardee(oop obj) {
  markWord mark = obj->mark();
  if (ANTTRACKS_IS_BIASED(mark)) return NULL;
  if (_flag != 0 && !mark.is_marked()) return NULL;  // a neutral mark has its hash where a distance would be
  const uintptr_t distance = mark.clear_lock_bits().value() & ~_site_bits;
  return distance == 0 ? (oop)NULL : cast_to_oop(_before + (distance << _right));
}

// For assertions: of an object that does not move. In the schemes hash and ash it keeps its age, too.
inline markWord AntTracksForwarding::without_site(markWord mark) {
  if (_flag == 0) return markWord(mark.value() & ~_site_bits);
  return site_bits(mark) != 0 ? markWord::prototype() : mark.is_neutral() ? mark.set_age(0) : mark;
}

inline markWord AntTracksForwarding::marked(oop obj, markWord mark) {
  return keeps_sites() ? marked(mark) : ANTTRACKS_PROTOTYPE(obj).set_marked();
}

inline void AntTracksForwarding::unmark(oop obj) {
  if (keeps_sites()) {
    obj->set_mark(neutral(obj->mark()));
  } else {
    obj->init_mark();
  }
}

#endif // SHARE_ANTTRACKS_ANTTRACKSFORWARDING_INLINE_HPP
