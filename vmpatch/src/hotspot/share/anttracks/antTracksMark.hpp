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

#include "anttracks/antTracksHash.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "anttracks/anttracks_abi.h"
#include "gc/shared/gc_globals.hpp"
#include "gc/shared/tlab_globals.hpp"
#include "memory/allStatic.hpp"
#include "oops/markWord.hpp"
#include "runtime/globals.hpp"
#include "runtime/globals_extension.hpp"
#include "utilities/globalDefinitions.hpp"
#include "utilities/macros.hpp"
#if INCLUDE_JVMCI
#include "jvmci/jvmci_globals.hpp"
#endif

// The allocation site in an object's mark word: the one place that makes and reads it, whichever the scheme
// (-XX:AntTracksSites). In scheme mark:
//
//     63                39 38                                     0
//     [ site              | the stock VM's mark                    ]    (in 25: from bit 42 on)
//
// In the schemes hash and ash it lies in the identity hash: see AntTracksHash. Marks given must be neutral.
class AntTracksMark : AllStatic {
  static uint32_t _scheme;             // ANTTRACKS_SITES_*
  // What the runtime reads for each object that it makes, side by side.
  struct NewMarks {
    uintptr_t _bits;       // of all
    int       _shift;      // of the site
    bool      _random;
    bool      _eliminates;
  };
  static NewMarks _new;
  static size_t   _max_forwarding_heap;  // the largest heap in which a distance fits beside what AntTracksForwarding keeps

  static uint32_t site_in_hash(markWord mark);
  static intptr_t draw_hash(markWord mark, intptr_t value);

 public:
  // Scheme mark.
  static const int site_shift = ANTTRACKS_SITE_SHIFT + AntTracksHash::moved;
  static const int site_bits = ANTTRACKS_SITE_BITS - AntTracksHash::moved;

  // Looks at the flag, before there is a heap. JNI_EINVAL: it is wrong, and was said to be.
  static jint initialize();

  static uint32_t scheme() { return _scheme; }
  static bool in_hash() { return _scheme >= ANTTRACKS_SITES_HASH; }
  // Code that makes an object has to add AntTracksHash::random_of its address to the mark.
  static bool has_random() { return _new._random; }
  // hash-eliminate: a random part of 0 means that the object has no hash yet. See AntTracksOwnHash.
  static bool eliminates() { return _new._eliminates; }
  static int shift() { return _new._shift; }
  // Of AntTracksHash::is_unfilled; 0: no mark is unfilled.
  static uintptr_t unfilled_mask() { return AntTracksHash::_unfilled_mask; }
  static uint32_t max_site();

  // Whether compilers may run that are not in the VM, such as Graal: they take all bits from the hash on for the hash.
  static bool lets_compilers_in() { return JVMCI_ONLY(EnableJVMCI) NOT_JVMCI(false); }
  // Whether objects carry their site: always, also without an agent, if the VM runs with supported flags. Otherwise
  // every mark is the stock VM's.
  static bool has_sites() {
    const bool fits = ANTTRACKS_COMPACT_HEADERS ? _scheme == ANTTRACKS_SITES_ASH : ANTTRACKS_MOST_HEAP <= _max_forwarding_heap;
    const bool forwarded = (UseG1GC || UseSerialGC || UseParallelGC) && fits;
    return ((UseParallelGC && !ANTTRACKS_PARALLEL_FORWARDS) || forwarded) && !ANTTRACKS_BIASED_LOCKING &&
           !lets_compilers_in() && UseTLAB && _scheme != ANTTRACKS_SITES_OFF;
  }
  static uint32_t site_of(markWord mark) {
    return in_hash() ? site_in_hash(mark) : (uint32_t)(mark.value() >> site_shift);
  }
  // The mark of a new object, without its random part, and without its class, which compact headers have there.
  static markWord with_site(uint32_t site) {
    return markWord(((uintptr_t)site << _new._shift) | _new._bits);
  }
  // Beside the mark that C1 stores: it gets no random part (hash-eliminate).
  static const intptr_t no_random = min_intx;
  // The mark of a new object at this address, without its class. eliminated: without a random part.
  static markWord new_mark(uint32_t site, const void* obj, bool eliminated) {
    const bool random = has_random() && !eliminated;
    return random ? markWord(with_site(site).value() | AntTracksHash::random_of(obj)) : with_site(site);
  }
  // The hash code of an object that has none yet. value: the one that the stock VM would give it.
  static intptr_t new_hash(markWord mark, intptr_t value) {
    return AntTracksHash::is_unfilled(mark.value()) ? draw_hash(mark, value) : value;
  }
  static bool is_filler(markWord mark) { return mark.is_neutral() && site_of(mark) == ANTTRACKS_SITE_FILLER; }
  // Without its class.
  static markWord filler_mark() { return has_sites() ? with_site(ANTTRACKS_SITE_FILLER) : markWord::prototype(); }
};

#endif // SHARE_ANTTRACKS_ANTTRACKSMARK_HPP
