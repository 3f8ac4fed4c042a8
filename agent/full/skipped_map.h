// SPDX-License-Identifier: Apache-2.0
// A bitmap of the skipped ranges of the heap. It is looked up for each object that a young collection moves.
//
// It has a bit for every 16 bytes of the reserved heap; the system provides its memory on first use. No two
// objects begin in the same 16 bytes, so that the bit at an object's first byte is right for objects at the
// edges of a range, too.
//
// Thread safety: Mark by several threads at a time, with disjoint stretches; Contains and Clear only while no
// thread marks (at a safepoint). Ownership: owns its memory. Units: byte addresses, as numbers; ranges are
// [start, top).
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/heap/tlab_walker.h"

namespace anttracks::core {

class SkippedMap {
 public:
  SkippedMap() = default;
  ~SkippedMap();
  SkippedMap(const SkippedMap&) = delete;

  // Makes the map of the reserved heap [start, end). Must be called once. False: there is no address space for
  // it, and nothing can be skipped.
  bool Make(uint64_t start, uint64_t end);
  bool made() const { return words_ != nullptr; }

  void Mark(const Stretch& stretch);
  void Clear(const Stretch& stretch);
  // Whether an object at this address begins in a marked stretch. The address need not be in the heap.
  bool Contains(uint64_t address) const {
    const uint64_t bit = (address - start_) / kBytesPerBit;
    return bit < bits_ && (words_[bit / 64].load(std::memory_order_relaxed) >> (bit % 64) & 1) != 0;
  }

 private:
  static constexpr uint64_t kBytesPerBit = 16;
  template <class Edge>
  void Fill(const Stretch& stretch, uint64_t whole, Edge&& edge);

  std::atomic<uint64_t>* words_ = nullptr;
  uint64_t start_ = 0, bits_ = 0;
};

}  // namespace anttracks::core
