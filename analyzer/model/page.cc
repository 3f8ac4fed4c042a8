// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/page.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

namespace anttracks::analyzer {
namespace {

constexpr size_t kEntry = sizeof(uint16_t), kMostIndexBytes = 2;
// Of lists: the sizes that fill blocks of PageMemory.
constexpr uint32_t kFirstListCapacity = 3, kListGrowth = 4;

}  // namespace

static_assert(sizeof(Page) <= 112);
static_assert(kMaxPageObjects * (kEntry + kMostIndexBytes) <= PageMemory::kMostBytes);
static_assert((kMaxPageObjects + kListGrowth) * sizeof(uint32_t) <= PageMemory::kMostBytes);

Page::~Page() {
  PageMemory::Give(codes_, BytesOfArrays(capacity()));
  if (has_palette()) PageMemory::Give(palette_, BytesOf(palette_));
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
  if (count_ == 0 && !has_palette()) first_provenance_ = provenance;
  if (!has_palette() && provenance != first_provenance_) MakePalette();
  const uint32_t index = has_palette() ? PaletteIndex(provenance) : 0;  // may replace codes_
  uint32_t code = shape;
  if (shape >= kFirstListed) code = kFirstListed + AddTo(&listed_, shape);
  const uint32_t behind = count_ - rank;
  if (behind != 0) std::memmove(codes_ + rank + 1, codes_ + rank, behind * kEntry);
  codes_[rank] = static_cast<uint16_t>(code);
  if (has_palette()) {
    uint8_t* const at = Indexes() + size_t{rank} * index_bytes_;
    if (behind != 0) std::memmove(at + index_bytes_, at, size_t{behind} * index_bytes_);
    SetIndex(rank, index);
  }
  starts_[word / 64] |= uint64_t{1} << (word % 64);
  count_++;
}

void Page::SetIndex(uint32_t rank, uint32_t index) {
  if (index_bytes_ == 1) {
    Indexes()[rank] = static_cast<uint8_t>(index);
  } else {
    reinterpret_cast<uint16_t*>(Indexes())[rank] = static_cast<uint16_t>(index);
  }
}

void Page::CopyIndexes(uint16_t* to) const {
  const uint8_t* const from = Indexes();
  const uint32_t count = count_;
  if (index_bytes_ == 1) {
    for (uint32_t i = 0; i < count; i++) to[i] = from[i];
  } else {
    std::memcpy(to, from, count * sizeof *to);
  }
}

uint32_t Page::CopyUnmoved(uint32_t* shapes, uint16_t* provenance_indexes) const {
  uint32_t count = 0;
  if (moved_ == nullptr) {
    for (; count < count_; count++) shapes[count] = codes_[count];
    if (has_palette()) CopyIndexes(provenance_indexes);
  } else {
    // What the stores might change is read once.
    const uint16_t* const codes = codes_;
    const uint8_t* const narrow = index_bytes_ == 1 ? Indexes() : nullptr;
    const auto* const wide = index_bytes_ == 2 ? reinterpret_cast<const uint16_t*>(Indexes()) : nullptr;
    uint32_t rank = 0;
    for (size_t i = 0; i < starts_.size(); i++) {
      for (uint64_t bits = starts_[i]; bits != 0; bits &= bits - 1, rank++) {
        shapes[count] = codes[rank];
        if (narrow != nullptr) provenance_indexes[count] = narrow[rank];
        if (wide != nullptr) provenance_indexes[count] = wide[rank];
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
  if (!has_palette()) {
    if (provenance == first_provenance_) return;
    if (count_ == 1) {
      first_provenance_ = provenance;
      return;
    }
    MakePalette();
  }
  // Each entry stays in use, so that there are never more of them than objects.
  const uint32_t before = IndexAt(rank);
  const uint8_t* const narrow = Indexes();
  const auto* const wide = reinterpret_cast<const uint16_t*>(narrow);
  const auto users = index_bytes_ == 1 ? std::count(narrow, narrow + count_, static_cast<uint8_t>(before))
                                       : std::count(wide, wide + count_, static_cast<uint16_t>(before));
  if (users == 1) {
    palette_->numbers[before] = provenance;
  } else {
    SetIndex(rank, PaletteIndex(provenance));
  }
}

void Page::Resize(uint32_t capacity) {
  auto* const memory = static_cast<uint16_t*>(PageMemory::Take(BytesOfArrays(capacity)));
  if (count_ != 0) std::memcpy(memory, codes_, count_ * kEntry);
  if (has_palette()) std::memcpy(memory + capacity, Indexes(), size_t{count_} * index_bytes_);
  PageMemory::Give(codes_, BytesOfArrays(this->capacity()));
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
    codes = static_cast<uint16_t*>(PageMemory::Take(capacity() * (kEntry + 1)));
  } catch (const std::bad_alloc&) {
    PageMemory::Give(palette, BytesOf(palette));
    throw;
  }
  std::memcpy(codes, codes_, count_ * kEntry);
  PageMemory::Give(codes_, capacity() * kEntry);
  codes_ = codes;
  palette_ = palette;
  index_bytes_ = 1;
  std::memset(Indexes(), 0, capacity());
}

// The palette has become too large for indexes of one byte.
void Page::WidenIndexes() {
  auto* const codes = static_cast<uint16_t*>(PageMemory::Take(capacity() * (kEntry + kMostIndexBytes)));
  std::memcpy(codes, codes_, count_ * kEntry);
  for (uint32_t i = 0; i < count_; i++) codes[capacity() + i] = Indexes()[i];
  PageMemory::Give(codes_, BytesOfArrays(capacity()));
  codes_ = codes;
  index_bytes_ = kMostIndexBytes;
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

uint32_t Page::PaletteIndex(uint32_t provenance) {
  for (uint32_t i = palette_->size; i-- > 0;) {
    if (palette_->numbers[i] == provenance) return i;
  }
  if (palette_->size == kNarrowPalette && index_bytes_ == 1) WidenIndexes();
  return AddTo(&palette_, provenance);
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
         (has_palette() ? BytesOf(palette_) : 0) + BytesOfArrays(capacity());
}

}  // namespace anttracks::analyzer
