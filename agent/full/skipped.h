// SPDX-License-Identifier: Apache-2.0
// Skipped ranges: stretches that are not read, because of a budget or a fixed share. A young collection finds
// the live objects in them when it moves them. Before a collection that needs all objects they are read after
// all.
//
// Thread safety: may_skip, Mark and Contains by any thread; the rest at a safepoint. Ownership: owns the map.
#pragma once

#include <atomic>
#include <vector>

#include "agent/full/skipped_map.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

class Skipped {
 public:
  // From now on stretches may be skipped. False: out of memory. One thread at a time.
  bool Make(const AntTracksVM& vm) {
    if (!map_.made() && !map_.Make(vm.heap_start, vm.heap_end, LeastObjectBytes(vm))) return false;
    may_skip_.store(true, std::memory_order_release);
    return true;
  }
  bool may_skip() const { return may_skip_.load(std::memory_order_acquire); }

  // from: as in SkippedMap.
  void Mark(const AddressRange& stretch, uint64_t from) { map_.Mark(stretch, from); }
  // The stretch, marked as one, was read after all.
  void Clear(const AddressRange& stretch) { map_.Clear(stretch); }
  // These stretches are not read when a collection begins.
  void Stand(const std::vector<AddressRange>& stretches) {
    standing_.insert(standing_.end(), stretches.begin(), stretches.end());
  }
  // During a collection: whether there are such stretches.
  bool any_stand() const { return !standing_.empty(); }
  bool Contains(uint64_t address) const { return map_.Contains(address); }
  // After a collection, which has found the live objects there.
  void Forget() {
    for (const AddressRange& stretch : standing_) map_.Clear(stretch);
    standing_.clear();
  }

 private:
  SkippedMap map_;
  std::atomic<bool> may_skip_{false};   // the map exists
  std::vector<AddressRange> standing_;  // not read when the current collection began
};

}  // namespace anttracks::core
