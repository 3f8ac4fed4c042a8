// SPDX-License-Identifier: Apache-2.0
// Maps an allocation site and a klass to the id and the object layout of the site-class pair, without a lock.
//
// A site nearly always allocates one class: the first klass of a site is in a two-level array indexed by the
// site. Further classes of a site (reflection, clone, no site) are in a hash table with open addressing.
//
// klass is the value in the object's header: 4 bytes zero extended, or 8.
//
// Thread safety: Find at any time except during Shrink. Insert, Replace, Remove and Shrink under the caller's
// mutex; Remove at a safepoint, so that no thread looks for the klass that it removes; Shrink while no thread
// is in Find. An entry's klass is stored last and loaded first. Ownership: hash tables that were replaced by
// larger ones, and empty pages, live until Shrink, as readers may still use them. After Shrink memory is
// proportional to the pairs in the table.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/format.h"

namespace anttracks::core {

// The object layout of a site-class pair, packed: bits 0 and 1 are How, the meaning of the others depends on
// it.
class ObjectLayout {
 public:
  enum How : uint32_t { kFixed = 0, kArray = 1, kVariable = 2 };

  static ObjectLayout Fixed(uint64_t bytes) {
    return ObjectLayout(static_cast<uint32_t>(bytes / trace::kWordBytes) << 2 | kFixed);
  }
  static ObjectLayout Array(uint32_t header_bytes, uint32_t log2) {
    return ObjectLayout(header_bytes << 8 | log2 << 2 | kArray);
  }
  static ObjectLayout Variable() { return ObjectLayout(kVariable); }
  explicit ObjectLayout(uint32_t bits = 0) : bits_(bits) {}

  How how() const { return static_cast<How>(bits_ & 3); }
  uint32_t fixed_words() const { return bits_ >> 2; }
  uint32_t header_bytes() const { return bits_ >> 8; }
  uint32_t log2() const { return (bits_ >> 2) & 7; }
  uint32_t log2_if_array() const { return how() == kArray ? log2() : 0; }
  // Bytes of an object of length 0, before alignment.
  uint32_t base_bytes() const {
    return how() == kArray ? header_bytes() : fixed_words() * uint32_t{trace::kWordBytes};
  }
  // alignment: bytes, a power of two.
  uint64_t array_words(uint32_t length, uint32_t alignment) const {
    const uint64_t bytes = header_bytes() + (uint64_t{length} << log2());
    return ((bytes + alignment - 1) & ~uint64_t{alignment - 1}) / trace::kWordBytes;
  }
  uint32_t bits() const { return bits_; }

 private:
  uint32_t bits_;
};

struct SiteClass {
  uint32_t id = 0;  // 0: not known
  ObjectLayout layout;
};

class SiteClassTable {
 public:
  SiteClassTable();
  ~SiteClassTable();
  SiteClassTable(const SiteClassTable&) = delete;

  SiteClass Find(uint32_t site, uint64_t klass) const {
    const Entry* page = pages_[site >> kPageBits].load(std::memory_order_acquire);
    if (page != nullptr) [[likely]] {
      const Entry& entry = page[site & (kPageEntries - 1)];
      if (entry.klass.load(std::memory_order_acquire) == klass) [[likely]] {
        return Unpack(entry.site_class.load(std::memory_order_acquire));  // with Replace
      }
    }
    return FindHashed(site, klass);
  }

  // The pair must not be in the table. May throw std::bad_alloc.
  void Insert(uint32_t site, uint64_t klass, SiteClass site_class);
  // Another id for a pair that is in the table. Whoever looks for it meanwhile finds the one or the other.
  void Replace(uint32_t site, uint64_t klass, SiteClass site_class);
  void Remove(uint32_t site, uint64_t klass);
  // Frees the memory of removed pairs. No thread may be in Find.
  void Shrink() noexcept;

  size_t MemoryBytes() const;
  // The most entries of the hash that a look-up of a pair in the table reads. On the writer's side.
  size_t LongestSearch() const;

 private:
  static constexpr unsigned kSiteBits = 25;
  static constexpr unsigned kPageBits = 12;
  static constexpr uint32_t kPageEntries = 1u << kPageBits;
  static constexpr uint32_t kPages = 1u << (kSiteBits - kPageBits);
  // Values that no klass has: 0 is an empty entry, this one a removed entry.
  static constexpr uint64_t kRemoved = UINT64_MAX;

  struct Entry {
    std::atomic<uint64_t> klass{0};
    std::atomic<uint64_t> site_class{0};
  };
  struct HashEntry {
    std::atomic<uint64_t> klass{0};
    std::atomic<uint64_t> site_class{0};
    std::atomic<uint32_t> site{0};
  };
  struct Hash {
    explicit Hash(size_t size) : mask(size - 1), entries(new HashEntry[size]) {}
    const size_t mask;
    const std::unique_ptr<HashEntry[]> entries;
    size_t bytes() const { return sizeof(Hash) + (mask + 1) * sizeof(HashEntry); }
    size_t used = 0;  // removed ones included
    size_t live = 0;
  };
  static constexpr size_t kSmallestHash = 1 << 10;

