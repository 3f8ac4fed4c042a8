/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksG1Regions.hpp"
#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "gc/g1/g1CollectedHeap.inline.hpp"
#include ANTTRACKS_REGION_INLINE_HPP
#include "oops/oop.inline.hpp"
#include "runtime/orderAccess.hpp"

bool* AntTracksG1Regions::_optional = NULL;
bool* AntTracksG1Regions::_failed = NULL;

static uint32_t kind_of(const ANTTRACKS_REGION* region) {
  if (region->is_eden()) return ANTTRACKS_SPACE_EDEN;
  if (region->is_survivor()) return ANTTRACKS_SPACE_SURVIVOR;
  if (region->is_humongous()) return ANTTRACKS_SPACE_HUMONGOUS;
  return ANTTRACKS_IS_ARCHIVE(region) ? ANTTRACKS_SPACE_ARCHIVE : ANTTRACKS_SPACE_OLD;
}

bool AntTracksG1Regions::may_be_collected(ANTTRACKS_REGION* region, uint32_t gc_kind) {
  if (gc_kind == ANTTRACKS_GC_REMARK) return !region->is_young() && !ANTTRACKS_IS_CLOSED_ARCHIVE(region);
  const ANTTRACKS_REGION* const first = region->is_humongous() ? region->humongous_start_region() : region;
  const G1HeapRegionAttr attr = G1CollectedHeap::heap()->region_attr(first->hrm_index());
  return ANTTRACKS_IS_HUMONGOUS_CANDIDATE(attr) || attr.is_optional();
}

void AntTracksG1Regions::failed_at(oop obj) {
  _failed[G1CollectedHeap::heap()->heap_region_containing(cast_from_oop<HeapWord*>(obj))->hrm_index()] = true;
}

class AntTracksG1Regions::Describe : public ANTTRACKS_REGION_CLOSURE {
  AntTracksSpaces* const _out;
  const AntTracksSpaces::Moment _moment;
  const uint32_t _gc_kind;

  uint32_t at_begin(ANTTRACKS_REGION* region) {
    if (_gc_kind == ANTTRACKS_GC_FULL) return ANTTRACKS_IS_CLOSED_ARCHIVE(region) ? ANTTRACKS_NOT_COLLECTED : ANTTRACKS_COLLECTED;
    if (_gc_kind != ANTTRACKS_GC_REMARK && region->in_collection_set()) return ANTTRACKS_COLLECTED;
    const bool may = may_be_collected(region, _gc_kind);
    _optional[region->hrm_index()] = may;
    return may ? ANTTRACKS_OPTIONAL : ANTTRACKS_NOT_COLLECTED;
  }

  uint32_t at_end(ANTTRACKS_REGION* region) {
    const uint index = region->hrm_index();
    if (_gc_kind == ANTTRACKS_GC_FULL || !_optional[index]) return ANTTRACKS_NOT_COLLECTED;
    const bool stayed = _gc_kind != ANTTRACKS_GC_REMARK && _failed[index];
    return region->is_free() || stayed ? ANTTRACKS_OPTIONAL : ANTTRACKS_NOT_COLLECTED;
  }

 public:
  Describe(AntTracksSpaces* out, AntTracksSpaces::Moment moment, uint32_t gc_kind) : _out(out), _moment(moment), _gc_kind(gc_kind) {}

  virtual bool do_heap_region(ANTTRACKS_REGION* region) {
    uint32_t collected = ANTTRACKS_NOT_COLLECTED;
    if (_moment == AntTracksSpaces::at_gc_end) collected = at_end(region);
    if (region->is_free() && collected == ANTTRACKS_NOT_COLLECTED) return false;
    if (_moment == AntTracksSpaces::at_gc_begin) collected = at_begin(region);
    _out->add(kind_of(region), collected, region->bottom(), region->top(), region->end());
    return false;
  }
};

void AntTracksG1Regions::describe(AntTracksSpaces* out, AntTracksSpaces::Moment moment, uint32_t gc_kind) {
  G1CollectedHeap* const heap = G1CollectedHeap::heap();
  if (moment == AntTracksSpaces::at_gc_begin) {
    if (_optional == NULL) _optional = NEW_C_HEAP_ARRAY(bool, ANTTRACKS_MAX_REGIONS(heap), mtGC);
    if (_failed == NULL) _failed = NEW_C_HEAP_ARRAY(bool, ANTTRACKS_MAX_REGIONS(heap), mtGC);
    memset(_optional, 0, ANTTRACKS_MAX_REGIONS(heap) * sizeof(bool));
    memset(_failed, 0, ANTTRACKS_MAX_REGIONS(heap) * sizeof(bool));
  }
  Describe regions(out, moment, gc_kind);
  heap->heap_region_iterate(&regions);
}

// What begins at an address in a region: an object, or dead space that is passed over at once.
#if ANTTRACKS_HAS_PARSABLE_BOTTOM
// Below the region's parsable bottom only the bitmap of marks knows. G1 lowers it, region by region while the program runs,
// when what was dead has become fillers, and clears the bitmap only afterwards: a look during which it did not change is right.
template <class Look>
static size_t look_at(const ANTTRACKS_REGION* region, Look look) {
  while (true) {
    HeapWord* const bottom = region->parsable_bottom_acquire();
    const size_t found = look(bottom);
    OrderAccess::loadload();
    if (region->parsable_bottom_acquire() == bottom) return found;
  }
}

static bool is_object(const ANTTRACKS_REGION* region, HeapWord* at) {
  return look_at(region, [&] (HeapWord* bottom) { return (size_t)region->block_is_obj(at, bottom); }) != 0;
}

static size_t words_of(const ANTTRACKS_REGION* region, HeapWord* at) {
  return look_at(region, [&] (HeapWord* bottom) { return region->block_size(at, bottom); });
}
#else
static bool is_object(const ANTTRACKS_REGION* region, HeapWord* at) { return region->block_is_obj(at); }
static size_t words_of(const ANTTRACKS_REGION* region, HeapWord* at) { return region->block_size(at); }
#endif

uint64_t AntTracksG1Regions::next_objects(uint64_t* from, uint64_t top) {
  const size_t most_words = 64 * K / HeapWordSize;
  HeapWord* at = (HeapWord*)*from;
  HeapWord* start = NULL;
  while (at < (HeapWord*)top) {
    const ANTTRACKS_REGION* const region = G1CollectedHeap::heap()->heap_region_containing(at);
    HeapWord* const end = MIN2(region->end(), (HeapWord*)top);
    if (region->is_continues_humongous()) {  // of an object that is dead
      at = end;
      continue;
    }
    while (at < end) {
      if (is_object(region, at) && (ANTTRACKS_IS_CLOSED_ARCHIVE(region) || !AntTracksMark::is_filler(cast_to_oop(at)->mark()))) {
        if (start == NULL) start = at;
      } else if (start != NULL) {
        *from = (uint64_t)start;
        return (uint64_t)at;
      }
      at += words_of(region, at);
      if (start != NULL && pointer_delta(at, start) >= most_words) {
        *from = (uint64_t)start;
        return (uint64_t)at;
      }
    }
  }
  *from = start != NULL ? (uint64_t)start : top;
  return top;
}
