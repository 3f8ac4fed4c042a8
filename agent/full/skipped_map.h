// SPDX-License-Identifier: Apache-2.0
// A bitmap of the skipped ranges of the heap. It is looked up for each object that a young collection moves.
//
// It has a bit for every 16 bytes of the reserved heap, or every 8 if an object can have so few; the system
// provides its memory on first use. No two objects begin in the bytes of one bit, so that the bit at an
// object's first byte is right for objects at the edges of a range, too. Objects are moved in no order of
// addresses, so that a look-up of this map would mostly miss the cache. Hence a second map, 64 or 128 times
// smaller, of the blocks of 1 KB that are skipped as a whole: it answers nearly always when most is skipped.
// The first map has only what is not in such a block.
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
  // it, and nothing can be skipped. least_object_bytes: of all objects, a power of two, at most 64.
  bool Make(uint64_t start, uint64_t end, size_t least_object_bytes);
  bool made() const { return fine_ != nullptr; }

  // from: of the stretch, [start, from) is marked already, as one; start if nothing is.
  void Mark(const AddressRange& stretch, uint64_t from);
  // Exactly what was marked as one.
  void Clear(const AddressRange& stretch);
  // Whether an object at this address begins in a marked stretch. The address need not be in the heap.
  bool Contains(uint64_t address) const {
    const uint64_t offset = address - start_;
    return offset < bytes_ && (Has(blocks_, offset >> kBlockLog2) || Has(fine_, offset >> fine_log2_));
  }

 private:
  enum class To : bool { kClear, kMark };
  static constexpr unsigned kBlockLog2 = 10;
  static constexpr uint64_t kBlockBytes = uint64_t{1} << kBlockLog2;

  static bool Has(const std::atomic<uint64_t>* words, uint64_t bit) {
    return (words[bit / 64].load(std::memory_order_relaxed) >> (bit % 64) & 1) != 0;
  }

  static void Fill(std::atomic<uint64_t>* words, uint64_t begin, uint64_t end, To to);
  void FillFine(uint64_t begin, uint64_t end, To to);
  void FillBlocks(uint64_t begin, uint64_t end, To to);
  uint64_t MemoryBytes() const;

  std::atomic<uint64_t>* fine_ = nullptr;    // a bit for 2^fine_log2_ bytes from the start of the heap
  std::atomic<uint64_t>* blocks_ = nullptr;  // a bit for kBlockBytes
  unsigned fine_log2_ = 0;
  uint64_t start_ = 0, bytes_ = 0;
  void* memory_ = nullptr;  // of both
};

}  // namespace anttracks::core