  static uint64_t Pack(SiteClass site_class) {
    return uint64_t{site_class.id} << 32 | site_class.layout.bits();
  }
  static SiteClass Unpack(uint64_t bits) {
    return {static_cast<uint32_t>(bits >> 32), ObjectLayout(static_cast<uint32_t>(bits))};
  }
  // At most a third of the entries is in use.
  static size_t SizeFor(size_t live) { return std::max(kSmallestHash, std::bit_ceil(3 * (live + 1))); }
  static size_t HashOf(uint32_t site, uint64_t klass) {
    // A product's upper bits depend on all bits of the factors, its lower bits on the lower ones alone.
    const uint64_t h = (klass + site * 0xC2B2AE3D27D4EB4Fu) * 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(h >> 32);
  }
  static void Put(Hash& hash, uint32_t site, uint64_t klass, uint64_t site_class);
  static HashEntry* Locate(const Hash& hash, uint32_t site, uint64_t klass);
  SiteClass FindHashed(uint32_t site, uint64_t klass) const;
  void InsertHashed(uint32_t site, uint64_t klass, uint64_t site_class);
  static std::unique_ptr<Hash> Copy(const Hash& hash);

  const std::unique_ptr<std::atomic<Entry*>[]> pages_;
  std::atomic<Hash*> hash_;
  // Guarded by the caller's mutex.
  std::array<uint16_t, kPages> in_page_{};       // entries in use, by page
  std::unique_ptr<Hash> current_;                // what hash_ points to
  std::vector<std::unique_ptr<Hash>> outgrown_;  // since the last Shrink
  size_t page_count_ = 0;
  bool removed_ = false;  // since the last Shrink
};

// A thread's own cache of the table, 16 KiB: one load instead of several from slower memory. From an entry an
// object's size is computed without a branch. Left out are class pointers of 8 bytes, and pairs of variable
// size.
//
// Thread safety: none. Must be cleared when the VM unloads classes: another class may get the same klass value.
class SiteClassCache {
 public:
  class Entry {
   public:
    Entry() = default;
    Entry(uint32_t site, uint32_t klass, SiteClass site_class)
        : key_(Key(site, klass) | uint64_t{site_class.layout.log2_if_array()} << kLog2Shift |
               (site_class.layout.how() == ObjectLayout::kArray ? kHasLength : 0)),
          kind_(site_class.id),
          base_(site_class.layout.base_bytes()) {}

    bool Is(uint32_t site, uint32_t klass) const { return ((key_ ^ Key(site, klass)) & kKeyMask) == 0; }
    uint32_t site_class() const { return kind_; }
    bool has_length() const { return (key_ & kHasLength) != 0; }
    // All ones if the objects have a length, else 0.
    uint32_t length_mask() const { return static_cast<uint32_t>(static_cast<int64_t>(key_) >> 63); }
    uint32_t log2() const { return key_ >> kLog2Shift & 7; }
    uint32_t base() const { return base_; }  // bytes of an object of length 0

   private:
    static constexpr unsigned kLog2Shift = 57;
    static constexpr uint64_t kKeyMask = (uint64_t{1} << kLog2Shift) - 1;
    static constexpr uint64_t kHasLength = uint64_t{1} << 63;
    static uint64_t Key(uint32_t site, uint32_t klass) { return uint64_t{site} << 32 | klass; }

    uint64_t key_ = 0;  // klass 0: empty
    uint32_t kind_ = 0, base_ = 0;
  };

  const Entry& At(uint32_t site, uint32_t klass) const { return entries_[Slot(site, klass)]; }
  void Put(uint32_t site, uint32_t klass, SiteClass site_class) {
    entries_[Slot(site, klass)] = Entry(site, klass, site_class);
  }
  void Clear() { entries_.fill(Entry()); }

  // Counts objects whose pair's id does not fit into a column; true for one of them in kOneIn, so most likely
  // for a pair that many have. A prime, as programs do the same again and again.
  bool ChooseWide() {
    if (++wide_ < kOneIn) return false;
    wide_ = 0;
    return true;
  }

 private:
  static constexpr unsigned kSlotBits = 10;
  static constexpr uint32_t kOneIn = 61;
  // Hashes all bits: some sites allocate many classes, and sites that are used together may differ in any bit.
  static size_t Slot(uint32_t site, uint32_t klass) {
    return ((site ^ klass << 9) * 0x9E3779B1u) >> (32 - kSlotBits);
  }
  std::array<Entry, size_t{1} << kSlotBits> entries_{};
  uint32_t wide_ = 0;
};

}  // namespace anttracks::core
