/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#ifndef SHARE_ANTTRACKS_ANTTRACKSSPACES_HPP
#define SHARE_ANTTRACKS_ANTTRACKSSPACES_HPP

#include "anttracks/anttracks_abi.h"
#include "memory/allocation.hpp"
#include "utilities/growableArray.hpp"

// The spaces of the heap as the agent sees them. Lives in the caller's resource area.
class AntTracksSpaces : public StackObj {
  GrowableArray<AntTracksSpace> _list;
 public:
  // When the spaces are described: before or after a collection, or at another safepoint.
  enum Moment { at_gc_begin, at_gc_end, at_sync };

  AntTracksSpaces() : _list(8) {}
  // Adjacent spaces of the same kind with no room between their objects become one: G1 has thousands of regions.
  void add(uint32_t kind, uint32_t collected, HeapWord* bottom, HeapWord* top, HeapWord* end);
  const AntTracksSpace* data() const { return _list.adr_at(0); }
  uint32_t count() const { return (uint32_t)_list.length(); }
  // The index of the space in which the object at address starts. Calls come in ascending order of addresses; at, 0 before
  // the first call, keeps the place.
  uint32_t find(uint64_t address, uint32_t* at) const;
};

#endif // SHARE_ANTTRACKS_ANTTRACKSSPACES_HPP
