/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksSiteCache.hpp"
#include "anttracks/antTracksX86.hpp"
#include "asm/macroAssembler.hpp"
#include "oops/oop.hpp"

#define __ masm->

// random = AntTracksHash::random_of(obj)
static void load_random(MacroAssembler* masm, Register random, Register obj) {
  __ imull(random, obj, (int)AntTracksHash::multiplier);
  __ shrl(random, AntTracksHash::random_right);
  __ andl(random, (int)AntTracksHash::random_mask);
}

void AntTracksX86::load_mark(MacroAssembler* masm, Register mark, Register t1, Register t2, Label& not_cached) {
  const int tag_bits = ANTTRACKS_SITE_SHIFT;
  const Register bcp = r13;
  __ lea(t1, ExternalAddress((address)AntTracksSiteCache::entries()));
  __ movzwl(t2, bcp);  // AntTracksSiteCache::index_bits are 16
  __ movptr(mark, Address(t1, t2, Address::times_8));
  __ movptr(t1, bcp);
  __ shrptr(t1, AntTracksSiteCache::index_bits);
  __ xorptr(t1, mark);
  __ shlptr(t1, 64 - tag_bits);
  __ jcc(Assembler::notZero, not_cached);
  __ shrptr(mark, tag_bits);
  __ shlptr(mark, AntTracksMark::shift());
  __ orptr(mark, (int32_t)AntTracksMark::with_site(0).value());
}

void AntTracksX86::store_mark(MacroAssembler* masm, Register obj, Register mark, Register t) {
  if (AntTracksMark::has_random()) {
    load_random(masm, t, obj);
    __ orptr(mark, t);
  }
  __ movptr(Address(obj, oopDesc::mark_offset_in_bytes()), mark);
}

void AntTracksX86::store_mark(MacroAssembler* masm, Register obj, intptr_t mark, Register t) {
  bool random = false;
  if (AntTracksMark::has_random()) {  // in scheme mark that bit is the site's highest
    random = AntTracksHash::has_site(mark) && (mark & AntTracksMark::no_random) == 0;
    mark &= ~AntTracksMark::no_random;
  }
  if (Assembler::is_simm32(mark) && !random) {
    __ movptr(Address(obj, oopDesc::mark_offset_in_bytes()), (int32_t)mark);
    return;
  }
  __ mov64(t, mark);
  if (random) {
    load_random(masm, rscratch1, obj);
    __ orptr(t, rscratch1);
  }
  __ movptr(Address(obj, oopDesc::mark_offset_in_bytes()), t);
}

void AntTracksX86::add_site(MacroAssembler* masm, Register mark, intptr_t site_mark) {
  if (site_mark == (intptr_t)markWord::prototype().value()) return;
  __ mov64(rscratch1, site_mark);
  __ orptr(mark, rscratch1);
}

// As AntTracksHash::is_unfilled.
void AntTracksX86::check_hash(MacroAssembler* masm, Register mark, Label& no_hash) {
  if (AntTracksMark::unfilled_mask() == 0 || !AntTracksMark::has_sites()) return;
  __ mov64(rscratch1, (int64_t)AntTracksMark::unfilled_mask());
  __ andptr(rscratch1, mark);
  __ cmpptr(rscratch1, (int32_t)AntTracksHash::holds_site);
  __ jcc(Assembler::equal, no_hash);
}
