// SPDX-License-Identifier: Apache-2.0
#include "agent/core/kind_table.h"

namespace anttracks::core {

KindTable::KindTable() : pages_(new std::atomic<Entry*>[kPages]()) {
  hashes_.push_back(std::make_unique<Hash>(size_t{1} << 10));
  hash_.store(hashes_.back().get(), std::memory_order_release);
}

KindTable::~KindTable() {
  for (uint32_t i = 0; i < kPages; i++) delete[] pages_[i].load(std::memory_order_relaxed);  // single owner
}

KindTable::HashEntry* KindTable::Locate(const Hash& hash, uint32_t site, uint64_t klass) {
  for (size_t i = HashOf(site, klass) & hash.mask;; i = (i + 1) & hash.mask) {
    HashEntry& entry = hash.entries[i];
    const uint64_t found = entry.klass.load(std::memory_order_acquire);
    if (found == 0) return nullptr;
    // site is ordered by the load of klass
    if (found == klass && entry.site.load(std::memory_order_relaxed) == site) return &entry;
  }
}

Kind KindTable::FindHashed(uint32_t site, uint64_t klass) const {
  const HashEntry* entry = Locate(*hash_.load(std::memory_order_acquire), site, klass);
  return entry == nullptr ? Kind() : Unpack(entry->kind.load(std::memory_order_relaxed));  // ordered by klass
}

void KindTable::Put(Hash& hash, uint32_t site, uint64_t klass, uint64_t kind) {
  size_t i = HashOf(site, klass) & hash.mask;
  // Single writer: nobody else changes entries.
  while (hash.entries[i].klass.load(std::memory_order_relaxed) != 0) i = (i + 1) & hash.mask;
  HashEntry& entry = hash.entries[i];
  entry.site.store(site, std::memory_order_relaxed);
  entry.kind.store(kind, std::memory_order_relaxed);
  entry.klass.store(klass, std::memory_order_release);
  hash.used++;
}

void KindTable::InsertHashed(uint32_t site, uint64_t klass, uint64_t kind) {
  Hash* hash = hashes_.back().get();
  if ((hash->used + 1) * 2 > hash->mask + 1) {
    auto bigger = std::make_unique<Hash>((hash->mask + 1) * 2);
    for (size_t i = 0; i <= hash->mask; i++) {
      const HashEntry& entry = hash->entries[i];
      const uint64_t old = entry.klass.load(std::memory_order_relaxed);  // single writer, as above
      if (old == 0 || old == kRemoved) continue;
      Put(*bigger, entry.site.load(std::memory_order_relaxed), old, entry.kind.load(std::memory_order_relaxed));
    }
    hashes_.push_back(std::move(bigger));
    hash = hashes_.back().get();
    hash_.store(hash, std::memory_order_release);
  }
  Put(*hash, site, klass, kind);
}

void KindTable::Insert(uint32_t site, uint64_t klass, Kind kind) {
  std::atomic<Entry*>& slot = pages_[site >> kPageBits];
  Entry* page = slot.load(std::memory_order_relaxed);  // only this side stores pages
  if (page == nullptr) {
    page = new Entry[kPageEntries];
    slot.store(page, std::memory_order_release);
  }
  Entry& entry = page[site & (kPageEntries - 1)];
  if (entry.klass.load(std::memory_order_relaxed) != 0) {
    InsertHashed(site, klass, Pack(kind));
    return;
  }
  entry.kind.store(Pack(kind), std::memory_order_relaxed);
  entry.klass.store(klass, std::memory_order_release);
}

void KindTable::Remove(uint32_t site, uint64_t klass) {
  Entry* page = pages_[site >> kPageBits].load(std::memory_order_relaxed);
  if (page != nullptr) {
    Entry& entry = page[site & (kPageEntries - 1)];
    if (entry.klass.load(std::memory_order_relaxed) == klass) {
      entry.klass.store(0, std::memory_order_release);
      entry.kind.store(0, std::memory_order_relaxed);  // nobody looks for klass any more
      return;
    }
  }
  HashEntry* entry = Locate(*hashes_.back(), site, klass);
  if (entry != nullptr) entry->klass.store(kRemoved, std::memory_order_release);
}

}  // namespace anttracks::core
