// SPDX-License-Identifier: Apache-2.0
#include "agent/full/skipped_map.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace anttracks::core {
namespace {

constexpr uint64_t kWordBits = 64;

// The whole blocks in a range of bytes: [begin, end); none if end <= begin.
struct Whole {
  Whole(uint64_t from, uint64_t to, uint64_t block)
      : begin((from + block - 1) / block * block), end(to / block * block) {}
  bool any() const { return begin < end; }
  const uint64_t begin, end;
};

}  // namespace

SkippedMap::~SkippedMap() {
  if (memory_ != nullptr) munmap(memory_, MemoryBytes());
}

bool SkippedMap::Make(uint64_t start, uint64_t end, size_t least_object_bytes) {
  constexpr uint64_t kUnit = kWordBits << kBlockLog2;
  start_ = start;
  fine_log2_ = static_cast<unsigned>(std::countr_zero(least_object_bytes));
  bytes_ = (end - start + kUnit - 1) / kUnit * kUnit;
  void* const memory =
      mmap(nullptr, MemoryBytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = memory;
  fine_ = static_cast<std::atomic<uint64_t>*>(memory);
  blocks_ = fine_ + (bytes_ >> fine_log2_) / kWordBits;
  return true;
}

uint64_t SkippedMap::MemoryBytes() const { return (bytes_ >> fine_log2_) / 8 + (bytes_ >> kBlockLog2) / 8; }

// Bits [begin, end). Words that belong to them alone are stored; others are shared with other threads.
void SkippedMap::Fill(std::atomic<uint64_t>* words, uint64_t begin, uint64_t end, To to) {
  if (begin >= end) return;
  const uint64_t first = begin / kWordBits, last = (end - 1) / kWordBits;
  const auto edge = [=](uint64_t word, uint64_t mask) {
    if (to == To::kMark) {
      words[word].fetch_or(mask, std::memory_order_relaxed);
    } else {
      words[word].fetch_and(~mask, std::memory_order_relaxed);
    }
  };
  const uint64_t from_first = ~uint64_t{0} << (begin % kWordBits);
  const uint64_t to_last = ~uint64_t{0} >> (kWordBits - 1 - (end - 1) % kWordBits);
  if (first == last) return edge(first, from_first & to_last);
  edge(first, from_first);
  for (uint64_t i = first + 1; i < last; i++) {
    words[i].store(to == To::kMark ? ~uint64_t{0} : 0, std::memory_order_relaxed);
  }
  edge(last, to_last);
}

// Of the objects that begin in [begin, end), which are ends of objects or of blocks.
void SkippedMap::FillFine(uint64_t begin, uint64_t end, To to) {
  Fill(fine_, begin >> fine_log2_, end >> fine_log2_, to);
}

void SkippedMap::FillBlocks(uint64_t begin, uint64_t end, To to) {
  Fill(blocks_, begin >> kBlockLog2, end >> kBlockLog2, to);
}

void SkippedMap::Mark(const AddressRange& stretch, uint64_t from) {
  const uint64_t begin = stretch.start - start_, marked = from - start_, end = stretch.top - start_;
  const Whole whole(begin, end, kBlockBytes);
  if (!whole.any()) return FillFine(marked, end, To::kMark);
  FillFine(marked, whole.begin, To::kMark);
  const uint64_t block = std::max(whole.begin, marked / kBlockBytes * kBlockBytes);
  FillBlocks(block, whole.end, To::kMark);
  // The edge of what was marked is now within a whole block.
  if (block < whole.end) FillFine(block, marked, To::kClear);
  FillFine(std::max(marked, whole.end), end, To::kMark);
}

void SkippedMap::Clear(const AddressRange& stretch) {
  const uint64_t begin = stretch.start - start_, end = stretch.top - start_;
  const Whole whole(begin, end, kBlockBytes);
  if (!whole.any()) return FillFine(begin, end, To::kClear);
  FillFine(begin, whole.begin, To::kClear);
  FillBlocks(whole.begin, whole.end, To::kClear);
  FillFine(whole.end, end, To::kClear);
}

}  // namespace anttracks::core
