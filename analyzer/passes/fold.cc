// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/fold.h"

#include <algorithm>
#include <utility>

namespace anttracks::analyzer {
namespace {

bool Continues(const ProvenanceRun& run, const ProvenanceRun& next) {
  return run.end == next.begin && run.thread == next.thread && run.age == next.age;
}

bool ByAddress(const ProvenanceRun& a, const ProvenanceRun& b) { return a.begin < b.begin; }

}  // namespace

void Fold::SyncBegin(const SyncEvent& event) {
  Rebuild::SyncBegin(event);
  runs_.clear();
  epoch_ = epoch();
  if (!exact()) {
    if (syncs().taken != 0) saved_.clear();  // of the first sync point that was complete, and of no other one
    saved_epoch_ = epoch_;
  }
  known_ = in_next_ && exact();
  if (!known_ || effort_ == Effort::kAll || !Walk(heap().totals().objects + saved_.size())) return;
  for (const Space& space : sync_spaces()) {
    if (IsOld(space) && ListsAll(space)) CollectSpace(space);
  }
}

bool Fold::WantsSpace(uint64_t index) const {
  if (effort_ == Effort::kAll || index >= sync_spaces().size()) return true;
  const Space& space = sync_spaces()[index];
  return !IsOld(space) || (known_ && !ListsAll(space));
}

void Fold::SyncEnd(uint64_t objects, uint64_t bytes) {
  const bool was_known = exact();
  Rebuild::SyncEnd(objects, bytes);
  if (!was_known && exact()) KeepOldSpaces();
  done_ = in_next_;
  listed_bytes_ = bytes;
  if (!known_ || Join()) return;
  known_ = false;
  takes_all_ = effort_ == Effort::kLittle;
}

void Fold::KeepOldSpaces() {
  std::vector<ProvenanceRun> old;
  for (const Space& space : sync_spaces()) {
    if (!IsOld(space)) continue;
    for (size_t i = FindSaved(space.bottom); i < saved_.size() && saved_[i].begin < space.top; i++) {
      const ProvenanceRun& run = saved_[i];
      old.push_back({std::max(run.begin, space.bottom), std::min(run.end, space.top), run.thread, run.age});
    }
  }
  std::sort(old.begin(), old.end(), ByAddress);
  saved_ = std::move(old);
  last_saved_ = 0;
}

void Fold::Collect(uint64_t space, uint64_t word, uint32_t shape) {
  HeapObject object;
  if (heap().Find(word, &object)) return Add(object);
  if (space >= sync_spaces().size() || !IsOld(sync_spaces()[space])) return;
  const uint64_t end = word + definitions().shapes().words(shape);
  const size_t saved = FindSaved(word);
  if (saved < saved_.size() && saved_[saved].begin <= word && saved_[saved].end >= end)
    AddSaved(word, end, saved_[saved]);
}

// What came there since the file's own sync point is in the heap; what was there before has not moved. No
// object lies in two spaces, so a run that does is cut between two objects.
void Fold::CollectSpace(const Space& space) {
  heap().ForEach(space.bottom, space.top, [&](const HeapObject& object, bool) { Add(object); });
  for (size_t i = FindSaved(space.bottom); i < saved_.size() && saved_[i].begin < space.top; i++) {
    AddSaved(std::max(saved_[i].begin, space.bottom), std::min(saved_[i].end, space.top), saved_[i]);
  }
}

void Fold::Add(const HeapObject& object) {
  if (object.provenance == ProvenanceTable::kBeforeTrace || object.provenance == ProvenanceTable::kFiller)
    return;
  const Provenance& provenance = provenance_table()[object.provenance];
  Append({object.word, object.word + definitions().shapes().words(object.shape), provenance.thread,
          static_cast<uint64_t>(epoch_ - provenance.birth)});
}

void Fold::AddSaved(uint64_t begin, uint64_t end, const ProvenanceRun& saved) {
  Append({begin, end, saved.thread, saved.age + static_cast<uint64_t>(epoch_ - saved_epoch_)});
}

void Fold::Append(const ProvenanceRun& run) {
  if (!runs_.empty() && Continues(runs_.back(), run)) {
    runs_.back().end = run.end;
  } else {
    runs_.push_back(run);
  }
}

size_t Fold::FindSaved(uint64_t word) {
  const auto first = [&](size_t i) {
    return i < saved_.size() && saved_[i].end > word && (i == 0 || saved_[i - 1].end <= word);
  };
  for (const size_t i : {last_saved_, last_saved_ + 1}) {
    if (first(i)) return last_saved_ = i;
  }
  const auto found = std::partition_point(saved_.begin(), saved_.end(),
                                          [word](const ProvenanceRun& run) { return run.end <= word; });
  return last_saved_ = static_cast<size_t>(found - saved_.begin());
}

// Spaces are not listed in the order of their addresses.
bool Fold::Join() {
  std::sort(runs_.begin(), runs_.end(), ByAddress);
  size_t joined = 0;
  for (const ProvenanceRun& run : runs_) {
    if (joined != 0 && run.begin < runs_[joined - 1].end) return false;
    if (joined != 0 && Continues(runs_[joined - 1], run)) {
      runs_[joined - 1].end = run.end;
    } else {
      runs_[joined++] = run;
    }
  }
  runs_.resize(joined);
  return true;
}

}  // namespace anttracks::analyzer
