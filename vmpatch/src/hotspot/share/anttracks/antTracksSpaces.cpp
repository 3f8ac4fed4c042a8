/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksSpaces.hpp"

void AntTracksSpaces::add(uint32_t kind, uint32_t collected, HeapWord* bottom, HeapWord* top, HeapWord* end) {
  AntTracksSpace next = { kind, collected, (uint64_t)bottom, (uint64_t)top, (uint64_t)end };
  if (_list.length() > 0) {
    AntTracksSpace& last = *_list.adr_at(_list.length() - 1);
    const bool both_full = last.top == last.end, both_empty = last.top == last.bottom && top == bottom;
    if (last.kind == kind && last.collected == collected && last.end == next.bottom && (both_full || both_empty)) {
      if (both_full) last.top = next.top;
      last.end = next.end;
      return;
    }
  }
  _list.append(next);
}

uint32_t AntTracksSpaces::find(uint64_t address, uint32_t* at) const {
  while (*at + 1 < count() && address >= _list.at(*at).end) (*at)++;
  return *at;
}
