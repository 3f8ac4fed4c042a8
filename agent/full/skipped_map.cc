// SPDX-License-Identifier: Apache-2.0
#include "agent/full/skipped_map.h"

#include <sys/mman.h>

namespace anttracks::core {

SkippedMap::~SkippedMap() {
  if (words_ != nullptr) munmap(static_cast<void*>(words_), bits_ / 8);
}

bool SkippedMap::Make(uint64_t start, uint64_t end) {
  constexpr uint64_t kBytesPerWord = 64 * kBytesPerBit;
  const uint64_t words = (end - start + kBytesPerWord - 1) / kBytesPerWord;
  void* const memory = mmap(nullptr, words * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  start_ = start;
  bits_ = words * 64;
  words_ = static_cast<std::atomic<uint64_t>*>(memory);
  return true;
}

// Words that belong to the stretch alone become `whole`; edge(word, mask) is for those that it shares.
template <class Edge>
void SkippedMap::Fill(const Stretch& stretch, uint64_t whole, Edge&& edge) {
  const uint64_t first = (stretch.start - start_) / kBytesPerBit;
  const uint64_t last = (stretch.top - kBytesPerBit - start_) / kBytesPerBit;  // its smallest last object
  const uint64_t from_first = ~uint64_t{0} << (first % 64), to_last = ~uint64_t{0} >> (63 - last % 64);
  if (first / 64 == last / 64) return edge(words_[first / 64], from_first & to_last);
  edge(words_[first / 64], from_first);
  for (uint64_t i = first / 64 + 1; i < last / 64; i++) words_[i].store(whole, std::memory_order_relaxed);
  edge(words_[last / 64], to_last);
}

void SkippedMap::Mark(const Stretch& stretch) {
  Fill(stretch, ~uint64_t{0},
       [](std::atomic<uint64_t>& word, uint64_t mask) { word.fetch_or(mask, std::memory_order_relaxed); });
}

void SkippedMap::Clear(const Stretch& stretch) {
  Fill(stretch, 0,
       [](std::atomic<uint64_t>& word, uint64_t mask) { word.fetch_and(~mask, std::memory_order_relaxed); });
}

}  // namespace anttracks::core
