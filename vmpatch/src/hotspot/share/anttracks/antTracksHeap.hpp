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

#include "anttracks/anttracks_abi.h"
#include "memory/allStatic.hpp"
#include "memory/allocation.hpp"
#include "memory/memRegion.hpp"
#include "utilities/growableArray.hpp"

class ObjectClosure;

// Spaces by which the agent knows the heap. Lives in the caller's resource area.
class AntTracksSpaces : public StackObj {
  GrowableArray<AntTracksSpace> _list;
 public:
  AntTracksSpaces() : _list(8) {}
  // Neighbours of the same kind that have no room between them become one space: G1 has thousands of regions.
  void add(uint32_t kind, uint32_t collected, HeapWord* bottom, HeapWord* top, HeapWord* end);
  const AntTracksSpace* data() const { return _list.adr_at(0); }
  uint32_t count() const { return (uint32_t)_list.length(); }
  // The space in which the object starts. Calls must come in ascending order of addresses: at is the caller's place.
  uint32_t find(uint64_t address, uint32_t* at) const;
};

// The heap of any collector, as the agent sees it. At a safepoint.
class AntTracksHeap : AllStatic {
 public:
  enum Moment { now, at_begin, at_end };
  // gc_kind: ANTTRACKS_GC_*, if it is the begin or end of a collection.
  static void describe(AntTracksSpaces* out, Moment moment, uint32_t gc_kind = 0);
  // Hands the objects of eden to the agent, fillers left out, which no heap dump shows. The heap is parsable.
  static void walk_eden(const AntTracksCallbacks& callbacks, const AntTracksSpaces& spaces);
  static MemRegion reserved();
  // A young collection, now, called by a Java thread in the VM. False: another one came first, or none is possible.
  static bool collect_young();
};

#endif // SHARE_ANTTRACKS_ANTTRACKSHEAP_HPP
