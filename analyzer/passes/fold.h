// SPDX-License-Identifier: Apache-2.0
// Extracts from a data file what its successor's sync point does not have: the provenance of the live objects.
// It is a pass over the two files. Its runs are written as the successor's provenance file; then the older file
// can be deleted without losing anything about live objects.
//
// Most live objects are old, and no collection of the file moves them: the file's own provenance file
// says who allocated them, and the parts of the sync points that list them need not be decoded. Effort::kLittle
// assumes this. If a collection may have moved old objects, or anything else does not fit, another pass with
// Effort::kAll is needed.
//
// Thread safety: none. Ownership: definitions and problems are borrowed.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/passes/rebuild.h"

namespace anttracks::analyzer {

class Fold : public Rebuild {
 public:
  enum class Effort { kLittle, kAll };

  // next: the successor's number in the list of files.
  Fold(Definitions& definitions, Problems& problems, uint32_t next, Effort effort)
      : Rebuild(definitions, problems, {.check_syncs = false, .whole_syncs = effort == Effort::kAll}),
        next_(next),
        effort_(effort) {}

  void FileBegin(uint32_t file) override { in_next_ = file >= next_; }
  bool SavedProvenance(const ProvenanceRun& run) override {
    if (effort_ == Effort::kLittle) saved_.push_back(run);
    return Rebuild::SavedProvenance(run);
  }
  void GcBegin(const GcEvent& event) override {
    Rebuild::GcBegin(event);
    if (event.kind == GcKind::kFull || event.kind == GcKind::kMixed) takes_all_ = effort_ == Effort::kLittle;
  }
  void SyncBegin(const SyncEvent& event) override;
  bool WantsSpace(uint64_t space) const override;
  void SyncObject(uint64_t space, uint64_t word, uint32_t shape) override {
    Rebuild::SyncObject(space, word, shape);
    if (known_) Collect(space, word, shape);
  }
  void SyncEnd(uint64_t objects, uint64_t bytes) override;
  void SyncAbandoned(const std::string& reason) override {
    Rebuild::SyncAbandoned(reason);
    known_ = false;
  }
  bool done() const override { return done_ || takes_all_ || refused() != nullptr; }

  // Effort::kLittle was not enough; this pass has no result.
  bool takes_all() const { return takes_all_; }
  // The successor's first complete sync point was reached, and the heap was known there.
  bool known() const { return done_ && known_; }
  // The provenance of the objects in that sync point, by address.
  const std::vector<ProvenanceRun>& runs() const { return runs_; }
  // The bytes of its objects, as that sync point says.
  uint64_t listed_bytes() const { return listed_bytes_; }

 private:
  // Only full and mixed collections move or free objects there.
  static bool IsOld(const Space& space) { return !trace::YoungMayTake(space.kind); }
  // Whether the sync point lists dead objects of the space, too.
  static bool ListsAll(const Space& space) { return space.collected != trace::Collected::kOptional; }

  // Adds the provenance of a listed object. An object that a sync point leaves out is dead; its run would be
  // missing there.
  void Collect(uint64_t space, uint64_t word, uint32_t shape);
  // Adds the provenance of all objects in the space, listed or not.
  void CollectSpace(const Space& space);
  void Add(const HeapObject& object);
  // Adds [begin, end) of a run of saved_.
  void AddSaved(uint64_t begin, uint64_t end, const ProvenanceRun& saved);
  void Append(const ProvenanceRun& run);
  // Leaves in saved_ only what lies in old spaces of the sync point that it belongs to.
  void KeepOldSpaces();
  // The index of the first run of saved_ that ends after the word; saved_.size() if there is none.
  size_t FindSaved(uint64_t word);
  // Sorts and merges the runs. False: some overlap, so they are not of one heap.
  bool Join();

  const uint32_t next_;
  const Effort effort_;
  bool in_next_ = false, known_ = false, done_ = false, takes_all_ = false;
  int64_t epoch_ = 0;                 // at the sync point
  int64_t saved_epoch_ = 0;           // at the older file's own sync point, to which the ages of saved_ refer
  std::vector<ProvenanceRun> saved_;  // with kLittle: the provenance file of the older file
  size_t last_saved_ = 0;             // the last result of FindSaved
  std::vector<ProvenanceRun> runs_;
  uint64_t listed_bytes_ = 0;
};

}  // namespace anttracks::analyzer
