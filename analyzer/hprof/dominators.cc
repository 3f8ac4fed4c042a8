// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hprof/dominators.h"

#include <algorithm>

namespace anttracks::hprof {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

}  // namespace

// Names as in the paper: semi is the semidominator, and dominator_ that or, until the last loop, a node that
// has the same dominator. waiting: the nodes whose semidominator a node is, as lists.
void Dominators::Compute() {
  const auto size = static_cast<uint32_t>(node_.size());
  semi_.resize(size);
  label_.resize(size);
  for (uint32_t i = 0; i < size; i++) semi_[i] = label_[i] = i;
  ancestor_.assign(size, kNone);
  dominator_.assign(size, 0);
  std::vector<uint32_t> waiting(size, kNone), next(size, kNone);
  for (uint32_t at = size - 1; at > 0; at--) {
    for (uint32_t i = first_predecessor_[at]; i < first_predecessor_[at + 1]; i++)
      semi_[at] = std::min(semi_[at], semi_[Best(predecessors_[i])]);
    next[at] = waiting[semi_[at]];
    waiting[semi_[at]] = at;
    const uint32_t parent = parent_[at];
    ancestor_[at] = parent;
    for (uint32_t each = waiting[parent]; each != kNone; each = next[each]) {
      const uint32_t best = Best(each);
      dominator_[each] = semi_[best] < semi_[each] ? best : parent;
    }
    waiting[parent] = kNone;
  }
  for (uint32_t at = 1; at < size; at++) {
    if (dominator_[at] != semi_[at]) dominator_[at] = dominator_[dominator_[at]];
  }
  for (std::vector<uint32_t>* done :
       {&parent_, &first_predecessor_, &predecessors_, &semi_, &ancestor_, &label_, &path_})
    *done = {};
}

// EVAL with COMPRESS: of the nodes above this one in its tree, root excluded, the one with the least
// semidominator.
uint32_t Dominators::Best(uint32_t number) {
  if (ancestor_[number] == kNone) return number;
  path_.clear();
  for (uint32_t at = number; ancestor_[ancestor_[at]] != kNone; at = ancestor_[at]) path_.push_back(at);
  for (; !path_.empty(); path_.pop_back()) {
    const uint32_t at = path_.back(), above = ancestor_[at];
    if (semi_[label_[above]] < semi_[label_[at]]) label_[at] = label_[above];
    ancestor_[at] = ancestor_[above];
  }
  return label_[number];
}

}  // namespace anttracks::hprof
