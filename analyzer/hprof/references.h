// SPDX-License-Identifier: Apache-2.0
// Who refers to whom in a heap dump, and what is reached from the roots.
//
// References are those of the JVM that keep objects alive, as far as a dump has them: fields, elements of
// arrays, static fields, and of a class its loader. The referent of a soft, weak, final or phantom reference
// does not count. An object keeps its class, too; as nearly all classes are held by their loaders, this
// reference counts for those classes only that nothing else reaches, such as hidden ones.
//
// Thread safety: full after Read. Ownership: borrows the dump.
// Memory: 12 bytes per object and 4 per reference.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "analyzer/hprof/dump.h"

namespace anttracks::hprof {

struct DumpRoot {
  uint32_t object = 0;
  Sub kind = Sub::kRootUnknown;
  uint32_t thread = 0, frame = 0;  // see RootRecord
};

class References {
 public:
  static trace::Result<std::unique_ptr<References>> Read(const HprofReader& reader, const Dump& dump);

  uint32_t size() const { return static_cast<uint32_t>(first_.size()); }
  // The objects to which an object refers: Target(object, 0) to Target(object, Degree(object) - 1); some may be
  // there several times.
  uint32_t Degree(uint32_t object) const { return degree_[object] + (ClassOf(object) != kNone ? 1 : 0); }
  uint32_t Target(uint32_t object, uint32_t i) const {
    return i < degree_[object] ? targets_[first_[object] + i] : ClassOf(object);
  }
  const std::vector<DumpRoot>& roots() const { return roots_; }

  // The object that refers to this one on a shortest path from a root; kRoot: it is a root. kNone: no root
  // reaches it.
  static constexpr uint32_t kRoot = UINT32_MAX - 1;
  uint32_t nearest(uint32_t object) const { return nearest_[object]; }
  bool reached(uint32_t object) const { return nearest_[object] != kNone; }
  // Not reached, but by way of referents of soft, weak, final or phantom references.
  bool reached_weakly(uint32_t object) const { return weakly_[object]; }

  uint64_t references() const { return targets_.size(); }
  // References and roots that lead to no object of the dump.
  uint64_t dangling() const { return dangling_; }

 private:
  class Reader;

  explicit References(const Dump& dump) : dump_(&dump) {}
  // The class of the object, if that counts as a reference.
  uint32_t ClassOf(uint32_t object) const {
    if (!any_held_) return kNone;
    const uint32_t index = dump_->objects()[object].class_index;
    return held_[index] ? dump_->classes()[index].mirror : kNone;
  }
  void Reach();
  void ReachWeakly();

  const Dump* dump_;
  std::vector<uint32_t> first_, degree_, targets_;
  std::vector<std::pair<uint32_t, uint32_t>> referents_;  // of references that do not count: from, to
  std::vector<DumpRoot> roots_;
  std::vector<uint32_t> nearest_;
  std::vector<bool> weakly_;
  std::vector<bool> held_;  // by class: held by its instances alone
  bool any_held_ = false;
  uint64_t dangling_ = 0;
};

}  // namespace anttracks::hprof
