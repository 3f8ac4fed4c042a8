/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSMARK_HPP
#define SHARE_ANTTRACKS_ANTTRACKSMARK_HPP

#include "anttracks/anttracks_abi.h"
#include "gc/shared/gc_globals.hpp"
#include "gc/shared/tlab_globals.hpp"
#include "memory/allStatic.hpp"
#include "oops/markWord.hpp"
#include "runtime/globals.hpp"
#include "utilities/globalDefinitions.hpp"

// The allocation site in an object's mark word:
//
//     63                39 38                                     0
//     [ site              | the stock VM's mark                    ]
class AntTracksMark : AllStatic {
  // The largest heap in which a distance fits below the site (antTracksForwarding.hpp).
  static const size_t max_forwarding_heap = ((size_t)1 << ANTTRACKS_SITE_SHIFT) - 64;

 public:
  // Whether objects carry their site: always, also without an agent, if the VM runs with supported flags. Otherwise
  // every mark is the stock VM's.
  static bool has_sites() {
    const bool forwarded = (UseG1GC || UseSerialGC) && MaxHeapSize <= max_forwarding_heap;
    return (UseParallelGC || forwarded) && !UseBiasedLocking && UseTLAB;
  }
  static uint32_t site_of(markWord mark) { return (uint32_t)(mark.value() >> ANTTRACKS_SITE_SHIFT); }
  // The mark of a new object.
  static markWord with_site(uint32_t site) {
    return markWord(((uintptr_t)site << ANTTRACKS_SITE_SHIFT) | markWord::prototype().value());
  }
  static bool is_filler(markWord mark) { return mark.is_neutral() && site_of(mark) == ANTTRACKS_SITE_FILLER; }
  static markWord filler_mark() { return has_sites() ? with_site(ANTTRACKS_SITE_FILLER) : markWord::prototype(); }
};

#endif // SHARE_ANTTRACKS_ANTTRACKSMARK_HPP
