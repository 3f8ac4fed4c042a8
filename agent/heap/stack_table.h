// SPDX-License-Identifier: Apache-2.0
// Numbers for stacks: a tree in which a stack is the site of its innermost frame, and the stack of its callers.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace anttracks::core {

class StackTable {
 public:
  // The most stacks, those of callers included; this bounds the memory. Short ones are taken a little longer.
  static constexpr uint32_t kMost = 1 << 19, kMostShort = 1 << 14;
  static constexpr size_t kBytes = 48;  // of memory for each, about

  explicit StackTable(uint32_t most = kMost) : most_(most) {}

  // How many are enough for a rotated trace of that size, whose definitions are never deleted; 0: one file.
  static uint32_t MostFor(uint64_t max_bytes) {
    constexpr uint64_t kPart = 8, kRecordBytes = 12;
    return max_bytes == 0 ? kMost
                          : static_cast<uint32_t>(std::min<uint64_t>(kMost, max_bytes / kPart / kRecordBytes));
  }

  // 0: it is new.
  uint32_t Find(uint32_t caller, uint32_t site) const {
    const auto known = ids_.find(Key(caller, site));
    return known == ids_.end() ? 0 : known->second;
  }
  enum class Kind : bool { kLong, kShort };
  bool HasRoom(Kind kind) const { return ids_.size() < most_ + (kind == Kind::kShort ? kMostShort : 0); }
  // For a new one, if there is room. Throws std::bad_alloc, and nothing has changed.
  uint32_t Add(uint32_t caller, uint32_t site) {
    if (ids_.empty()) ids_.reserve(std::min<size_t>(most_, kMost));  // growing later would take long
    const auto id = static_cast<uint32_t>(ids_.size() + 1);
    ids_.emplace(Key(caller, site), id);
    return id;
  }
  size_t size() const { return ids_.size(); }

 private:
  static uint64_t Key(uint32_t caller, uint32_t site) { return uint64_t{caller} << 32 | site; }

  const uint32_t most_;
  std::unordered_map<uint64_t, uint32_t> ids_;
};

}  // namespace anttracks::core
