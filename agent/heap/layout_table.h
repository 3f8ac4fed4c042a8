// SPDX-License-Identifier: Apache-2.0
// Maps an allocation site to the layout of the objects that it allocates: one load per object that is read. All
// threads share the table.
//
// A site nearly always allocates one class. The table has the first class that was seen for each site, and the
// id of that site-class pair; other classes of the site are in SiteClassTable. Left out are: class pointers of
// 8 bytes, pairs whose id does not fit in a column of ids (trace/object_runs.h), classes of variable size, and
// sites from kSites on.
//
// Thread safety: entries may be read and Put called at any time; Remove only while no other thread uses the
// table. An entry's klass is stored last and loaded first; an entry in use never changes. Ownership: owns 16
// MiB of address space, which gets memory as sites are used. If the address space cannot be had the table stays
// empty.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/heap/site_class_table.h"
#include "trace/object_runs.h"

namespace anttracks::core {

class LayoutTable {
 public:
  static constexpr uint32_t kSites = 1u << 20;

  struct alignas(16) Entry {
    std::atomic<uint32_t> klass{0};  // 0: none
    uint16_t id = 0;                 // as in a column of ids
    uint8_t log2 = 0;                // log2 of an element's bytes
    uint8_t is_array = 0;
    uint32_t base_bytes = 0;   // of an object of length 0, before alignment; 0 if the entry is not in use
    uint32_t length_mask = 0;  // all ones for arrays, else 0

    bool Is(uint32_t narrow_klass) const { return klass.load(std::memory_order_acquire) == narrow_klass; }
  };
  static_assert(sizeof(Entry) == 16);

  LayoutTable() {
    void* const memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    entries_ = static_cast<Entry*>(memory);
    sites_ = kSites;
  }
  ~LayoutTable() {
    if (sites_ != 0) munmap(entries_, kBytes);
  }
  LayoutTable(const LayoutTable&) = delete;

  // For loops: look up entry 0, which is never in use, for sites from sites() on.
  const Entry* entries() const { return entries_; }
  uint32_t sites() const { return sites_; }

  void Put(uint32_t site, uint32_t klass, SiteClass site_class) {
    if (site == 0 || site >= sites_ || site_class.id > trace::kSiteClassMask ||
        site_class.layout.how() == ObjectLayout::kVariable)
      return;
    Entry& entry = entries_[site];
    uint32_t none = 0;
    if (!entry.klass.compare_exchange_strong(none, kBeingMade, std::memory_order_relaxed)) return;
    const bool is_array = site_class.layout.how() == ObjectLayout::kArray;
    entry.id = trace::IdOf(site_class.id, is_array);
    entry.log2 = static_cast<uint8_t>(site_class.layout.log2_if_array());
    entry.is_array = is_array;
    entry.base_bytes = site_class.layout.base_bytes();
    entry.length_mask = is_array ? UINT32_MAX : 0;
    entry.klass.store(klass, std::memory_order_release);
  }

  // When the class is unloaded, as another class may get the same klass value.
  void Remove(uint32_t site, uint64_t klass) {
    if (site >= sites_ || entries_[site].klass.load(std::memory_order_relaxed) != klass) return;
    Entry& entry = entries_[site];
    entry.base_bytes = entry.length_mask = 0;
    entry.klass.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kBytes = kSites * sizeof(Entry);
  static constexpr uint32_t kBeingMade = UINT32_MAX;  // never the klass of an object

  Entry none_;
  Entry* entries_ = &none_;
  uint32_t sites_ = 0;
};

}  // namespace anttracks::core
