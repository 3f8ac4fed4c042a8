// SPDX-License-Identifier: Apache-2.0
// 4 KiB of the traced heap: which words objects start at, and what each object is.
//
// A bitmap has the starts. The objects' shapes are in an array, in address order, found by rank. A shape has 2
// bytes there: shapes are numbered as they are first seen, so that most objects have one of the first 65,024.
// The number of another one is in a list of the page, and the array has its index in that. The objects of a
// page have few different provenances: while all have the same one, an object costs 2 bytes; otherwise it
// costs 3, and the page has a palette; if that has more than 256 provenances, 4. Most JVMs' objects have at
// least two words, but with compact headers some have one.
//
// Thread safety: none. Ownership: owns its arrays; they and the page itself are allocated from PageMemory.
// Units: words of 8 bytes, counted from the page's start. Invariant: objects overlap neither each other nor the
// first covered() words, which belong to an object that starts in an earlier page.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "analyzer/model/page_memory.h"

namespace anttracks::analyzer {

inline constexpr uint32_t kPageWords = 512;
inline constexpr uint32_t kMinObjectWords = 1;
inline constexpr uint32_t kMaxPageObjects = kPageWords / kMinObjectWords;

class Page {
 public:
  Page() = default;
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  ~Page();
  static void* operator new(size_t bytes) { return PageMemory::Take(bytes); }
  static void operator delete(void* page, size_t bytes) { PageMemory::Give(page, bytes); }

  uint32_t count() const { return count_; }
  // Words of all its objects, including their parts in later pages.
  uint64_t words() const { return words_; }
  uint32_t moved_count() const { return moved_ == nullptr ? 0 : moved_->count; }
  uint64_t moved_words() const { return moved_ == nullptr ? 0 : moved_->words; }
  uint32_t covered() const { return covered_; }
  // The end of the last object, at most kPageWords; covered() if there is no object.
  uint32_t end() const { return end_; }

  bool IsStart(uint32_t word) const { return (starts_[word / 64] >> (word % 64)) & 1; }
  // The number of objects that start before the word.
  uint32_t Rank(uint32_t word) const {
    uint32_t rank = 0;
    for (uint32_t i = 0; i < word / 64; i++) rank += std::popcount(starts_[i]);
    return rank + std::popcount(starts_[word / 64] & ((uint64_t{1} << (word % 64)) - 1));
  }
  // The first start at or after the word, or kPageWords if there is none.
  uint32_t NextStart(uint32_t word) const {
    if (word >= kPageWords) return kPageWords;
    uint32_t i = word / 64;
    uint64_t bits = starts_[i] & (~uint64_t{0} << (word % 64));
    while (bits == 0) {
      if (++i == starts_.size()) return kPageWords;
      bits = starts_[i];
    }
    return i * 64 + static_cast<uint32_t>(std::countr_zero(bits));
  }
  // The last start before the word, or kPageWords if there is none.
  uint32_t PreviousStart(uint32_t word) const;

  uint32_t shape(uint32_t rank) const {
    const uint32_t code = codes_[rank];
    return code < kFirstListed ? code : listed_->numbers[code - kFirstListed];
  }
  // The objects that were not moved, in address order: their shapes and, if there is a palette, the indexes of
  // their provenances in that. Both have room for count(). Returns how many they are.
  uint32_t CopyUnmoved(uint32_t* shapes, uint16_t* provenance_indexes) const;
  uint32_t provenance_of_index(uint16_t index) const {
    return has_palette() ? palette_->numbers[index] : first_provenance_;
  }
  // All its objects have the same provenance.
  bool one_provenance() const { return !has_palette(); }
  uint32_t provenance(uint32_t rank) const {
    return has_palette() ? palette_->numbers[IndexAt(rank)] : first_provenance_;
  }

  // Its arrays are full. It enlarges them itself, but in small steps.
  bool full() const { return count_ == capacity() && count_ != 0; }
  // Open makes room for as many objects as a page can have; Close gives back what was not needed.
  void Open() { Resize(kMaxPageObjects); }
  void Close();

