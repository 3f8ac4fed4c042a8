// SPDX-License-Identifier: Apache-2.0
// The pages of a heap by number: a tree whose nodes have 64 children. Distant pages cost a few hundred bytes
// each, and the time of a walk over a range depends on the pages in it only, however large a heap the trace
// claims.
//
// Thread safety: none, not even for const calls. Ownership: owns the pages.
// Invariant: every node but the root has a child.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyzer/model/page.h"

namespace anttracks::analyzer {

class PageTree {
 public:
  static constexpr uint64_t kNone = UINT64_MAX;

  // For pages 0 to count - 1.
  explicit PageTree(uint64_t count) : root_((count + kSpan<Branch> - 1) / kSpan<Branch>) {}

  // nullptr if there is none. Fast if the page is near that of the call before.
  Page* Find(uint64_t index) const {
    const uint64_t number = index / kWays;
    if (number != near_number_ && !Approach(index)) return nullptr;
    return near_->children[index % kWays].get();
  }

  // The page; made if there is none. A new page must be filled at once, as the tree has no empty pages.
  Page* FindOrAdd(uint64_t index) {
    auto& branch = root_[index / kSpan<Branch>];
    if (!branch) branch = std::make_unique<Branch>();
    Twig& twig = Child(*branch, index);
    Leaf& leaf = Child(twig, index);
    return &Child(leaf, index);
  }
  void Remove(uint64_t index);
  void Replace(uint64_t index, std::unique_ptr<Page> page) {
    FindOrAdd(index);
    Approach(index);
    near_->children[index % kWays] = std::move(page);
  }
  void Clear() {
    for (auto& branch : root_) branch.reset();
    Forget();
  }
  void Swap(PageTree& other) {
    root_.swap(other.root_);
    Forget();
    other.Forget();
  }

  // The first and the last page in [from, end); kNone if there is none.
  uint64_t First(uint64_t from, uint64_t end) const;
  uint64_t Last(uint64_t from, uint64_t end) const;

  // Memory of pages and nodes.
  uint64_t MemoryBytes() const;

 private:
  static constexpr uint64_t kWays = 64;
  template <class T>
  struct Node {
    uint64_t used = 0;  // one bit per child
    std::array<std::unique_ptr<T>, kWays> children;
  };
  using Leaf = Node<Page>;
  using Twig = Node<Leaf>;
  using Branch = Node<Twig>;
  // How many page numbers a subtree covers.
  template <class T>
  static constexpr uint64_t kSpan = std::is_same_v<T, Page> ? 1
                                    : std::is_same_v<T, Leaf>
                                        ? kWays
                                        : kWays* kWays*(std::is_same_v<T, Twig> ? 1 : kWays);

  template <class T>
  static T& Child(Node<T>& node, uint64_t index) {
    const uint64_t at = index / kSpan<T> % kWays;
    if (!node.children[at]) {
      node.children[at] = std::make_unique<T>();
      node.used |= uint64_t{1} << at;
    }
    return *node.children[at];
  }
  template <class T>
  static const T* FindChild(const Node<T>& node, uint64_t index) {
    return node.children[index / kSpan<T> % kWays].get();
  }
  template <class T>
  static bool RemoveIn(Node<T>& node, uint64_t index);
  template <class T>
  static uint64_t FirstIn(const Node<T>& node, uint64_t from);
  template <class T>
  static uint64_t LastIn(const Node<T>& node, uint64_t end);
  template <class T>
  static uint64_t BytesOf(const Node<T>& node);

  // Makes the leaf of the index the near one. False: there is none.
  bool Approach(uint64_t index) const {
    const Branch* branch = root_[index / kSpan<Branch>].get();
    const Twig* twig = branch == nullptr ? nullptr : FindChild(*branch, index);
    const Leaf* leaf = twig == nullptr ? nullptr : FindChild(*twig, index);
    if (leaf == nullptr) return false;
    near_ = const_cast<Leaf*>(leaf);
    near_number_ = index / kWays;
    return true;
  }
  void Forget() {
    near_ = nullptr;
    near_number_ = kNone;
  }

