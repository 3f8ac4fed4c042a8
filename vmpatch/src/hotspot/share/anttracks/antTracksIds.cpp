/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksIds.hpp"
#include "anttracks/antTracksVersion.hpp"
#include "anttracks/anttracks_abi.h"
#include "memory/allocation.inline.hpp"
#include "runtime/atomic.hpp"
#include "runtime/os.inline.hpp"

namespace {

// The random bits of an id are one of 6, 10, .. 26.
const uint32_t least_random = 6, step = 4, most_random = 26, children = 1 << step;
// Of the first ids. As few sites as usual programs hash objects of have 18 random bits or 14. A length takes a quarter of the
// field at most, so that more sites find room.
const uint32_t most_first_random = 18, quarter = 1 << 28;
// Half of the shortest ids are left to be divided: a few busy sites must not take all of the field.
const uint32_t most_shortest = children / 2;
// A site that finds no shorter id keeps its own if it has so many random bits.
const uint32_t enough_random = 14;

// A site's newest id: the field with a random part of 0, whose lower bits say how many random bits there are.
const uint32_t bits_mask = (1 << least_random) - 1;

uint32_t random_bits_of(uint32_t id) { return id & bits_mask; }
uint32_t prefix_of(uint32_t id) { return id & ~bits_mask; }

// From a field to its site: a tree with 16 children a node, one level for 4 bits. A slot is 0, a node (its number * 2) or a
// leaf (site * 2 + 1).
typedef volatile uint32_t Slot;

// All ids, and the newest of each site. Changed under _lock. Nothing that a reader may look at is ever freed or moved.
class Ids : public CHeapObj<mtServiceability> {
  enum { chunk_nodes = 1024, chunks = 1024, page_sites = 4096, pages = 1 << (ANTTRACKS_SITE_BITS - 12) };

  // A node whose slots become the ids with so many random bits, one after the other.
  struct Open {
    uint32_t _prefix, _node, _used;
  };

  ANTTRACKS_MUTEX _lock;
  Slot _root[children];
  Slot* _chunks[chunks];
  Slot* volatile _newest[pages];
  Open _open[(most_random - least_random) / step];
  uint32_t _roots, _nodes;  // taken; node 0 is not used
  uint32_t _sites;          // that have asked for a first id
  uint32_t _overflow;       // the id

  Slot* node(uint32_t number) { return _chunks[number / chunk_nodes] + number % chunk_nodes * children; }
  uint32_t make_node();
  Slot* take(uint32_t random_bits, uint32_t* id);
  void give_back(uint32_t random_bits);
  Slot* newest(uint32_t site);
  uint32_t first_random_bits();
  uint32_t make(uint32_t site, uint32_t random_bits);
  uint32_t overflow(uint32_t site);

