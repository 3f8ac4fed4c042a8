// SPDX-License-Identifier: Apache-2.0
// A table from dense ids to values that grows by pages, so that one large id costs one page.
//
// Thread safety: none. Ownership: owns its values; pointers to values stay valid until destruction.
// Ids above kMaxId are refused: a trace cannot make the table's directory larger than 2 MiB.
#pragma once

#include <array>
#include <cstdint>
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
    const size_t page = id / kPage;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (!pages_[page]) pages_[page] = std::make_unique<Entries>();
    if (id >= limit_) limit_ = id + 1;
    return &(*pages_[page])[id % kPage];
  }

  // nullptr where nothing near the id was ever added; otherwise possibly a default-constructed value.
  const T* Find(uint64_t id) const {
    const size_t page = id / kPage;
    if (page >= pages_.size() || !pages_[page]) return nullptr;
    return &(*pages_[page])[id % kPage];
  }
  T* Find(uint64_t id) { return const_cast<T*>(std::as_const(*this).Find(id)); }

  // One more than the largest id added.
  uint64_t limit() const { return limit_; }

 private:
  static constexpr size_t kPage = 256;
  using Entries = std::array<T, kPage>;
  std::vector<std::unique_ptr<Entries>> pages_;
  uint64_t limit_ = 0;
};

}  // namespace anttracks::analyzer
