/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSHASH_HPP
#define SHARE_ANTTRACKS_ANTTRACKSHASH_HPP

#include "anttracks/antTracksVersion.hpp"
#include "anttracks/anttracks_abi.h"
#include "memory/allStatic.hpp"
#include "runtime/globals.hpp"
#include "utilities/globalDefinitions.hpp"

// The allocation site in the identity hash of a mark word (-XX:AntTracksSites=hash and ash). The stock VM does not use
// the bit below the hash. There it says that the hash holds a site: the hash of an archived object holds none.
//
//     63     39 38                               8   7   6       0
//     [ 0      | identity hash                    | 1 | age, lock ]
//     hash:      [ site, 16 bits | random, 15     ]
//     ash:       [ 0 | site                       ]     no hash yet
//                [ 1 | id, 4 to 24 | random, 26 to 6 ]  hashed: see AntTracksIds
//
// In 25 the hash begins at bit 11: all of it, and what lies in it, is 3 bits further to the left; bit 7 is not. With compact
// headers (scheme ash) the class lies above it.
//
// Marks are numbers here, as markWord itself uses this. They must be neutral.
class AntTracksHash : AllStatic {
  friend class AntTracksMark;

  // What is looked at in ash and hash-eliminate; otherwise 0, and no mark is unfilled.
  static uintptr_t _unfilled_mask;

 public:
  static const int shift = ANTTRACKS_HASH_SHIFT;
  static const int moved = shift - 8;  // from where the ABI's constants have it
  static const int random_bits = 15;  // of scheme hash
  static const uintptr_t holds_site = ANTTRACKS_SITE_IN_HASH;
  static const uintptr_t filled = ANTTRACKS_ASH_FILLED << moved;
  static const uint32_t filled_hash = (uint32_t)1 << 30;  // the bit filled, in the hash itself

  // The random part of scheme hash is a product of the address: its 15 upper bits. It needs no state, three
  // instructions, and spreads neighbours evenly. An address that is used again has the same random part again.
  static const uint32_t multiplier = 0x9E3779B1;
  static const int random_right = 32 - random_bits - shift;
  static const uint32_t random_mask = ((1 << random_bits) - 1) << shift;

  static bool has_site(uintptr_t mark) { return (mark & holds_site) != 0; }
  // Of an unlocked mark: a full collection has to keep it beside the object. It need not keep a site, which stays in the mark
  // (AntTracksForwarding), but with compact headers there is no room for that.
  static bool must_be_preserved(uintptr_t mark, bool hashed) { return has_site(mark) ? ANTTRACKS_COMPACT_HEADERS : hashed; }
  // The object has a site and, as it was never asked for one, no hash. Only with ash and hash-eliminate.
  static bool is_unfilled(uintptr_t mark) { return (mark & _unfilled_mask) == holds_site; }
  // In its place in the mark.
  static uintptr_t random_of(const void* obj) {
    return (((uint32_t)(uintptr_t)obj * multiplier) >> random_right) & random_mask;
  }
};

#endif // SHARE_ANTTRACKS_ANTTRACKSHASH_HPP
