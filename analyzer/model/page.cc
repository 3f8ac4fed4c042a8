// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/page.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace anttracks::analyzer {
namespace {

// Slack is less than this many objects a page, 64 bytes of 4096, but for the one that is open.
constexpr uint32_t kGrowth = 16;
constexpr uint32_t kPaletteGrowth = 4;
constexpr size_t kEntry = sizeof(uint32_t), kEntryWithIndex = kEntry + 1;

}  // namespace

static_assert(kPageWords / kMinObjectWords * kEntryWithIndex <= PageMemory::kMostBytes);

Page::~Page() {
  PageMemory::Give(shapes_, capacity_ * (palette_ == nullptr ? kEntry : kEntryWithIndex));
  PageMemory::Give(palette_, palette_capacity_ * sizeof(uint32_t));
  PageMemory::Give(moved_, sizeof(Moved));
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

void Page::AddAt(uint32_t word, uint32_t rank, uint32_t shape, uint32_t provenance) {
  if (count_ == capacity_) Resize(capacity_ + kGrowth);
  if (count_ == 0) first_provenance_ = provenance;
  if (palette_ == nullptr && provenance != first_provenance_) MakePalette();
  const uint32_t behind = count_ - rank;
  if (behind != 0) std::memmove(shapes_ + rank + 1, shapes_ + rank, behind * sizeof(uint32_t));
  shapes_[rank] = shape;
  if (palette_ != nullptr) {
    uint8_t* indexes = ProvenanceIndexes();
    const uint8_t index = PaletteIndex(provenance);
    if (behind != 0) std::memmove(indexes + rank + 1, indexes + rank, behind);
    indexes[rank] = index;
  }
  starts_[word / 64] |= uint64_t{1} << (word % 64);
  count_++;
}

void Page::SetProvenance(uint32_t rank, uint32_t provenance) {
  if (palette_ == nullptr) {
    if (provenance == first_provenance_) return;
    if (count_ == 1) {
      first_provenance_ = provenance;
      return;
    }
    MakePalette();
  }
  uint8_t* const indexes = ProvenanceIndexes();
  const uint8_t before = indexes[rank];
  // Each entry stays in use, so that there are never more of them than objects.
  if (std::count(indexes, indexes + count_, before) == 1) {
    palette_[before] = provenance;
  } else {
    indexes[rank] = PaletteIndex(provenance);
  }
}

void Page::Resize(uint32_t capacity) {
  const size_t entry = palette_ == nullptr ? kEntry : kEntryWithIndex;
  auto* const memory = static_cast<uint32_t*>(PageMemory::Take(capacity * entry));
  if (count_ != 0) std::memcpy(memory, shapes_, count_ * kEntry);
  if (palette_ != nullptr) std::memcpy(memory + capacity, ProvenanceIndexes(), count_);
  PageMemory::Give(shapes_, capacity_ * entry);
  shapes_ = memory;
  capacity_ = static_cast<uint16_t>(capacity);
}

void Page::Close() {
  const uint32_t enough = (count_ + kGrowth - 1) / kGrowth * kGrowth;
  if (enough < capacity_) Resize(enough);
}

void Page::MakePalette() {
  auto* const palette = static_cast<uint32_t*>(PageMemory::Take(kPaletteGrowth * sizeof(uint32_t)));
  uint32_t* shapes = nullptr;
  try {
    shapes = static_cast<uint32_t*>(PageMemory::Take(capacity_ * kEntryWithIndex));
  } catch (const std::bad_alloc&) {
    PageMemory::Give(palette, kPaletteGrowth * sizeof(uint32_t));
    throw;
  }
  std::memcpy(shapes, shapes_, count_ * kEntry);
  PageMemory::Give(shapes_, capacity_ * kEntry);
  shapes_ = shapes;
  std::memset(ProvenanceIndexes(), 0, capacity_);
  palette_ = palette;
  palette_capacity_ = kPaletteGrowth;
  palette_[0] = first_provenance_;
  palette_size_ = 1;
}

uint8_t Page::PaletteIndex(uint32_t provenance) {
  for (uint32_t i = palette_size_; i-- > 0;) {
    if (palette_[i] == provenance) return static_cast<uint8_t>(i);
  }
  if (palette_size_ == palette_capacity_) {
    const size_t bytes = palette_capacity_ * sizeof(uint32_t);
    auto* const larger = static_cast<uint32_t*>(PageMemory::Take(bytes + kPaletteGrowth * sizeof(uint32_t)));
    std::memcpy(larger, palette_, bytes);
    PageMemory::Give(palette_, bytes);
    palette_ = larger;
    palette_capacity_ = static_cast<uint16_t>(palette_capacity_ + kPaletteGrowth);
  }
  palette_[palette_size_] = provenance;
  return static_cast<uint8_t>(palette_size_++);
}

bool Page::MarkMoved(uint32_t word, uint32_t words) {
  if (moved_ == nullptr) moved_ = new (PageMemory::Take(sizeof(Moved))) Moved();
  uint64_t& bits = moved_->starts[word / 64];
  const uint64_t bit = uint64_t{1} << (word % 64);
  if (bits & bit) return false;
  bits |= bit;
  moved_->count++;
  moved_->words += words;
  return true;
}

uint64_t Page::MemoryBytes() const {
  return sizeof(Page) + (moved_ == nullptr ? 0 : sizeof(Moved)) + palette_capacity_ * sizeof(uint32_t) +
         capacity_ * (palette_ == nullptr ? kEntry : kEntryWithIndex);
}

}  // namespace anttracks::analyzer
