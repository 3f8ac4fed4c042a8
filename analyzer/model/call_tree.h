// SPDX-License-Identifier: Apache-2.0
// A tree of calls, with what was allocated below each of them.
//
// Thread safety: none. Ownership: owns its names and nodes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/model/id_map.h"

namespace anttracks::analyzer {

struct CallTotals {
  uint64_t bytes = 0, objects = 0;

  void Add(const CallTotals& other) {
    bytes += other.bytes;
    objects += other.objects;
  }
};

class CallTree {
 public:
  static constexpr uint32_t kRoot = 0;
  // The most nodes, some 150 bytes each. Then what would be a new one counts with its parent.
  static constexpr size_t kMostNodes = 4 << 20;

  struct Node {
    uint32_t name = 0, parent = 0;
    CallTotals totals;    // with all below it
    uint64_t stacks = 0;  // sampled ones that pass here; 0 at the end of a path that has none of its own
    std::vector<uint32_t> children;  // after Sort those with more bytes first
  };

  CallTree() : nodes_(1), names_(1) {}
  CallTree(const CallTree&) = delete;

  // The number of a name; equal names have equal numbers.
  uint32_t Name(const std::string& text);
  // path: names, the root's child first. Adds to each node on it, and to the root. Returns the last node.
  uint32_t Add(std::span<const uint32_t> path, const CallTotals& totals);
  void AddStacks(std::span<const uint32_t> path, uint64_t stacks);
  void Sort();

  const Node& operator[](uint32_t node) const { return nodes_[node]; }
  std::string_view name(uint32_t node) const { return names_[nodes_[node].name]; }
  size_t size() const { return nodes_.size(); }
  bool full() const { return nodes_.size() >= kMostNodes; }

 private:
  uint32_t Child(uint32_t node, uint32_t name);

  std::vector<Node> nodes_;
  IdMap<uint32_t> children_;  // by node and name
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t> ids_;  // of names
};

}  // namespace anttracks::analyzer
