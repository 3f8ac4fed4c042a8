/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSHEAP_HPP
#define SHARE_ANTTRACKS_ANTTRACKSHEAP_HPP

#include "anttracks/antTracksSpaces.hpp"
#include "anttracks/anttracks_abi.h"
#include "memory/allStatic.hpp"
#include "memory/memRegion.hpp"

// The heap of any collector, as the agent sees it.
class AntTracksHeap : AllStatic {
 public:
  // At a safepoint. gc_kind: ANTTRACKS_GC_*; without meaning at_sync.
  static void describe(AntTracksSpaces* out, AntTracksSpaces::Moment moment, uint32_t gc_kind = 0);
  // At a safepoint, when the heap is parsable: hands the objects of eden to the agent, but no fillers, which no heap dump
  // shows.
  static void walk_eden(const AntTracksCallbacks& callbacks, const AntTracksSpaces& spaces);
  static MemRegion reserved();
  // Makes a young collection, now; called by a Java thread in the VM. False: another collection came first, or none is
  // possible.
  static bool collect_young();
};

#endif // SHARE_ANTTRACKS_ANTTRACKSHEAP_HPP