 public:
  Ids();
  uint32_t site_of(uint32_t field);
  uint32_t id_of(uint32_t site);
  uint32_t shorten(uint32_t site, uint32_t id);
};

Ids* the_ids = NULL;

Slot* zeroed(size_t length) {
  uint32_t* const slots = NEW_C_HEAP_ARRAY_RETURN_NULL(uint32_t, length, mtServiceability);
  if (slots != NULL) memset(slots, 0, length * sizeof(uint32_t));
  return slots;
}

Ids::Ids() : _roots(0), _nodes(1), _sites(0), _overflow(0) {
  for (uint32_t i = 0; i < children; i++) _root[i] = 0;
  memset(_chunks, 0, sizeof(_chunks));
  for (uint32_t i = 0; i < pages; i++) _newest[i] = NULL;
  memset(_open, 0, sizeof(_open));
  _overflow = make(ANTTRACKS_SITE_OVERFLOW, most_random);
  guarantee(_overflow != 0, "there is memory when the VM starts");
}

// 0: no room, or no memory.
uint32_t Ids::make_node() {
  if (_nodes == (uint32_t)chunks * chunk_nodes) return 0;
  Slot** const chunk = &_chunks[_nodes / chunk_nodes];
  if (*chunk == NULL) *chunk = zeroed(chunk_nodes * children);
  return *chunk == NULL ? 0 : _nodes++;
}

// The slot of an id that nobody has; NULL: no room.
Slot* Ids::take(uint32_t random_bits, uint32_t* id) {
  if (random_bits == most_random) {
    if (_roots == children) return NULL;
    *id = (_roots << random_bits) | random_bits;
    return &_root[_roots++];
  }
  Open* const open = &_open[(random_bits - least_random) / step];
  if (open->_node == 0 || open->_used == children) {
    uint32_t parent = 0;
    Slot* const slot = take(random_bits + step, &parent);
    if (slot == NULL) return NULL;
    const uint32_t number = make_node();
    if (number == 0) {
      give_back(random_bits + step);
      return NULL;
    }
    open->_prefix = prefix_of(parent);
    open->_node = number;
    open->_used = 0;
    Atomic::release_store(slot, number * 2);
  }
  *id = open->_prefix | (open->_used << random_bits) | random_bits;
  return node(open->_node) + open->_used++;
}

// The slot that was taken last, which nothing was put into.
void Ids::give_back(uint32_t random_bits) {
  if (random_bits == most_random) {
    _roots--;
  } else {
    _open[(random_bits - least_random) / step]._used--;
  }
}

// Where the newest id of the site is; NULL: no memory.
Slot* Ids::newest(uint32_t site) {
  Slot* volatile* const page = &_newest[site / page_sites];
  if (*page == NULL) {
    Slot* const slots = zeroed(page_sites);
    if (slots == NULL) return NULL;
    Atomic::release_store(page, slots);
  }
  return *page + site % page_sites;
}

// Of the id of a site that has none yet.
uint32_t Ids::first_random_bits() {
  uint32_t bits = most_first_random;
  while (bits > least_random && _sites >= quarter >> bits) bits -= step;
  _sites++;
  return bits;
}

// 0: no room.
uint32_t Ids::make(uint32_t site, uint32_t random_bits) {
  uint32_t id = 0;
  Slot* const mine = newest(site);
  Slot* const slot = mine == NULL ? NULL : take(random_bits, &id);
  if (slot == NULL) return 0;
  Atomic::release_store(slot, site * 2 + 1);
  Atomic::release_store(mine, id);  // whoever finds the id finds its site
  return id;
}

uint32_t Ids::site_of(uint32_t field) {
  uint32_t bits = most_random;
  uint32_t slot = Atomic::load_acquire(&_root[field >> bits]);
  while (slot != 0 && (slot & 1) == 0) {
    bits -= step;
    slot = Atomic::load_acquire(node(slot / 2) + (field >> bits) % children);
  }
  return slot == 0 ? (uint32_t)ANTTRACKS_SITE_NONE : slot / 2;
}

// 0: it has none.
uint32_t Ids::id_of(uint32_t site) {
  Slot* const page = Atomic::load_acquire(&_newest[site / page_sites]);
  return page == NULL ? 0 : Atomic::load_acquire(page + site % page_sites);
}

// From now on the site's ids are those of the overflow: it does not ask again.
uint32_t Ids::overflow(uint32_t site) {
  Slot* const mine = newest(site);
  if (mine != NULL) Atomic::release_store(mine, _overflow);
  return _overflow;
}

// The site's random part has run out, or it has no id yet (0). Returns the same id if it is to be kept.
uint32_t Ids::shorten(uint32_t site, uint32_t id) {
  _lock.lock();
  uint32_t result = id_of(site);
  if (result == id) {  // else another thread was faster
    const uint32_t had = id == 0 ? 0 : random_bits_of(id);
    const uint32_t bits = id == 0 ? first_random_bits() : had + step;
    const bool may = bits < most_random || (bits == most_random && _roots < most_shortest);
    const uint32_t made = may ? make(site, bits) : 0;
    if (made != 0) {
      result = made;
    } else if (had < enough_random) {
      result = overflow(site);
    }
  }
  _lock.unlock();
  return result;
}

}  // namespace

void AntTracksIds::initialize() { the_ids = new Ids(); }

uint32_t AntTracksIds::draw(uint32_t site, uint32_t value) {
  uint32_t id = the_ids->id_of(site);
  if (id == 0) id = the_ids->shorten(site, 0);
  while (true) {
    const uint32_t random = value >> (32 - random_bits_of(id));
    if (random != 0) return prefix_of(id) | random;
    id = the_ids->shorten(site, id);
    value = (uint32_t)os::random() << 1;  // it has 31 bits
  }
}

uint32_t AntTracksIds::site_of(uint32_t field) { return the_ids->site_of(field); }
