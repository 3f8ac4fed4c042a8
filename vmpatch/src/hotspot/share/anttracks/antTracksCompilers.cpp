/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "precompiled.hpp"
#include "anttracks/antTracksCompilers.hpp"
#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksSiteTable.hpp"
#ifdef COMPILER1
#include "c1/c1_IR.hpp"
#include "c1/c1_ValueStack.hpp"
#endif
#ifdef COMPILER2
#include "opto/callnode.hpp"
#endif

#ifdef COMPILER1
static uint32_t site_of_state(ValueStack* state) {
  if (state == NULL) return 0;
  const uint32_t caller = site_of_state(state->caller_state());
  Method* const method = (Method*)state->scope()->method()->constant_encoding();
  return AntTracksSiteTable::site(method, state->bci(), caller, ANTTRACKS_TIER_C1);
}

intptr_t AntTracksCompilers::c1_mark(CodeEmitInfo* info) {
  if (!AntTracksMark::has_sites()) return markWord::prototype().value();
  return AntTracksMark::with_site(site_of_state(info->stack())).value();
}
#endif

#ifdef COMPILER2
static uint32_t site_of_state(JVMState* state) {
  if (state == NULL) return 0;
  const uint32_t caller = site_of_state(state->caller());
  if (!state->has_method()) return caller;
  Method* const method = (Method*)state->method()->constant_encoding();
  return AntTracksSiteTable::site(method, state->bci(), caller, ANTTRACKS_TIER_C2);
}

intptr_t AntTracksCompilers::c2_mark(AllocateNode* allocation) {
  if (!AntTracksMark::has_sites()) return markWord::prototype().value();
  return AntTracksMark::with_site(site_of_state(allocation->jvms())).value();
}
#endif
