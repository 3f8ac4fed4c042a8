/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksIds.hpp"
#include "anttracks/antTracksMark.hpp"
#include "jni.h"
#include "jvm_io.h"
#include "utilities/debug.hpp"
#include "utilities/defaultStream.hpp"

STATIC_ASSERT(AntTracksHash::shift == markWord::hash_shift);
STATIC_ASSERT(AntTracksMark::site_shift == markWord::hash_shift + markWord::hash_bits);
STATIC_ASSERT(AntTracksMark::site_shift + AntTracksMark::site_bits == BitsPerWord);
STATIC_ASSERT(AntTracksHash::holds_site == (uintptr_t)1 << (markWord::age_shift + markWord::age_bits));
STATIC_ASSERT(AntTracksHash::filled == (uintptr_t)AntTracksHash::filled_hash << markWord::hash_shift);
STATIC_ASSERT(AntTracksHash::filled == (uintptr_t)1 << (markWord::hash_shift + markWord::hash_bits - 1));

uintptr_t AntTracksHash::_unfilled_mask = 0;
uint32_t AntTracksMark::_scheme = ANTTRACKS_SITES_MARK;
AntTracksMark::NewMarks AntTracksMark::_new = { markWord::unlocked_value, AntTracksMark::site_shift, false, false };
// A multiple of all alignments that the VM gives a heap: threads ask before MaxHeapSize is aligned. The last object
// begins two words before the end, which is a word more from _before of AntTracksForwarding.
size_t AntTracksMark::_max_forwarding_heap = (size_t)1 << AntTracksMark::site_shift;

jint AntTracksMark::initialize() {
  static const char* const names[] = { "off", "mark", "hash", "ash" };  // by ANTTRACKS_SITES_*
  const char* const given = AntTracksSites == NULL ? "" : AntTracksSites;  // NULL: an empty value
  uint32_t scheme = 0;
  _new._eliminates = strcmp(given, "hash-eliminate") == 0;
  const char* const name = _new._eliminates ? "hash" : given;
  while (scheme < ARRAY_SIZE(names) && strcmp(name, names[scheme]) != 0) scheme++;
  if (scheme == ARRAY_SIZE(names)) {
    jio_fprintf(defaultStream::error_stream(), "AntTracksSites must be mark, hash, hash-eliminate, ash or off, not '%s'\n",
                given);
    return JNI_EINVAL;
  }
  _scheme = scheme;
  if (!in_hash()) return JNI_OK;
  _new._bits |= AntTracksHash::holds_site;
  _new._random = scheme == ANTTRACKS_SITES_HASH;
  _new._shift = (_new._random ? ANTTRACKS_HASH_SITE_SHIFT : ANTTRACKS_ASH_SITE_SHIFT) + AntTracksHash::moved;
  const int distance_bits = 31;  // in words, beside the hash and two lock bits
  _max_forwarding_heap = ((size_t)1 << distance_bits) * HeapWordSize;
  if (_new._eliminates) AntTracksHash::_unfilled_mask = AntTracksHash::random_mask | AntTracksHash::holds_site;
  if (scheme == ANTTRACKS_SITES_ASH) {
    AntTracksHash::_unfilled_mask = AntTracksHash::filled | AntTracksHash::holds_site;
    AntTracksIds::initialize();
  }
  return JNI_OK;
}

uint32_t AntTracksMark::max_site() {
  const int bits = has_random() ? ANTTRACKS_HASH_SITE_BITS : in_hash() ? ANTTRACKS_SITE_BITS : site_bits;
  return ((uint32_t)1 << bits) - 1;
}

uint32_t AntTracksMark::site_in_hash(markWord mark) {
  if (!AntTracksHash::has_site(mark.value())) return ANTTRACKS_SITE_NONE;
  const bool hashed = !has_random() && !AntTracksHash::is_unfilled(mark.value());
  if (hashed) return AntTracksIds::site_of((uint32_t)mark.hash() & ~AntTracksHash::filled_hash);
  return (uint32_t)((mark.value() & markWord::hash_mask_in_place) >> _new._shift);  // a class may lie above it
}

// 32 bits. A thread's numbers are multiples of the golden ratio: of 0.46 * 2^n one after the other, or fewer, no two have the
// same upper n bits (n from 6 to 18; counted). So the objects of a site that are hashed one after the other have different
// hashes, however few random bits there are. value: 31 random bits, from which the thread's first number is made.
static uint32_t spread(intptr_t value) {
  static THREAD_LOCAL uint64_t number = 0;
  if (number == 0) number = (uint64_t)value << 33;
  number += UCONST64(0x9E3779B97F4A7C15);
  return (uint32_t)(number >> 32);
}

intptr_t AntTracksMark::draw_hash(markWord mark, intptr_t value) {
  const uint32_t upper = spread(value);
  if (!has_random()) return AntTracksHash::filled_hash | AntTracksIds::draw(site_of(mark), upper);
  const uint32_t random = upper >> (32 - AntTracksHash::random_bits);
  return (intptr_t)(((uint64_t)site_of(mark) << AntTracksHash::random_bits) | MAX2(random, 1u));
}