  std::vector<std::unique_ptr<Branch>> root_;
  mutable Leaf* near_ = nullptr;  // the leaf that was used last
  mutable uint64_t near_number_ = kNone;
};

// True if nothing is left in the node.
template <class T>
bool PageTree::RemoveIn(Node<T>& node, uint64_t index) {
  const uint64_t at = index / kSpan<T> % kWays;
  if (!node.children[at]) return false;
  if constexpr (!std::is_same_v<T, Page>) {
    if (!RemoveIn(*node.children[at], index)) return false;
  }
  node.children[at].reset();
  node.used &= ~(uint64_t{1} << at);
  return node.used == 0;
}

inline void PageTree::Remove(uint64_t index) {
  auto& branch = root_[index / kSpan<Branch>];
  if (branch && RemoveIn(*branch, index)) branch.reset();
  Forget();
}

// In both, page numbers count from the node's first page.
template <class T>
uint64_t PageTree::FirstIn(const Node<T>& node, uint64_t from) {
  const uint64_t first = from / kSpan<T>;
  for (uint64_t bits = node.used & (~uint64_t{0} << first); bits != 0; bits &= bits - 1) {
    const auto at = static_cast<uint64_t>(std::countr_zero(bits));
    if constexpr (std::is_same_v<T, Page>) {
      return at;
    } else {
      const uint64_t found = FirstIn(*node.children[at], at == first ? from % kSpan<T> : 0);
      if (found != kNone) return at * kSpan<T> + found;
    }
  }
  return kNone;
}

template <class T>
uint64_t PageTree::LastIn(const Node<T>& node, uint64_t end) {
  const uint64_t last = (end - 1) / kSpan<T>;
  for (uint64_t bits = node.used & (~uint64_t{0} >> (kWays - 1 - last)); bits != 0;) {
    const auto at = static_cast<uint64_t>(63 - std::countl_zero(bits));
    if constexpr (std::is_same_v<T, Page>) {
      return at;
    } else {
      const uint64_t found = LastIn(*node.children[at], at == last ? (end - 1) % kSpan<T> + 1 : kSpan<T>);
      if (found != kNone) return at * kSpan<T> + found;
      bits &= ~(uint64_t{1} << at);
    }
  }
  return kNone;
}

inline uint64_t PageTree::First(uint64_t from, uint64_t end) const {
  while (from < end) {
    const uint64_t at = from / kSpan<Branch>;
    if (root_[at]) {
      const uint64_t found = FirstIn(*root_[at], from % kSpan<Branch>);
      if (found != kNone) return at * kSpan<Branch> + found < end ? at * kSpan<Branch> + found : kNone;
    }
    from = (at + 1) * kSpan<Branch>;
  }
  return kNone;
}

inline uint64_t PageTree::Last(uint64_t from, uint64_t end) const {
  while (end > from) {
    const uint64_t at = (end - 1) / kSpan<Branch>;
    if (root_[at]) {
      const uint64_t found = LastIn(*root_[at], (end - 1) % kSpan<Branch> + 1);
      if (found != kNone) return at * kSpan<Branch> + found >= from ? at * kSpan<Branch> + found : kNone;
    }
    end = at * kSpan<Branch>;
  }
  return kNone;
}

template <class T>
uint64_t PageTree::BytesOf(const Node<T>& node) {
  uint64_t bytes = sizeof node;
  for (const auto& child : node.children) {
    if (!child) continue;
    if constexpr (std::is_same_v<T, Page>) {
      bytes += child->MemoryBytes();
    } else {
      bytes += BytesOf(*child);
    }
  }
  return bytes;
}

inline uint64_t PageTree::MemoryBytes() const {
  uint64_t bytes = root_.capacity() * sizeof(root_[0]);
  for (const auto& branch : root_) {
    if (branch) bytes += BytesOf(*branch);
  }
  return bytes;
}

}  // namespace anttracks::analyzer
