// SPDX-License-Identifier: Apache-2.0
// Who allocated the objects that a sync point lists, and when: what a provenance file holds for the reader
// whose first data file it belongs to.
//
// Thread safety: none. Units: words of 8 bytes; ages are collections that had ended since the allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/model/provenance.h"
#include "trace/provenance.h"

namespace anttracks::analyzer {

using trace::ProvenanceRun;

class ProvenanceRuns {
 public:
  // By address. False, and not added: empty, or not behind the one before.
  bool Add(const ProvenanceRun& run);
  void Clear() { *this = ProvenanceRuns(); }
  bool empty() const { return runs_.empty(); }

  // A sync point begins, after that many collections: runs get ids as their objects are found. Borrows table.
  void Begin(int64_t epoch, ProvenanceTable* table);
  // Of an object that the sync point lists; ProvenanceTable::kBeforeTrace if no run has it.
  uint32_t Find(uint64_t word, uint32_t words);
  // Words of the runs in which no object was found since Begin. Not 0: the runs are those of another heap.
  uint64_t Missing() const { return words_ - found_; }

 private:
  struct Id {
    uint64_t begin = 0;  // the sync point that gave it, as begins_
    uint32_t provenance = 0;
  };
  uint32_t IdOf(size_t run);

  std::vector<ProvenanceRun> runs_;
  std::vector<Id> ids_;  // of the runs
  uint64_t begins_ = 0;
  int64_t epoch_ = 0;
  ProvenanceTable* table_ = nullptr;
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> id_of_;  // of this sync point, by thread and age
  size_t last_ = 0;
  uint64_t words_ = 0, found_ = 0;
};

}  // namespace anttracks::analyzer
