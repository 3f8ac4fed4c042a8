// SPDX-License-Identifier: Apache-2.0
// What a data file knows and its successor's sync point does not: who allocated the objects that are live there, and
// when. A pass over the two files; the runs that it finds make the successor's file of origins, and the older file
// can be deleted without a loss for any live object.
//
// Thread safety: none. Ownership: symbols and problems are borrowed.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/passes/rebuild.h"

namespace anttracks::analyzer {

class Fold : public Rebuild {
 public:
  // next: the successor's number in the list of files.
  Fold(Symbols& symbols, Problems& problems, uint32_t next) : Rebuild(symbols, problems, {.check_syncs = false}), next_(next) {}

  void FileBegin(uint32_t file) { in_next_ = file >= next_; }
  void SyncBegin(const SyncEvent& event) {
    Rebuild::SyncBegin(event);
    runs_.clear();
    known_ = in_next_ && exact();
    epoch_ = epoch();
  }
  void SyncObject(uint64_t space, uint64_t word, uint32_t shape) {
    Rebuild::SyncObject(space, word, shape);
    if (known_) Collect(word);
  }
  void SyncEnd(uint64_t objects, uint64_t bytes) {
    Rebuild::SyncEnd(objects, bytes);
    done_ = in_next_;
    if (known_) Join();
  }
  void SyncAbandoned(const std::string& reason) {
    Rebuild::SyncAbandoned(reason);
    known_ = false;
  }
  bool done() const { return done_ || refused() != nullptr; }

  // The successor's first sync point that is complete was reached, and the heap was known there.
  bool known() const { return done_ && known_; }
  // Of that sync point, by address.
  const std::vector<OriginRun>& runs() const { return runs_; }

 private:
  // The origin of a listed object: what a sync point leaves out is dead, and would be missed.
  void Collect(uint64_t word);
  void Join();

  const uint32_t next_;
  bool in_next_ = false, known_ = false, done_ = false;
  int64_t epoch_ = 0;  // of the sync point
  std::vector<OriginRun> runs_;
};

}  // namespace anttracks::analyzer
