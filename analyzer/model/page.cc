// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/page.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace anttracks::analyzer {
namespace {

// Slack is at most this many objects a page: 64 bytes of 4096.
constexpr uint32_t kGrowth = 16;
constexpr uint32_t kPaletteGrowth = 4;

void* Reallocate(void* old, size_t bytes) {
  void* memory = std::realloc(old, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

Page::~Page() {
  std::free(shapes_);
  std::free(palette_);
  delete moved_;
}

uint32_t Page::PreviousStart(uint32_t word) const {
  if (word == 0) return kPageWords;
  const uint32_t last = word - 1;
  int i = static_cast<int>(last / 64);
  uint64_t bits = starts_[i] & (~uint64_t{0} >> (63 - last % 64));
  while (bits == 0) {
    if (--i < 0) return kPageWords;
    bits = starts_[i];
  }
  return static_cast<uint32_t>(i * 64 + 63 - std::countl_zero(bits));
}

void Page::AddAt(uint32_t word, uint32_t rank, uint32_t shape, uint32_t origin) {
  if (count_ == capacity_) Grow();
  if (count_ == 0) first_origin_ = origin;
  if (palette_ == nullptr && origin != first_origin_) MakePalette();
  const uint32_t behind = count_ - rank;
  if (behind != 0) std::memmove(shapes_ + rank + 1, shapes_ + rank, behind * sizeof(uint32_t));
  shapes_[rank] = shape;
  if (palette_ != nullptr) {
    uint8_t* indexes = OriginIndexes();
    const uint8_t index = PaletteIndex(origin);
    if (behind != 0) std::memmove(indexes + rank + 1, indexes + rank, behind);
    indexes[rank] = index;
  }
  starts_[word / 64] |= uint64_t{1} << (word % 64);
  count_++;
}

void Page::Grow() {
  const uint32_t capacity = capacity_ + kGrowth;
  const size_t entry = palette_ == nullptr ? 4 : 5;
  shapes_ = static_cast<uint32_t*>(Reallocate(shapes_, capacity * entry));
  if (palette_ != nullptr) {
    auto* bytes = reinterpret_cast<uint8_t*>(shapes_);
    std::memmove(bytes + capacity * sizeof(uint32_t), bytes + capacity_ * sizeof(uint32_t), count_);
  }
  capacity_ = static_cast<uint16_t>(capacity);
}

void Page::MakePalette() {
  shapes_ = static_cast<uint32_t*>(Reallocate(shapes_, capacity_ * size_t{5}));
  std::memset(OriginIndexes(), 0, capacity_);
  palette_ = static_cast<uint32_t*>(Reallocate(nullptr, kPaletteGrowth * sizeof(uint32_t)));
  palette_capacity_ = kPaletteGrowth;
  palette_[0] = first_origin_;
  palette_size_ = 1;
}

uint8_t Page::PaletteIndex(uint32_t origin) {
  for (uint32_t i = palette_size_; i-- > 0;) {
    if (palette_[i] == origin) return static_cast<uint8_t>(i);
  }
  if (palette_size_ == palette_capacity_) {
    palette_capacity_ = static_cast<uint16_t>(palette_capacity_ + kPaletteGrowth);
    palette_ = static_cast<uint32_t*>(Reallocate(palette_, palette_capacity_ * sizeof(uint32_t)));
  }
  palette_[palette_size_] = origin;
  return static_cast<uint8_t>(palette_size_++);
}

bool Page::MarkMoved(uint32_t word) {
  if (moved_ == nullptr) moved_ = new Bits{};
  uint64_t& bits = (*moved_)[word / 64];
  const uint64_t bit = uint64_t{1} << (word % 64);
  if (bits & bit) return false;
  bits |= bit;
  moved_count_++;
  return true;
}

uint64_t Page::MemoryBytes() const {
  return sizeof(Page) + (moved_ == nullptr ? 0 : sizeof(Bits)) + palette_capacity_ * sizeof(uint32_t) +
         capacity_ * size_t{palette_ == nullptr ? 4u : 5u};
}

}  // namespace anttracks::analyzer
