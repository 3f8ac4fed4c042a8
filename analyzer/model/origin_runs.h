// SPDX-License-Identifier: Apache-2.0
// Who allocated the objects that a sync point lists, and when: what a file of origins holds for the reader whose
// first data file it belongs to.
//
// Thread safety: none. Units: words of 8 bytes; ages are collections that had ended since the allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/model/origins.h"

namespace anttracks::analyzer {

// The objects in [begin, end) have the same thread and age; the run begins and ends where objects do.
struct OriginRun {
  uint64_t begin = 0, end = 0;
  uint64_t thread = 0;
  uint64_t age = 0;
};

class OriginRuns {
 public:
  // By address. False, and not added: empty, or not behind the one before.
  bool Add(const OriginRun& run);
  void Clear() { *this = OriginRuns(); }
  bool empty() const { return runs_.empty(); }

  // A sync point begins, after that many collections: the runs get their ids.
  void Begin(int64_t epoch, Origins* origins);
  // Of an object that the sync point lists; Origins::kBeforeTrace if no run has it.
  uint32_t Find(uint64_t word, uint32_t words);
  // Words of the runs in which no object was found since Begin. Not 0: the runs are those of another heap.
  uint64_t Missing() const { return words_ - found_; }

 private:
  std::vector<OriginRun> runs_;
  std::vector<uint32_t> ids_;  // of the runs
  size_t last_ = 0;
  uint64_t words_ = 0, found_ = 0;
};

}  // namespace anttracks::analyzer
