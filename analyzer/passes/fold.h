// SPDX-License-Identifier: Apache-2.0
// What a data file knows and its successor's sync point does not: who allocated the objects that are live
// there, and when. A pass over the two files; the runs that it finds make the successor's provenance file, and
// the older file can be deleted without a loss for any live object.
//
// Most live objects are old, and no collection of the file moves them: the file's own provenance file
// says who allocated them, and the parts of the sync points that list them need not be decoded. With
// Effort::kLittle that is taken for granted; a collection that may move old objects, and whatever else does not
// fit, means that it takes Effort::kAll, another pass.
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

  // It cannot be had with little effort; there is nothing to be known from this pass.
  bool takes_all() const { return takes_all_; }
  // The successor's first sync point that is complete was reached, and the heap was known there.
  bool known() const { return done_ && known_; }
  // Of that sync point, by address.
  const std::vector<ProvenanceRun>& runs() const { return runs_; }
  // What that sync point says of itself.
  uint64_t listed_bytes() const { return listed_bytes_; }

 private:
  // Nothing but a full or a mixed collection moves or frees what lies there.
  static bool IsOld(const Space& space) { return !trace::YoungMayTake(space.kind); }
  // Dead objects of the space are listed as well.
  static bool ListsAll(const Space& space) { return space.collected != trace::Collected::kOptional; }

  // The provenance of a listed object: what a sync point leaves out is dead, and would be missed.
  void Collect(uint64_t space, uint64_t word, uint32_t shape);
  // Of all that lies in the space, listed or not.
  void CollectSpace(const Space& space);
  void Add(const HeapObject& object);
  // A run of saved_, or a part of one.
  void AddSaved(uint64_t begin, uint64_t end, const ProvenanceRun& saved);
  void Append(const ProvenanceRun& run);
  // Leaves in saved_ only what lies in old spaces of the sync point that it belongs to.
  void KeepOldSpaces();
  // The first run of saved_ that ends behind the word; its index, or how many there are.
  size_t FindSaved(uint64_t word);
  // False: runs overlap, so that they are not those of one heap.
  bool Join();

  const uint32_t next_;
  const Effort effort_;
  bool in_next_ = false, known_ = false, done_ = false, takes_all_ = false;
  int64_t epoch_ = 0;                 // of the sync point
  int64_t saved_epoch_ = 0;           // of the file's own, to which the ages of saved_ belong
  std::vector<ProvenanceRun> saved_;  // with little effort: what is known of the file's own sync point
  size_t last_saved_ = 0;             // that FindSaved found
  std::vector<ProvenanceRun> runs_;
  uint64_t listed_bytes_ = 0;
};

}  // namespace anttracks::analyzer
