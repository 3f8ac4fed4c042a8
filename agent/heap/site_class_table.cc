// SPDX-License-Identifier: Apache-2.0
#include "agent/heap/site_class_table.h"

#include <new>
#include <utility>

namespace anttracks::core {

SiteClassTable::SiteClassTable() : pages_(new std::atomic<Entry*>[kPages]()) {
  current_ = std::make_unique<Hash>(kSmallestHash);
  hash_.store(current_.get(), std::memory_order_release);
}

SiteClassTable::~SiteClassTable() {
  for (uint32_t i = 0; i < kPages; i++) delete[] pages_[i].load(std::memory_order_relaxed);  // single owner
}

SiteClassTable::HashEntry* SiteClassTable::Locate(const Hash& hash, uint32_t site, uint64_t klass) {
  for (size_t i = HashOf(site, klass) & hash.mask;; i = (i + 1) & hash.mask) {
    HashEntry& entry = hash.entries[i];
    const uint64_t found = entry.klass.load(std::memory_order_acquire);
    if (found == 0) return nullptr;
    // site is ordered by the load of klass
    if (found == klass && entry.site.load(std::memory_order_relaxed) == site) return &entry;
  }
}

SiteClass SiteClassTable::FindHashed(uint32_t site, uint64_t klass) const {
  const HashEntry* entry = Locate(*hash_.load(std::memory_order_acquire), site, klass);
  return entry == nullptr ? SiteClass()
                          : Unpack(entry->site_class.load(std::memory_order_acquire));  // with Replace
}

void SiteClassTable::Put(Hash& hash, uint32_t site, uint64_t klass, uint64_t site_class) {
  size_t i = HashOf(site, klass) & hash.mask;
  // Single writer: nobody else changes entries.
  while (hash.entries[i].klass.load(std::memory_order_relaxed) != 0) i = (i + 1) & hash.mask;
  HashEntry& entry = hash.entries[i];
  entry.site.store(site, std::memory_order_relaxed);
  entry.site_class.store(site_class, std::memory_order_relaxed);
  entry.klass.store(klass, std::memory_order_release);
  hash.used++;
  hash.live++;
}

// Without removed entries.
std::unique_ptr<SiteClassTable::Hash> SiteClassTable::Copy(const Hash& hash) {
  auto copy = std::make_unique<Hash>(SizeFor(hash.live));
  for (size_t i = 0; i <= hash.mask; i++) {
    const HashEntry& entry = hash.entries[i];
    const uint64_t klass = entry.klass.load(std::memory_order_relaxed);  // single writer, as in Put
    if (klass == 0 || klass == kRemoved) continue;
    Put(*copy, entry.site.load(std::memory_order_relaxed), klass,
        entry.site_class.load(std::memory_order_relaxed));
  }
  return copy;
}

void SiteClassTable::InsertHashed(uint32_t site, uint64_t klass, uint64_t site_class) {
  if ((current_->used + 1) * 2 > current_->mask + 1) {
    std::unique_ptr<Hash> next = Copy(*current_);
    outgrown_.push_back(nullptr);  // what throws leaves all as it is
    outgrown_.back() = std::exchange(current_, std::move(next));
    hash_.store(current_.get(), std::memory_order_release);
  }
  Put(*current_, site, klass, site_class);
}

void SiteClassTable::Insert(uint32_t site, uint64_t klass, SiteClass site_class) {
  std::atomic<Entry*>& slot = pages_[site >> kPageBits];
  Entry* page = slot.load(std::memory_order_relaxed);  // only this side stores pages
  if (page == nullptr) {
    page = new Entry[kPageEntries];
    page_count_++;
    slot.store(page, std::memory_order_release);
  }
  Entry& entry = page[site & (kPageEntries - 1)];
  if (entry.klass.load(std::memory_order_relaxed) != 0) {
    InsertHashed(site, klass, Pack(site_class));
    return;
  }
  entry.site_class.store(Pack(site_class), std::memory_order_relaxed);
  entry.klass.store(klass, std::memory_order_release);
  in_page_[site >> kPageBits]++;
}

void SiteClassTable::Replace(uint32_t site, uint64_t klass, SiteClass site_class) {
  Entry* const page = pages_[site >> kPageBits].load(std::memory_order_relaxed);
  if (page != nullptr) {
    Entry& entry = page[site & (kPageEntries - 1)];
    if (entry.klass.load(std::memory_order_relaxed) == klass) {
      // Whoever finds the new id has its definition before it in the file.
      entry.site_class.store(Pack(site_class), std::memory_order_release);
      return;
    }
  }
  HashEntry* const entry = Locate(*current_, site, klass);
  if (entry != nullptr) entry->site_class.store(Pack(site_class), std::memory_order_release);
}

void SiteClassTable::Remove(uint32_t site, uint64_t klass) {
  removed_ = true;
  Entry* page = pages_[site >> kPageBits].load(std::memory_order_relaxed);
  if (page != nullptr) {
    Entry& entry = page[site & (kPageEntries - 1)];
    if (entry.klass.load(std::memory_order_relaxed) == klass) {
      entry.klass.store(0, std::memory_order_release);
      entry.site_class.store(0, std::memory_order_relaxed);  // nobody looks for klass any more
      in_page_[site >> kPageBits]--;
      return;
    }
  }
  HashEntry* entry = Locate(*current_, site, klass);
  if (entry == nullptr) return;
  entry->klass.store(kRemoved, std::memory_order_release);
  current_->live--;
}

void SiteClassTable::Shrink() noexcept {
  outgrown_.clear();
  if (!std::exchange(removed_, false)) return;
  for (uint32_t i = 0; i < kPages; i++) {
    Entry* const page = pages_[i].load(std::memory_order_relaxed);  // only this side stores pages
    if (page == nullptr || in_page_[i] != 0) continue;
    pages_[i].store(nullptr, std::memory_order_release);
    delete[] page;
    page_count_--;
  }
  // Not for a few: copying takes time in the pause.
  const size_t removed = current_->used - current_->live;
  if (4 * removed < current_->mask && current_->mask < 4 * SizeFor(current_->live)) return;
  try {
    current_ = Copy(*current_);
    hash_.store(current_.get(), std::memory_order_release);
  } catch (const std::bad_alloc&) {
    removed_ = true;  // stays as it is until next time
  }
}

size_t SiteClassTable::MemoryBytes() const {
  size_t bytes =
      sizeof *this + kPages * sizeof(std::atomic<Entry*>) + page_count_ * kPageEntries * sizeof(Entry);
  for (const auto& hash : outgrown_) bytes += hash->bytes();
  return bytes + current_->bytes();
}

size_t SiteClassTable::LongestSearch() const {
  size_t longest = 0;
  for (size_t i = 0; i <= current_->mask; i++) {
    const HashEntry& entry = current_->entries[i];
    const uint64_t klass = entry.klass.load(std::memory_order_relaxed);  // single writer
    if (klass == 0 || klass == kRemoved) continue;
    const size_t home = HashOf(entry.site.load(std::memory_order_relaxed), klass);
    longest = std::max(longest, ((i - home) & current_->mask) + 1);
  }
  return longest;
}

}  // namespace anttracks::core
