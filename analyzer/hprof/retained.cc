// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hprof/retained.h"

namespace anttracks::hprof {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

}  // namespace

// An object is behind its dominator in the order.
void Retained::AddUp() {
  const std::span<const uint32_t> order = dominators_->order();
  for (size_t i = order.size(); i-- > 0;) {
    const uint32_t dominator = dominators_->Of(order[i]);
    if (dominator != Dominators::kAll) bytes_[dominator] += bytes_[order[i]];
  }
}

// Walks the tree of dominators and counts how many objects of each group are above the current one.
std::vector<uint64_t> Retained::Sum(uint32_t groups, std::span<const uint32_t> group) const {
  std::vector<uint32_t> child(bytes_.size(), kNone), sibling(bytes_.size(), kNone);
  uint32_t top = kNone;
  for (const uint32_t object : dominators_->order()) {
    const uint32_t dominator = dominators_->Of(object);
    uint32_t& first = dominator == Dominators::kAll ? top : child[dominator];
    sibling[object] = first;
    first = object;
  }
  std::vector<uint64_t> sums(groups);
  std::vector<uint32_t> above(groups + size_t{1}), path;
  const auto enter = [&](uint32_t object) {
    const uint32_t of = group[object];
    if (of < groups && above[of] == 0) sums[of] += bytes_[object];
    above[of]++;
    path.push_back(object);
  };
  for (; top != kNone; top = sibling[top]) {
    enter(top);
    while (!path.empty()) {
      uint32_t& next = child[path.back()];
      if (next == kNone) {
        above[group[path.back()]]--;
        path.pop_back();
        continue;
      }
      const uint32_t object = next;
      next = sibling[object];
      enter(object);
    }
  }
  return sums;
}

}  // namespace anttracks::hprof
