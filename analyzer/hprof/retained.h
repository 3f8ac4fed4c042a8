// SPDX-License-Identifier: Apache-2.0
// Retained sizes: the bytes of an object and of all that it dominates, which are what the JVM could free if the
// object were gone.
//
// Thread safety: none. Ownership: borrows what it is made with. Memory: 8 bytes per object, and 12 while
// ByGroup runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/hprof/dominators.h"

namespace anttracks::hprof {

class Retained {
 public:
  // size(object): its own bytes.
  template <class Size>
  Retained(const Dominators& dominators, uint32_t objects, Size&& size)
      : dominators_(&dominators), bytes_(objects) {
    for (const uint32_t object : dominators.order()) bytes_[object] = size(object);
    AddUp();
  }

  // 0 of what no root reaches.
  uint64_t bytes(uint32_t object) const { return bytes_[object]; }

  // By group, of `groups` many: the sum over those objects of the group that no other one of it dominates, so
  // that nothing is counted twice. What several objects of a group hold together, and none of them alone, is
  // not in it: it is the least that would be freed with the group. group(object): a number, or `groups` for
  // none.
  template <class Group>
  std::vector<uint64_t> ByGroup(uint32_t groups, Group&& group) const {
    std::vector<uint32_t> of(bytes_.size(), groups);
    for (const uint32_t object : dominators_->order()) of[object] = group(object);
    return Sum(groups, of);
  }

 private:
  void AddUp();
  std::vector<uint64_t> Sum(uint32_t groups, std::span<const uint32_t> group) const;

  const Dominators* dominators_;
  std::vector<uint64_t> bytes_;
};

}  // namespace anttracks::hprof
