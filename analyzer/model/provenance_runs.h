// SPDX-License-Identifier: Apache-2.0
// The contents of a provenance file: who allocated the objects in a sync point, and when.
//
// Thread safety: none. Units: word numbers; an age is the number of collections that ended since the
// allocation.
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
  // Runs must come in the order of their addresses. False: the run is empty, or overlaps or precedes the one
  // before; it is not added.
  bool Add(const ProvenanceRun& run);
  void Clear() { *this = ProvenanceRuns(); }
  bool empty() const { return runs_.empty(); }
  // There are runs of others that are not here.
  void SetInPart() { in_part_ = true; }
  bool whole() const { return !empty() && !in_part_; }

  // A sync point begins, after `epoch` collections. Runs get numbers in the table when their objects are found.
  // Borrows the table.
  void Begin(int64_t epoch, ProvenanceTable* table);
  // The provenance of an object that the sync point lists; ProvenanceTable::kBeforeTrace if no run contains it.
  uint32_t Find(uint64_t word, uint32_t words);
  // How many words of the runs have no object that was found since Begin. If not 0 the runs are of another
  // heap.
  uint64_t Missing() const { return words_ - found_; }

 private:
  struct Id {
    uint64_t begin = 0;  // value of begins_ when it was set
    uint32_t provenance = 0;
  };
  uint32_t IdOf(size_t run);

  std::vector<ProvenanceRun> runs_;
  std::vector<Id> ids_;  // by run
  uint64_t begins_ = 0;
  int64_t epoch_ = 0;
  ProvenanceTable* table_ = nullptr;
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> id_of_;  // of this sync point, by thread and age
  size_t last_ = 0;
  uint64_t words_ = 0, found_ = 0;
  bool in_part_ = false;
};

}  // namespace anttracks::analyzer
