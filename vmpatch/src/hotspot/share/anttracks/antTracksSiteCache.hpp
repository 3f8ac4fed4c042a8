/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSSITECACHE_HPP
#define SHARE_ANTTRACKS_ANTTRACKSSITECACHE_HPP

#include "anttracks/anttracks_abi.h"
#include "memory/allStatic.hpp"
#include "runtime/atomic.hpp"
#include "utilities/globalDefinitions.hpp"

// From code address (bcp or pc) to site. Read and written without a lock: each entry is one word.
//
// The interpreter's fast path reads the entries itself. The entry of a code address
// is at address & index_mask. It holds the site in its upper 25 bits and
// address >> index_bits in the lower 39; 0 is empty.
class AntTracksSiteCache : AllStatic {
 public:
  enum { index_bits = 16, index_mask = (1 << index_bits) - 1 };

  static volatile uint64_t* entries() { return _entries; }

  // 0: not known.
  static uint32_t get(address code) {
    const uint64_t word = Atomic::load(entry_of(code));
    const uint64_t tag = word & (((uint64_t)1 << ANTTRACKS_SITE_SHIFT) - 1);
    return tag == (uint64_t)code >> index_bits ? (uint32_t)(word >> ANTTRACKS_SITE_SHIFT) : 0;
  }
  static void put(address code, uint32_t site) {
    Atomic::store(entry_of(code), ((uint64_t)site << ANTTRACKS_SITE_SHIFT) | ((uint64_t)code >> index_bits));
  }
  // The code in [begin, end) is about to be freed.
  static void forget(address begin, address end);

 private:
  static volatile uint64_t _entries[1 << index_bits];

  static volatile uint64_t* entry_of(address code) { return &_entries[(uint64_t)code & index_mask]; }
};

#endif // SHARE_ANTTRACKS_ANTTRACKSSITECACHE_HPP
