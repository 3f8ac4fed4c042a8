// SPDX-License-Identifier: Apache-2.0
// Stretches that are not read: with a budget, or a share. What lives in them is found by the young collection
// that moves it; before a collection that has to know all objects they are read after all.
//
// Thread safety: may_skip, Mark and Contains full; the rest at a safepoint. Ownership: owns the map.
#pragma once

#include <atomic>
#include <vector>

#include "agent/full/skipped_map.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

class Skipped {
 public:
  // From now on stretches may be skipped. False: there is no memory for it. One thread at a time.
  bool Make(const AntTracksVM& vm) {
    if (!map_.made() && !map_.Make(vm.heap_start, vm.heap_end)) return false;
    may_skip_.store(true, std::memory_order_release);
    return true;
  }
  bool may_skip() const { return may_skip_.load(std::memory_order_acquire); }

  void Mark(const Stretch& stretch) { map_.Mark(stretch); }
  // It was read after all.
  void Clear(const Stretch& stretch) { map_.Clear(stretch); }
  // Those are not read by the time a collection begins.
  void Stand(const std::vector<Stretch>& stretches) {
    standing_.insert(standing_.end(), stretches.begin(), stretches.end());
  }
  // In a collection.
  bool any_stand() const { return !standing_.empty(); }
  bool Contains(uint64_t address) const { return map_.Contains(address); }
  // After a collection that has found what lived there.
  void Forget() {
    for (const Stretch& stretch : standing_) map_.Clear(stretch);
    standing_.clear();
  }

 private:
  SkippedMap map_;
  std::atomic<bool> may_skip_{false};  // the map is there
  std::vector<Stretch> standing_;      // in the collection that is under way
};

}  // namespace anttracks::core
