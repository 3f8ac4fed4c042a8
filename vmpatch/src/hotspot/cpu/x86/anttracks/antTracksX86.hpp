/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef CPU_X86_ANTTRACKS_ANTTRACKSX86_HPP
#define CPU_X86_ANTTRACKS_ANTTRACKSX86_HPP

#include "asm/register.hpp"
#include "memory/allStatic.hpp"
#include "utilities/globalDefinitions.hpp"

class Label;
class MacroAssembler;

// What code of the interpreter and of C1 has for the mark of a new object, and for the hash code in a mark, by scheme.
class AntTracksX86 : AllStatic {
 public:
  // The interpreter: mark = the mark of an object that the bytecode at bcp allocates, without its random part. From the
  // cache of sites; kills t1 and t2.
  static void load_mark(MacroAssembler* masm, Register mark, Register t1, Register t2, Label& not_cached);
  // Stores that mark into the new object; kills mark and t.
  static void store_mark(MacroAssembler* masm, Register obj, Register mark, Register t);
  // C1: stores a mark that is known, without its random part, into the new object; kills t and rscratch1.
  // With AntTracksMark::no_random it gets none.
  static void store_mark(MacroAssembler* masm, Register obj, intptr_t mark, Register t);
  // C1, with compact headers: mark has the class's already, site_mark is the object's without it. Kills rscratch1.
  static void add_site(MacroAssembler* masm, Register mark, intptr_t site_mark);
  // Jumps if the mark of an object has its site in the place of the hash; kills rscratch1. That there is neither is not looked at.
  static void check_hash(MacroAssembler* masm, Register mark, Label& no_hash);
};

#endif // CPU_X86_ANTTRACKS_ANTTRACKSX86_HPP
