/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSSITETABLE_HPP
#define SHARE_ANTTRACKS_ANTTRACKSSITETABLE_HPP

#include "anttracks/anttracks_abi.h"
#include "memory/allStatic.hpp"
#include "utilities/globalDefinitions.hpp"

class Method;

// The allocation sites: a tree of frames. A site is a method, a bci, the tier of
// the code, and the site of the caller into which it was inlined.
//
// The numbers are never reused. Names and lines are resolved when a site is made,
// so that a site outlives its class; only the way from a Method* to its number is
// forgotten when the method is freed.
//
// Threads: any, also compiler threads in native state and GC threads at a
// safepoint. There is one lock, held briefly, under which nothing blocks.
class AntTracksSiteTable : AllStatic {
 public:
  // The site, made if there is none yet. A negative bci is the method's entry (SynchronizationEntryBCI)
  // or in a native method.
  static uint32_t site(Method* method, int bci, uint32_t caller, uint32_t tier, uint32_t flags = 0);

  // The method is about to be freed.
  static void forget_method(Method* method);
  // All methods whose class loaders are being unloaded, and their bytecodes in the cache of sites.
  static void forget_unloading();

  // The functions of AntTracksVM.
  static int32_t describe_site(uint32_t site, AntTracksSite* out);
  static int32_t describe_method(uint32_t method, AntTracksMethod* out, char* text, size_t text_bytes);
};

#endif // SHARE_ANTTRACKS_ANTTRACKSSITETABLE_HPP
