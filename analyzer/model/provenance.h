// SPDX-License-Identifier: Apache-2.0
// The table of provenances: pairs of allocating thread and birth, so that an object's provenance is one number.
//
// Thread safety: none. Units: a birth is the number of collections that had ended before the allocation,
// counted from the first one in the files that are read; negative for older objects.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/id_map.h"

namespace anttracks::analyzer {

struct Provenance {
  uint64_t thread = 0;  // 0: not known
  int64_t birth = 0;
};

class ProvenanceTable {
 public:
  static constexpr uint32_t kBeforeTrace = 0;  // listed by a sync point; thread and birth are unknown
  static constexpr uint32_t kFiller = 1;

  ProvenanceTable() : entries_(2) {}

  const Provenance& operator[](uint32_t id) const { return entries_[id]; }

  // The number of this provenance. Fast if the birth is that of the call before.
  uint32_t Intern(uint64_t thread, int64_t birth) {
    if (birth != birth_) {
      birth_ = birth;
      of_thread_.clear();
    }
    const auto [at, is_new] = of_thread_.try_emplace(thread, static_cast<uint32_t>(entries_.size()));
    if (is_new) entries_.push_back({thread, birth});
    return at->second;
  }
  // Adds a provenance without looking for an equal one.
  uint32_t Add(const Provenance& provenance) {
    entries_.push_back(provenance);
    return static_cast<uint32_t>(entries_.size()) - 1;
  }

  uint64_t MemoryBytes() const { return entries_.capacity() * sizeof(Provenance); }

 private:
  std::vector<Provenance> entries_;
  int64_t birth_ = 0;
  IdMap<uint32_t> of_thread_;  // for birth_
};

}  // namespace anttracks::analyzer
