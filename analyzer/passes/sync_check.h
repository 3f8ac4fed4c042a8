// SPDX-License-Identifier: Apache-2.0
// Compares the objects that a sync point lists with a known heap: address, class, length and site of each. The
// ids of site-class pairs may differ if site and class are the same.
//
// The objects below the tops in SYNC_BEGIN are counted when the check begins. Collections before SYNC_END may
// change the heap elsewhere, and free regions and humongous objects that have been listed.
//
// Thread safety: none. Ownership: borrows heap and definitions. Units: words of 8 bytes; ranges are [first,
// end). Memory: one bit per word of each 4 KiB page of the heap with a listed object.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/model/definitions.h"
#include "analyzer/model/events.h"
#include "analyzer/model/heap.h"

namespace anttracks::analyzer {

class SyncCheck {
 public:
  // The spaces of SYNC_BEGIN, in its order.
  SyncCheck(const Heap& heap, const Definitions& definitions, const std::vector<Space>& spaces);

  // Checks a listed object; space is an index into spaces. Returns what disagrees with the heap; empty:
  // nothing.
  std::string Object(uint64_t space, uint64_t word, uint32_t shape);
  // A collection has freed [bottom, end): the objects there now were not there at SYNC_BEGIN.
  void Freed(uint64_t bottom, uint64_t end) { freed_.push_back({bottom, end}); }
  // After the last object: a sentence for each space with objects that are missing in the list.
  std::vector<std::string> Missing() const;
  struct Range {
    uint64_t first = 0, end = 0;
  };
  // The objects that were left out as dead, in spaces that are Collected::kOptional in SYNC_BEGIN: ranges by
  // address, from the first to the last object of each run.
  std::vector<Range> Dead() const;

 private:
  using Bits = std::array<uint64_t, kPageWords / 64>;
  // Disjoint, by address.
  std::vector<Range> FreedRanges() const;
  struct Counted {
    Space space;
    uint64_t expected = 0, found = 0;
  };

  // False if the word was marked before.
  bool Mark(uint64_t word);
  bool IsMarked(uint64_t word) const;
  bool MayLeaveOut(const Space& space) const;
  std::string Describe(uint32_t shape) const;

  const Heap* heap_;
  const Definitions* definitions_;
  std::vector<Counted> spaces_;
  std::vector<Range> freed_;
  std::map<uint64_t, Bits> listed_;  // by page
  Bits* last_bits_ = nullptr;        // of last_page_
  uint64_t last_page_ = 0;
};

}  // namespace anttracks::analyzer