  // Adds an object at or after end().
  void Append(uint32_t word, uint32_t words, uint32_t shape, uint32_t provenance) {
    words_ += words;
    if (count_ < capacity() && !has_palette() && provenance == first_provenance_ && count_ != 0 &&
        shape < kFirstListed) [[likely]] {
      codes_[count_++] = static_cast<uint16_t>(shape);
      starts_[word / 64] |= uint64_t{1} << (word % 64);
    } else {
      AddAt(word, count_, shape, provenance);
    }
    end_ = static_cast<uint16_t>(words < kPageWords - word ? word + words : kPageWords);
  }
  // Adds neighbours, the first one at the word, as long as they end at or before the limit and need no more
  // room than there is, no list and no palette. Returns how many; end() is behind the last one.
  size_t AppendRun(uint32_t word, std::span<const uint32_t> shapes, std::span<const uint32_t> words,
                   uint32_t limit, uint32_t provenance) {
    if (count_ == 0 && !has_palette()) first_provenance_ = provenance;
    if (word < end_ || has_palette() || provenance != first_provenance_) return 0;
    const size_t most = std::min<size_t>(shapes.size(), capacity() - count_);
    uint16_t* const codes = codes_ + count_;
    uint32_t at = word, last = word / 64;
    uint64_t bits = starts_[last];  // of starts_[last]; behind it there are none
    size_t count = 0;
    for (; count < most; count++) {
      if (words[count] > limit - at || shapes[count] >= kFirstListed) break;
      codes[count] = static_cast<uint16_t>(shapes[count]);
      bits = (at / 64 == last ? bits : 0) | uint64_t{1} << (at % 64);
      last = at / 64;
      starts_[last] = bits;
      at += words[count];
    }
    if (count == 0) return 0;
    count_ += static_cast<uint16_t>(count);
    words_ += at - word;
    end_ = static_cast<uint16_t>(at);
    return count;
  }
  // Adds an object before others. The caller must have checked that it overlaps none.
  void Insert(uint32_t word, uint32_t words, uint32_t shape, uint32_t provenance) {
    words_ += words;
    AddAt(word, Rank(word), shape, provenance);
  }
  void SetProvenance(uint32_t rank, uint32_t provenance);
  void Cover(uint32_t words) {
    covered_ = static_cast<uint16_t>(words);
    if (end_ < words) end_ = static_cast<uint16_t>(words);
  }

  // For a walk over pages: the processor begins to load the page's arrays, or the page itself.
  void FetchArrays() const {
    __builtin_prefetch(codes_);
    __builtin_prefetch(moved_);
  }
  void Fetch() const {
    __builtin_prefetch(this);
    __builtin_prefetch(reinterpret_cast<const char*>(this) + sizeof(Page) - 1);
  }

  // Marks the object that starts at the word and has that many words. False: it was marked before.
  bool MarkMoved(uint32_t word, uint32_t words);
  bool IsMoved(uint32_t word) const {
    return moved_ != nullptr && (moved_->starts[word / 64] >> (word % 64)) & 1;
  }

  uint64_t MemoryBytes() const;

 private:
  using Bits = std::array<uint64_t, kPageWords / 64>;
  struct Moved {
    Bits starts{};
    uint64_t words = 0;
    uint32_t count = 0;
  };

  // Numbers that are not in the arrays themselves.
  struct List {
    uint16_t size, capacity;
    uint32_t numbers[1];  // capacity of them
  };
  static constexpr uint32_t kFirstListed = 0xFE00;  // up to this number a shape is its own code
  static_assert(kFirstListed + kMaxPageObjects <= 0x10000, "a code has 2 bytes");
  static constexpr uint32_t kCapacityUnit = 8;     // objects
  static constexpr uint32_t kNarrowPalette = 256;  // provenances whose indexes have a byte

  uint32_t capacity() const { return capacity_units_ * kCapacityUnit; }
  bool has_palette() const { return index_bytes_ != 0; }
  // Bytes of codes_.
  size_t BytesOfArrays(uint32_t capacity) const { return capacity * (sizeof *codes_ + index_bytes_); }
  // Indexes into the palette, of index_bytes_ bytes each.
  const uint8_t* Indexes() const { return reinterpret_cast<const uint8_t*>(codes_ + capacity()); }
  uint8_t* Indexes() { return reinterpret_cast<uint8_t*>(codes_ + capacity()); }
  uint32_t IndexAt(uint32_t rank) const {
    const uint8_t* const indexes = Indexes();
    return index_bytes_ == 1 ? indexes[rank] : reinterpret_cast<const uint16_t*>(indexes)[rank];
  }
  void SetIndex(uint32_t rank, uint32_t index);
  void CopyIndexes(uint16_t* to) const;

  void AddAt(uint32_t word, uint32_t rank, uint32_t shape, uint32_t provenance);
  void Resize(uint32_t capacity);
  void MakePalette();
  void WidenIndexes();
  static size_t BytesOf(const List* list);
  static uint32_t AddTo(List** list, uint32_t number);
  uint32_t PaletteIndex(uint32_t provenance);

  Bits starts_{};
  Moved* moved_ = nullptr;
  uint16_t* codes_ = nullptr;  // capacity() codes, then as many indexes into the palette if there is one
  List* listed_ = nullptr;     // shapes that do not fit into a code; nullptr: there are none
  union {
    uint32_t first_provenance_ = 0;  // that of all objects
    List* palette_;
  };
  uint64_t words_ = 0;
  uint16_t count_ = 0;
  uint16_t covered_ = 0;
  uint16_t end_ = 0;
  uint8_t capacity_units_ = 0;
  uint8_t index_bytes_ = 0;  // of an index into the palette, 1 or 2; 0: there is no palette
};

}  // namespace anttracks::analyzer
