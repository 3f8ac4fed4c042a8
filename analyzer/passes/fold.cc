// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/fold.h"

#include <algorithm>
#include <utility>

namespace anttracks::analyzer {
namespace {

bool Continues(const OriginRun& run, const OriginRun& next) {
  return run.end == next.begin && run.thread == next.thread && run.age == next.age;
}

bool ByAddress(const OriginRun& a, const OriginRun& b) { return a.begin < b.begin; }

}  // namespace

void Fold::SyncBegin(const SyncEvent& event) {
  Rebuild::SyncBegin(event);
  runs_.clear();
  epoch_ = epoch();
  if (!exact()) {
    if (syncs().taken != 0) kept_.clear();  // of the first sync point that was complete, and of no other one
    kept_epoch_ = epoch_;
  }
  known_ = in_next_ && exact();
  if (!known_ || effort_ == Effort::kAll || !Walk(heap().totals().objects + kept_.size())) return;
  for (const Space& space : sync_spaces()) {
    if (Stays(space) && ListsAll(space)) CollectSpace(space);
  }
}

bool Fold::WantsSpace(uint64_t index) const {
  if (effort_ == Effort::kAll || index >= sync_spaces().size()) return true;
  const Space& space = sync_spaces()[index];
  return !Stays(space) || (known_ && !ListsAll(space));
}

void Fold::SyncEnd(uint64_t objects, uint64_t bytes) {
  const bool was_known = exact();
  Rebuild::SyncEnd(objects, bytes);
  if (!was_known && exact()) KeepWhatStays();
  done_ = in_next_;
  listed_bytes_ = bytes;
  if (!known_ || Join()) return;
  known_ = false;
  takes_all_ = effort_ == Effort::kLittle;
}

void Fold::KeepWhatStays() {
  std::vector<OriginRun> staying;
  for (const Space& space : sync_spaces()) {
    if (!Stays(space)) continue;
    for (size_t i = FindKept(space.bottom); i < kept_.size() && kept_[i].begin < space.top; i++) {
      const OriginRun& run = kept_[i];
      staying.push_back({std::max(run.begin, space.bottom), std::min(run.end, space.top), run.thread, run.age});
    }
  }
  std::sort(staying.begin(), staying.end(), ByAddress);
  kept_ = std::move(staying);
  last_kept_ = 0;
}

void Fold::Collect(uint64_t space, uint64_t word, uint32_t shape) {
  HeapObject object;
  if (heap().Find(word, &object)) return Add(object);
  if (space >= sync_spaces().size() || !Stays(sync_spaces()[space])) return;
  const uint64_t end = word + definitions().shapes().words(shape);
  const size_t kept = FindKept(word);
  if (kept < kept_.size() && kept_[kept].begin <= word && kept_[kept].end >= end)
    AddKept(word, end, kept_[kept]);
}

// What came there since the file's own sync point is in the heap; what was there before has not moved. No
// object lies in two spaces, so a run that does is cut between two objects.
void Fold::CollectSpace(const Space& space) {
  heap().ForEach(space.bottom, space.top, [&](const HeapObject& object, bool) { Add(object); });
  for (size_t i = FindKept(space.bottom); i < kept_.size() && kept_[i].begin < space.top; i++) {
    AddKept(std::max(kept_[i].begin, space.bottom), std::min(kept_[i].end, space.top), kept_[i]);
  }
}

void Fold::Add(const HeapObject& object) {
  if (object.origin == Origins::kBeforeTrace || object.origin == Origins::kFiller) return;
  const Origin& origin = origins()[object.origin];
  Append({object.word, object.word + definitions().shapes().words(object.shape), origin.thread,
          static_cast<uint64_t>(epoch_ - origin.birth)});
}

void Fold::AddKept(uint64_t begin, uint64_t end, const OriginRun& kept) {
  Append({begin, end, kept.thread, kept.age + static_cast<uint64_t>(epoch_ - kept_epoch_)});
}

void Fold::Append(const OriginRun& run) {
  if (!runs_.empty() && Continues(runs_.back(), run)) {
    runs_.back().end = run.end;
  } else {
    runs_.push_back(run);
  }
}

size_t Fold::FindKept(uint64_t word) {
  const auto first = [&](size_t i) {
    return i < kept_.size() && kept_[i].end > word && (i == 0 || kept_[i - 1].end <= word);
  };
  for (const size_t i : {last_kept_, last_kept_ + 1}) {
    if (first(i)) return last_kept_ = i;
  }
  const auto found = std::partition_point(kept_.begin(), kept_.end(),
                                          [word](const OriginRun& run) { return run.end <= word; });
  return last_kept_ = static_cast<size_t>(found - kept_.begin());
}

// Spaces are not listed in the order of their addresses.
bool Fold::Join() {
  std::sort(runs_.begin(), runs_.end(), ByAddress);
  size_t joined = 0;
  for (const OriginRun& run : runs_) {
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
