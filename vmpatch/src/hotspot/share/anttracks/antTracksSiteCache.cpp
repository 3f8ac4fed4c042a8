/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksSiteCache.hpp"

volatile uint64_t AntTracksSiteCache::_entries[1 << AntTracksSiteCache::index_bits];

void AntTracksSiteCache::forget(address begin, address end) {
  for (address code = begin; code < end; code++) {
    if (get(code) != 0) Atomic::store(entry_of(code), (uint64_t)0);
  }
}
