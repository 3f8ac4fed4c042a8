// SPDX-License-Identifier: Apache-2.0
// Interned pairs of allocating thread and birth, so that an object's provenance is one number.
//
// Thread safety: none. A birth is the number of collections that had ended before, counted from the first one
// in the files that are read; negative for what is older than they are.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace anttracks::analyzer {

struct Provenance {
  uint64_t thread = 0;  // 0: not known
  int64_t birth = 0;
};

class ProvenanceTable {
 public:
  static constexpr uint32_t kBeforeTrace = 0;  // found by a sync point, of which nothing more is known
  static constexpr uint32_t kFiller = 1;

  ProvenanceTable() : entries_(2) {}

  const Provenance& operator[](uint32_t id) const { return entries_[id]; }

  // Fast while the birth is that of the call before.
  uint32_t Intern(uint64_t thread, int64_t birth) {
    if (birth != birth_) {
      birth_ = birth;
      of_thread_.clear();
    }
    const auto [at, is_new] = of_thread_.try_emplace(thread, static_cast<uint32_t>(entries_.size()));
    if (is_new) entries_.push_back({thread, birth});
    return at->second;
  }
  // Without looking for an equal one.
  uint32_t Add(const Provenance& provenance) {
    entries_.push_back(provenance);
    return static_cast<uint32_t>(entries_.size()) - 1;
  }

  uint64_t MemoryBytes() const { return entries_.capacity() * sizeof(Provenance); }

 private:
  std::vector<Provenance> entries_;
  int64_t birth_ = 0;
  std::unordered_map<uint64_t, uint32_t> of_thread_;  // of birth_
};

}  // namespace anttracks::analyzer
