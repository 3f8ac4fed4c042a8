// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/page.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

namespace anttracks::analyzer {
namespace {

constexpr size_t kEntry = sizeof(uint16_t), kEntryWithIndex = kEntry + 1;
// Of lists: the sizes that fill blocks of PageMemory.
constexpr uint32_t kFirstListCapacity = 3, kListGrowth = 4;

}  // namespace

static_assert(sizeof(Page) <= 112);
static_assert(kMaxPageObjects * kEntryWithIndex <= PageMemory::kMostBytes);
static_assert((kMaxPageObjects + kListGrowth) * sizeof(uint32_t) <= PageMemory::kMostBytes);

Page::~Page() {
  PageMemory::Give(codes_, capacity() * (has_palette_ ? kEntryWithIndex : kEntry));
  if (has_palette_) PageMemory::Give(palette_, BytesOf(palette_));
  PageMemory::Give(listed_, BytesOf(listed_));
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
  if (count_ == capacity()) Resize(capacity() + kCapacityUnit);
  if (count_ == 0 && !has_palette_) first_provenance_ = provenance;
  if (!has_palette_ && provenance != first_provenance_) MakePalette();
  uint32_t code = shape;
  if (shape >= kFirstListed) code = kFirstListed + AddTo(&listed_, shape);
  const uint32_t behind = count_ - rank;
  if (behind != 0) std::memmove(codes_ + rank + 1, codes_ + rank, behind * kEntry);
  codes_[rank] = static_cast<uint16_t>(code);
  if (has_palette_) {
    uint8_t* indexes = ProvenanceIndexes();
    const uint8_t index = PaletteIndex(provenance);
    if (behind != 0) std::memmove(indexes + rank + 1, indexes + rank, behind);
    indexes[rank] = index;
  }
  starts_[word / 64] |= uint64_t{1} << (word % 64);
  count_++;
}

uint32_t Page::CopyUnmoved(uint32_t* shapes, uint8_t* provenance_indexes) const {
  const uint8_t* const indexes = has_palette_ ? ProvenanceIndexes() : nullptr;
  uint32_t count = 0;
  if (moved_ == nullptr) {
    for (; count < count_; count++) shapes[count] = codes_[count];
    if (indexes != nullptr) std::memcpy(provenance_indexes, indexes, count);
  } else {
    uint32_t rank = 0;
    for (size_t i = 0; i < starts_.size(); i++) {
      for (uint64_t bits = starts_[i]; bits != 0; bits &= bits - 1, rank++) {
        shapes[count] = codes_[rank];
        if (indexes != nullptr) provenance_indexes[count] = indexes[rank];
        count += (moved_->starts[i] & bits & -bits) == 0;
      }
    }
  }
  if (listed_ == nullptr) return count;
  for (uint32_t i = 0; i < count; i++) {
    if (shapes[i] >= kFirstListed) shapes[i] = listed_->numbers[shapes[i] - kFirstListed];
  }
  return count;
}

void Page::SetProvenance(uint32_t rank, uint32_t provenance) {
  if (!has_palette_) {
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
    palette_->numbers[before] = provenance;
  } else {
    indexes[rank] = PaletteIndex(provenance);
  }
}

void Page::Resize(uint32_t capacity) {
  const size_t entry = has_palette_ ? kEntryWithIndex : kEntry;
  auto* const memory = static_cast<uint16_t*>(PageMemory::Take(capacity * entry));
  if (count_ != 0) std::memcpy(memory, codes_, count_ * kEntry);
  if (has_palette_) std::memcpy(memory + capacity, ProvenanceIndexes(), count_);
  PageMemory::Give(codes_, this->capacity() * entry);
  codes_ = memory;
  capacity_units_ = static_cast<uint8_t>(capacity / kCapacityUnit);
}

void Page::Close() {
  const uint32_t units = (count_ + kCapacityUnit - 1) / kCapacityUnit;
  const uint32_t enough = std::max<uint32_t>(units, 1) * kCapacityUnit;
  if (enough < capacity()) Resize(enough);
}

void Page::MakePalette() {
  List* palette = nullptr;
  AddTo(&palette, first_provenance_);
  uint16_t* codes = nullptr;
  try {
    codes = static_cast<uint16_t*>(PageMemory::Take(capacity() * kEntryWithIndex));
  } catch (const std::bad_alloc&) {
    PageMemory::Give(palette, BytesOf(palette));
    throw;
  }
  std::memcpy(codes, codes_, count_ * kEntry);
  PageMemory::Give(codes_, capacity() * kEntry);
  codes_ = codes;
  std::memset(ProvenanceIndexes(), 0, capacity());
  palette_ = palette;
  has_palette_ = true;
}

size_t Page::BytesOf(const List* list) {
  return list == nullptr ? 0 : offsetof(List, numbers) + list->capacity * sizeof(uint32_t);
}

// The number's index, which is the last one.
uint32_t Page::AddTo(List** list, uint32_t number) {
  List* const before = *list;
  if (before == nullptr || before->size == before->capacity) {
    const uint32_t capacity = before == nullptr ? kFirstListCapacity : before->capacity + kListGrowth;
    auto* const larger =
        static_cast<List*>(PageMemory::Take(offsetof(List, numbers) + capacity * sizeof(uint32_t)));
    if (before != nullptr) std::memcpy(larger, before, BytesOf(before));
    larger->size = before == nullptr ? 0 : before->size;
    larger->capacity = static_cast<uint16_t>(capacity);
    PageMemory::Give(before, BytesOf(before));
    *list = larger;
  }
  uint32_t* const numbers = (*list)->numbers;
  numbers[(*list)->size] = number;
  return (*list)->size++;
}

uint8_t Page::PaletteIndex(uint32_t provenance) {
  for (uint32_t i = palette_->size; i-- > 0;) {
    if (palette_->numbers[i] == provenance) return static_cast<uint8_t>(i);
  }
  return static_cast<uint8_t>(AddTo(&palette_, provenance));
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
  return sizeof(Page) + (moved_ == nullptr ? 0 : sizeof(Moved)) + BytesOf(listed_) +
         (has_palette_ ? BytesOf(palette_) : 0) + capacity() * (has_palette_ ? kEntryWithIndex : kEntry);
}

}  // namespace anttracks::analyzer
