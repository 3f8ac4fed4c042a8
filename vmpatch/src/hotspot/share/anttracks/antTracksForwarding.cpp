/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "precompiled.hpp"
#include "anttracks/antTracksForwarding.hpp"

uintptr_t AntTracksForwarding::_before = 0;
uintptr_t AntTracksForwarding::_site_bits = 0;

void AntTracksForwarding::initialize(HeapWord* heap_start) {
  _before = (uintptr_t)heap_start - HeapWordSize;
  _site_bits = AntTracksMark::has_sites() ? ~(((uintptr_t)1 << ANTTRACKS_SITE_SHIFT) - 1) : 0;
}
