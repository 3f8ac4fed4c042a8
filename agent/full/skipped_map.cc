// SPDX-License-Identifier: Apache-2.0
#include "agent/full/skipped_map.h"

#include <sys/mman.h>

namespace anttracks::core {
namespace {

constexpr uint64_t kWordBits = 64;

}  // namespace

SkippedMap::~SkippedMap() {
  if (memory_ != nullptr) munmap(memory_, MemoryBytes());
}

bool SkippedMap::Make(uint64_t start, uint64_t end) {
  constexpr uint64_t kUnit = kWordBits << kBlockLog2;
  start_ = start;
  bytes_ = (end - start + kUnit - 1) / kUnit * kUnit;
  void* const memory =
      mmap(nullptr, MemoryBytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = memory;
  fine_.words = static_cast<std::atomic<uint64_t>*>(memory);
  blocks_.words = fine_.words + bytes_ / fine_.kBytes / kWordBits;
  return true;
}

uint64_t SkippedMap::MemoryBytes() const { return bytes_ / fine_.kBytes / 8 + bytes_ / blocks_.kBytes / 8; }

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

void SkippedMap::FillBoth(const Stretch& stretch, To to) {
  const uint64_t begin = stretch.start - start_, end = stretch.top - start_;
  // The smallest last object begins fine_.kBytes before the end.
  Fill(fine_.words, begin / fine_.kBytes, (end - fine_.kBytes) / fine_.kBytes + 1, to);
  Fill(blocks_.words, (begin + blocks_.kBytes - 1) / blocks_.kBytes, end / blocks_.kBytes, to);
}

void SkippedMap::Mark(const Stretch& stretch) { FillBoth(stretch, To::kMark); }

void SkippedMap::Clear(const Stretch& stretch) { FillBoth(stretch, To::kClear); }

}  // namespace anttracks::core
