// SPDX-License-Identifier: Apache-2.0
// A table from dense ids to values that grows by pages. Distant ids, which no agent writes, are stored one by
// one, so that memory is bounded by the number of values.
//
// Thread safety: none. Ownership: owns its values; pointers to values stay valid until the next FindOrAdd.
// Ids above kMaxId are refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "trace/format.h"

namespace anttracks::analyzer {

template <class T>
class PagedTable {
 public:
  static constexpr uint64_t kMaxId = trace::kMaxId;

  // The value of the id, made by default construction if new; nullptr if the id is above kMaxId.
  T* FindOrAdd(uint64_t id) {
    if (id > kMaxId) return nullptr;
    if (T* const found = Find(id)) return found;
    const size_t page = id / kPage;
    added_++;
    // A page is worth its memory once every fourth of its values may be there.
    if (page >= kFirstPages + added_ / 32 || used_pages_ >= kFirstPages + added_ / 64) return &apart_[id];
    AddPage(page);
    return &(*pages_[page])[id % kPage];
  }

  // nullptr: the id was never added. May also return a default-constructed value for an id that was not.
  const T* Find(uint64_t id) const {
    const size_t page = id / kPage;
    if (page < pages_.size() && pages_[page]) [[likely]]
      return &(*pages_[page])[id % kPage];
    if (apart_.empty()) return nullptr;
    const auto found = apart_.find(id);
    return found == apart_.end() ? nullptr : &found->second;
  }
  T* Find(uint64_t id) { return const_cast<T*>(std::as_const(*this).Find(id)); }

  // Calls visit(id, const T&) in the order of ids: for all ids that were added, and for others on their pages.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    auto next = apart_.begin();
    for (size_t page = 0; page < pages_.size(); page++) {
      if (!pages_[page]) continue;
      for (; next != apart_.end() && next->first < page * kPage; ++next) visit(next->first, next->second);
      for (size_t i = 0; i < kPage; i++) visit(page * kPage + i, (*pages_[page])[i]);
    }
    for (; next != apart_.end(); ++next) visit(next->first, next->second);
  }

 private:
  static constexpr size_t kPage = 256;
  static constexpr size_t kFirstPages = 4;
  using Entries = std::array<T, kPage>;

  void AddPage(size_t page) {
    if (page >= pages_.size()) pages_.resize(page + 1);
    pages_[page] = std::make_unique<Entries>();
    used_pages_++;
    const auto first = apart_.lower_bound(page * kPage), end = apart_.lower_bound((page + 1) * kPage);
    for (auto at = first; at != end; ++at) (*pages_[page])[at->first % kPage] = std::move(at->second);
    apart_.erase(first, end);
  }

  std::vector<std::unique_ptr<Entries>> pages_;
  size_t used_pages_ = 0;
  uint64_t added_ = 0;           // values outside of pages, and pages
  std::map<uint64_t, T> apart_;  // ids that have no page
};

}  // namespace anttracks::analyzer
