/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksForwarding.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "gc/shared/collectedHeap.hpp"
#include "memory/universe.hpp"
#include "oops/oop.inline.hpp"

uintptr_t AntTracksForwarding::_before = 0;
uintptr_t AntTracksForwarding::_site_bits = 0;
int AntTracksForwarding::_left = 0;
int AntTracksForwarding::_right = 0;
uintptr_t AntTracksForwarding::_flag = 0;

void AntTracksForwarding::initialize(HeapWord* heap_start) {
  _before = (uintptr_t)heap_start - HeapWordSize;
  if (!AntTracksMark::has_sites() || ANTTRACKS_COMPACT_HEADERS) return;
  if (AntTracksMark::in_hash()) {
    _left = BitsPerWord - markWord::hash_bits - markWord::hash_shift;
    _right = LogHeapWordSize - markWord::lock_bits;
    _flag = AntTracksHash::holds_site;
  }
  _site_bits = ~(((uintptr_t)1 << (AntTracksMark::in_hash() ? BitsPerWord - markWord::hash_bits : AntTracksMark::site_shift)) - 1);
}

bool AntTracksForwarding::is_filler(oop obj, markWord mark) {
  if (keeps_sites()) return AntTracksMark::site_of(neutral(mark)) == ANTTRACKS_SITE_FILLER;
  return ANTTRACKS_IS_FILLER_CLASS(obj->klass());
}
