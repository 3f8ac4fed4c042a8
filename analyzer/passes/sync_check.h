// SPDX-License-Identifier: Apache-2.0
// Compares the objects that a sync point lists with a heap that is known: address for address, and class,
// length and site of each. Kinds may differ as long as they stand for the same site and class.
//
// The objects below the tops of SYNC_BEGIN are counted when the check begins; young collections that come
// before SYNC_END may then change the heap elsewhere, and free humongous objects.
//
// Thread safety: none. Ownership: heap and definitions are borrowed. Units: words of 8 bytes.
// Memory: a bit a word of each 4 KiB page of the heap in which an object was listed.
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

  // One listed object; space is an index of spaces. Empty if the heap has the same, otherwise what disagrees.
  std::string Object(uint64_t space, uint64_t word, uint32_t shape);
  // A young collection freed what lay in [bottom, end): what is there now was not there at SYNC_BEGIN.
  void Freed(uint64_t bottom, uint64_t end) { freed_.push_back({bottom, end}); }
  // Everything was listed: a sentence for each space of which objects were left out that should not be.
  std::vector<std::string> Missing() const;
  struct Range {
    uint64_t first = 0, end = 0;
  };
  // What was left out as dead, in spaces that are Collected::kOptional in SYNC_BEGIN: ranges [first, end), by
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
