// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/call_tree.h"

#include <algorithm>
#include <tuple>

namespace anttracks::analyzer {

uint32_t CallTree::Name(const std::string& text) {
  const auto [known, added] = ids_.try_emplace(text, static_cast<uint32_t>(names_.size()));
  if (added) names_.push_back(text);
  return known->second;
}

// The parent itself if the tree is full.
uint32_t CallTree::Child(uint32_t node, uint32_t name) {
  const uint64_t key = uint64_t{node} << 32 | name;
  if (const auto known = children_.find(key); known != children_.end()) return known->second;
  if (full()) return node;
  const auto child = static_cast<uint32_t>(nodes_.size());
  children_.emplace(key, child);
  nodes_.push_back({.name = name, .parent = node, .totals = {}, .children = {}});
  nodes_[node].children.push_back(child);
  return child;
}

uint32_t CallTree::Add(std::span<const uint32_t> path, const CallTotals& totals) {
  uint32_t node = kRoot;
  nodes_[node].totals.Add(totals);
  for (const uint32_t name : path) {
    const uint32_t child = Child(node, name);
    if (child == node) break;
    node = child;
    nodes_[node].totals.Add(totals);
  }
  return node;
}

void CallTree::AddStacks(std::span<const uint32_t> path, uint64_t stacks) {
  uint32_t node = kRoot;
  nodes_[node].stacks += stacks;
  for (const uint32_t name : path) {
    const uint32_t child = Child(node, name);
    if (child == node) return;
    node = child;
    nodes_[node].stacks += stacks;
  }
}

void CallTree::Sort() {
  const auto before = [this](uint32_t a, uint32_t b) {
    const CallTotals &x = nodes_[a].totals, &y = nodes_[b].totals;
    return std::tuple(y.bytes, y.objects, name(a)) < std::tuple(x.bytes, x.objects, name(b));
  };
  for (Node& node : nodes_) std::sort(node.children.begin(), node.children.end(), before);
}

}  // namespace anttracks::analyzer
