// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/rebuild.h"

#include <algorithm>
#include <utility>

#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

uint64_t UsedBytes(const std::vector<Space>& spaces) {
  uint64_t words = 0;
  for (const Space& space : spaces) words += space.top - space.bottom;
  return InBytes(words);
}

void Count(HeapTotals* totals, uint64_t words) {
  totals->objects++;
  totals->words += words;
}

void Sort(std::vector<Space>* spaces) {
  std::sort(spaces->begin(), spaces->end(), [](const Space& a, const Space& b) { return a.bottom < b.bottom; });
}

// Whether a sync point of these spaces may.
bool LeavesOutDead(const std::vector<Space>& spaces) {
  return std::any_of(spaces.begin(), spaces.end(),
                     [](const Space& space) { return space.collected == Collected::kOptional; });
}

}  // namespace

void Rebuild::Configure(uint64_t start_word, uint64_t end_word) {
  if (heap_ != nullptr && heap_->start() == start_word && heap_->end() == end_word) return;
  heap_ = std::make_unique<Heap>(definitions_->shapes(), start_word, end_word);
  next_ = std::make_unique<Heap>(definitions_->shapes(), start_word, end_word);
}

const std::string& Rebuild::ClassName(uint32_t shape) const {
  return definitions_->class_info(definitions_->site_class_of_shape(shape).class_id).name;
}

void Rebuild::Objects(const Neighbours& objects) {
  records_ += objects.shapes.size();
  uint64_t word = objects.word;
  for (size_t done = 0; done < objects.shapes.size();) {
    const size_t count =
        heap_->InsertRun(word, objects.shapes.subspan(done), objects.words.subspan(done), provenance_);
    done += count;
    if (done == objects.shapes.size()) return;
    for (const uint32_t words : objects.words.subspan(done - count, count)) word += words;
    Refused(word, objects.shapes[done]);
    word += objects.words[done++];
  }
}

void Rebuild::Refused(uint64_t word, uint32_t shape, ProblemKind overlap) {
  counts_ = false;
  const uint32_t words = definitions_->shapes().words(shape);
  if (word < heap_->start() || word >= heap_->end() || words > heap_->end() - word) {
    Report(ProblemKind::kOutsideHeap, "{} at {:#x} with {} bytes is outside the heap", ClassName(shape),
           InBytes(word), InBytes(words));
  } else if (overlap == ProblemKind::kFillerOverlap) {
    Report(ProblemKind::kFillerOverlap, "filler at {:#x} with {} bytes covers space that holds an object",
           InBytes(word), InBytes(words));
  } else {
    Report(ProblemKind::kOverlap, "{} at {:#x} with {} bytes overlaps another object", ClassName(shape),
           InBytes(word), InBytes(words));
  }
}

void Rebuild::CheckCollected(uint64_t from) {
  if (Collects(last_collected_, from)) return;
  const auto behind = std::upper_bound(collected_.begin(), collected_.end(), from,
                                       [](uint64_t word, const Space& space) { return word < space.bottom; });
  if (behind != collected_.begin()) {
    last_collected_ = static_cast<size_t>(behind - collected_.begin()) - 1;
    if (Collects(last_collected_, from)) return;
  }
  counts_ = false;
  Report(ProblemKind::kOutsideSpace, "object at {:#x} is moved but is in no collected space", InBytes(from));
}

bool Rebuild::Take(uint64_t from, HeapObject* object, bool* again) {
  has_taken_ = false;
  const MoveResult result = heap_->Take(from, object);
  *again = result == MoveResult::kMovedTwice;
  if (result == MoveResult::kNoObject) {
    Report(ProblemKind::kNoObject, "no object at {:#x}; the rest of the segment is skipped", InBytes(from));
    return false;
  }
  if (*again) {
    Report(ProblemKind::kMovedTwice, "{} at {:#x} is moved a second time", ClassName(object->shape),
           InBytes(from));
  } else {
    CheckCollected(from);
    taken_ = *object;
    has_taken_ = true;
  }
  return true;
}

uint32_t Rebuild::Move(uint64_t from, uint64_t to) {
  HeapObject object;
  bool again = false;
  if (!Take(from, &object, &again)) return 0;
  const uint32_t words = definitions_->shapes().words(object.shape);
  if (again) return gc_.kind == GcKind::kFull ? 0 : words;  // a run of slides could go on for ever
  Count(&gc_.moved, words);
  if (target().Insert(to, object.shape, object.provenance) != InsertResult::kOk) Refused(to, object.shape);
  return words;
}

uint32_t Rebuild::Slide(uint64_t from, uint64_t to) {
  if (from != to) return Rebuild::Move(from, to);
  HeapObject object;
  bool again = false;
  if (!Take(from, &object, &again)) return 0;
  const uint32_t words = definitions_->shapes().words(object.shape);
  if (again) return 0;
  Count(&gc_.stayed, words);
  if (gc_.kind != GcKind::kFull) {
    self_forwarded_.push_back(object);
  } else if (next_->Insert(to, object.shape, object.provenance) != InsertResult::kOk) {
    Refused(to, object.shape);
  }
  return words;
}

bool Rebuild::Found(uint64_t from, uint64_t to, uint32_t shape) {
  records_++;
  const uint32_t words = definitions_->shapes().words(shape);
  const SkippedStretches::Stretch* const stretch = skipped_.Find(from, words);
  if (stretch == nullptr || gc_.kind == GcKind::kFull) {
    counts_ = false;
    Report(ProblemKind::kNoObject, "{} found at {:#x}, where {}; the rest of the segment is skipped",
           ClassName(shape), InBytes(from),
           stretch == nullptr ? "nothing was skipped" : "a full collection must know its objects");
    return false;
  }
  if (options_.check_spaces && !skipped_.Take(from, words)) {
    counts_ = false;
    Report(ProblemKind::kMovedTwice, "{} at {:#x} is found a second time, or in another object",
           ClassName(shape), InBytes(from));
    return true;
  }
  CheckCollected(from);
  Count(&gc_.found, words);
  Count(from == to ? &gc_.stayed : &gc_.moved, words);
  if (from == to) {
    self_forwarded_.push_back({to, shape, stretch->provenance});
  } else if (heap_->Insert(to, shape, stretch->provenance) != InsertResult::kOk) {
    Refused(to, shape);
  }
  return true;
}

void Rebuild::Filler(uint64_t word, uint32_t shape) {
  if (target().Insert(word, shape, ProvenanceTable::kFiller) == InsertResult::kOk) {
    Count(&gc_.fillers, definitions_->shapes().words(shape));
    return;
  }
  // Two tasks of a full collection both fill dead space that begins where the range of one ends and that of the
  // other begins, with the same object.
  HeapObject there;
  const bool again = gc_.kind == GcKind::kFull && target().Find(word, &there) && there.shape == shape &&
                     there.provenance == ProvenanceTable::kFiller;
  if (!again) Refused(word, shape, ProblemKind::kFillerOverlap);
}

void Rebuild::GcBegin(const GcEvent& event) {
  Settle();
  in_gc_ = true;
  gc_ = GcRecord{};
  gc_.id = event.id;
  gc_.kind = event.kind;
  gc_.cause = event.cause;
  gc_.begin_ns = event.time;
  gc_.used_before = UsedBytes(event.spaces);
  spaces_ = event.spaces;
  Sort(&spaces_);
  collected_.clear();
  for (const Space& space : spaces_) {
    if (space.collected != Collected::kNo && space.top > space.bottom) collected_.push_back(space);
  }
  last_collected_ = 0;
  if (!skipped_.Sort())
    Report(ProblemKind::kOverlap, "stretches that were skipped before collection {} overlap", gc_.id);
  gc_.skipped_words = skipped_.words();
  if (gc_.kind == GcKind::kFull && gc_.skipped_words != 0) {
    Report(ProblemKind::kOrder, "stretches stand unread before the full collection {}", gc_.id);
  }
  before_ = heap_->totals();
  counts_ = exact();  // a sync point that ends within the collection adds objects
  self_forwarded_.clear();
  next_->Clear();
  if (options_.check_spaces) {
    CheckSpaces(fmt::format("before collection {}", gc_.id));
    CheckSkipped();
  }
}

void Rebuild::GcEnd(const GcEvent& event) {
  if (event.id != gc_.id || event.kind != gc_.kind) {
    Report(ProblemKind::kOrder, "GC_END of collection {} does not match GC_BEGIN of {}", event.id, gc_.id);
  }
  in_gc_ = false;
  gc_.end_ns = std::max(event.time, gc_.begin_ns);
  gc_.used_after = UsedBytes(event.spaces);
  spaces_ = event.spaces;
  Sort(&spaces_);
  if (gc_.kind == GcKind::kFull) {
    SwapFull();
  } else {
    DropYoung();
  }
  collected_.clear();
  if (gc_.kind != GcKind::kRemark) skipped_.Clear();
  gc_.live = heap_->totals();
  CheckTotals();
  gc_.exact = exact();
  if (options_.check_spaces) CheckSpaces(fmt::format("after collection {}", gc_.id));
  // G1's marking unloads classes of dead objects that stay in their regions for a while.
  if (unloaded_in_gc_ && gc_.kind != GcKind::kRemark) CheckUnloaded();
  unloaded_in_gc_ = false;
  gcs_.push_back(gc_);
}

void Rebuild::DropAll(std::vector<DeadRange> ranges) {
  // The spaces at the begin of a collection and those at its end could overlap in a damaged trace.
  std::sort(ranges.begin(), ranges.end(),
            [](const DeadRange& a, const DeadRange& b) { return a.bottom < b.bottom; });
  uint64_t end = 0;
  for (DeadRange& range : ranges) {
    range.bottom = std::max(range.bottom, end);
    range.top = std::max(range.top, range.bottom);
    end = range.top;
  }
  BeforeDrop(ranges);
  for (const DeadRange& range : ranges) gc_.died.Add(heap_->Drop(range.bottom, range.top));
}

void Rebuild::DropYoung() {
  std::vector<DeadRange> ranges;
  for (const Space& space : collected_) {
    if (space.collected == Collected::kYes)
      ranges.push_back({space.bottom, space.top, trace::GenerationOf(space.kind)});
  }
  for (const Space& space : spaces_) {
    if (space.collected == Collected::kOptional)
      ranges.push_back({space.bottom, space.end, trace::Generation::kOld});
  }
  DropAll(std::move(ranges));
  if (check_) {
    for (const Space& space : spaces_)
      if (space.collected == Collected::kOptional) check_->Freed(space.bottom, space.end);
    for (const Space& space : collected_)
      if (space.collected == Collected::kYes) check_->Freed(space.bottom, space.end);
  }
  for (const HeapObject& object : self_forwarded_) {
    if (heap_->Insert(object.word, object.shape, object.provenance) != InsertResult::kOk) {
      Refused(object.word, object.shape);
    }
  }
  self_forwarded_ = {};
}

bool Rebuild::Walk(uint64_t objects) {
  walked_ += objects;
  if (walked_ > most_walked() && !refused_) refused_ = position_;
  return !refused_;
}

bool Rebuild::AffordsWalk() {
  const uint64_t objects = heap_->totals().objects;
  if (walked_for_numbers_ + objects > most_walked()) {
    if (left_out_at_ != epoch()) walks_left_out_++;
    left_out_at_ = epoch();
    return false;
  }
  walked_for_numbers_ += objects;
  return true;
}

void Rebuild::SwapFull() {
  std::vector<DeadRange> ranges;
  for (const Space& space : collected_)
    ranges.push_back({space.bottom, space.top, trace::GenerationOf(space.kind)});
  DropAll(std::move(ranges));
  // What is left lies in spaces that were not collected.
  if (!MayWalk()) return;
  heap_->ForEach([&](const HeapObject& object, bool taken) {
    if (taken) return;
    if (next_->Insert(object.word, object.shape, object.provenance) != InsertResult::kOk) {
      Refused(object.word, object.shape);
    }
  });
  heap_->Swap(*next_);
  next_->Clear();
}

void Rebuild::Settle() {
  if (!std::exchange(in_gc_, false)) return;
  const bool full = gc_.kind == GcKind::kFull;
  next_->Clear();
  if (gc_.moved.objects + gc_.stayed.objects == 0 || !MayWalk()) return;
  const auto insert = [&](const HeapObject& object) {
    if (next_->Insert(object.word, object.shape, object.provenance) != InsertResult::kOk)
      Refused(object.word, object.shape);
  };
  heap_->ForEach([&](const HeapObject& object, bool taken) {
    if (full || !taken) insert(object);
  });
  for (const HeapObject& object : self_forwarded_) insert(object);
  self_forwarded_ = {};
  heap_->Swap(*next_);
  next_->Clear();
}

// What was moved away from a space that was not collected would be in the heap twice, or not at all.
void Rebuild::CheckTotals() {
  if (!exact() || !counts_) return;
  const uint64_t objects = before_.objects - gc_.died.objects + gc_.fillers.objects + gc_.found.objects;
  const uint64_t words = before_.words - gc_.died.words + gc_.fillers.words + gc_.found.words;
  if (gc_.live.objects == objects && gc_.live.words == words) return;
  Report(ProblemKind::kTotals,
         "collection {} leaves {} objects with {} bytes where {} with {} bytes should live", gc_.id,
         gc_.live.objects, InBytes(gc_.live.words), objects, InBytes(words));
}

void Rebuild::CheckSpaces(const std::string& when) {
  uint64_t outside_all = 0;
  const auto outside = [&](const HeapObject& object, bool) {
    outside_all++;
    Report(ProblemKind::kOutsideSpace, "{} at {:#x} lies in no space {}", ClassName(object.shape),
           InBytes(object.word), when);
  };
  uint64_t end = heap_->start();
  for (const Space& space : spaces_) {
    if (space.bottom > end) heap_->ForEach(end, space.bottom, outside);
    end = std::max(end, space.top);
    HeapObject last;
    if (heap_->FindLast(space.bottom, space.top, &last) &&
        last.word + definitions_->shapes().words(last.shape) > space.top) {
      Report(ProblemKind::kOutsideSpace, "{} at {:#x} reaches beyond the top of its space",
             ClassName(last.shape), InBytes(last.word));
    }
  }
  heap_->ForEach(end, heap_->end(), outside);
  Walk(outside_all);
}

// No known object lies in what was skipped.
void Rebuild::CheckSkipped() {
  for (const SkippedStretches::Stretch& stretch : skipped_.all()) {
    HeapObject last;
    const bool inside = heap_->FindLast(heap_->start(), stretch.end, &last) &&
                        last.word + definitions_->shapes().words(last.shape) > stretch.begin;
    if (inside) {
      Report(ProblemKind::kOverlap, "{} at {:#x} lies in a stretch that was skipped", ClassName(last.shape),
             InBytes(last.word));
    }
  }
}

void Rebuild::CheckUnloaded() {
  if (!MayWalk()) return;
  heap_->ForEach([&](const HeapObject& object, bool) {
    if (!definitions_->class_info(definitions_->site_class_of_shape(object.shape).class_id).unloaded) return;
    Report(ProblemKind::kUnloaded, "{} at {:#x} is alive though its class was unloaded",
           ClassName(object.shape), InBytes(object.word));
  });
}

void Rebuild::SetSyncState(SyncState state) {
  if (sync_gc_ != kNoGc) gcs_[sync_gc_].sync = state;
}

void Rebuild::SyncBegin(const SyncEvent& event) {
  const bool rotation = event.reason == SyncReason::kRotation;
  Settle();
  sync_spaces_ = event.spaces;
  spaces_ = event.spaces;
  Sort(&spaces_);
  sync_ = {};
  sync_epoch_ = gcs_.size();
  sync_gc_ = rotation && !gcs_.empty() ? gcs_.size() - 1 : kNoGc;
  SetSyncState(SyncState::kIncomplete);
  check_.reset();
  if (rotation && exact()) {
    if (options_.check_spaces) CheckSpaces("at the sync point");
    if (options_.check_syncs && MayWalk()) check_.emplace(*heap_, *definitions_, sync_spaces_);
    return;
  }
  BeforeClear();
  heap_->Clear();
  next_->Clear();
  self_forwarded_.clear();
  skipped_.Clear();
  collected_.clear();
  knows_births_ = (!rotation && state_ == HeapState::kStart) || saved_provenance_.whole();
  saved_provenance_.Begin(epoch(), &provenance_table_);
  state_ = HeapState::kFilling;
}

void Rebuild::SyncObject(uint64_t space, uint64_t word, uint32_t shape) {
  records_++;
  if (!check_ && state_ != HeapState::kFilling) return;  // a loss broke this sync point
  const uint32_t words = definitions_->shapes().words(shape);
  Count(&sync_, words);
  if (space >= sync_spaces_.size() || word < sync_spaces_[space].bottom ||
      word + words > sync_spaces_[space].top) {
    Report(ProblemKind::kOutsideSpace, "{} at {:#x} is not in space {} of the sync point", ClassName(shape),
           InBytes(word), space);
  } else if (gcs_.size() != sync_epoch_ && trace::YoungMayTake(sync_spaces_[space].kind)) {
    Report(ProblemKind::kOrder, "{} at {:#x} of a {} space is listed after a collection", ClassName(shape),
           InBytes(word), SpaceLabel(sync_spaces_[space].kind));
    return;
  }
  if (check_) {
    const std::string wrong = check_->Object(space, word, shape);
    if (!wrong.empty()) Report(ProblemKind::kSyncMismatch, "{}", wrong);
    return;
  }
  const bool filler = definitions_->site_class_of_shape(shape).site == kSiteFiller;
  const uint32_t provenance = filler                      ? ProvenanceTable::kFiller
                              : saved_provenance_.empty() ? ProvenanceTable::kBeforeTrace
                                                          : saved_provenance_.Find(word, words);
  if (heap_->Insert(word, shape, provenance) != InsertResult::kOk) Refused(word, shape);
}

void Rebuild::SyncEnd(uint64_t objects, uint64_t bytes) {
  if (!check_ && state_ != HeapState::kFilling) return;
  if (sync_.objects != objects || InBytes(sync_.words) != bytes) {
    Report(ProblemKind::kTotals, "sync point has {} objects and {} bytes, its end says {} and {}",
           sync_.objects, InBytes(sync_.words), objects, bytes);
  }
  if (check_) {
    for (const std::string& missing : check_->Missing()) Report(ProblemKind::kSyncMismatch, "{}", missing);
    DropListedAsDead();
    check_.reset();
    syncs_.checked++;
  } else {
    if (!LeavesOutDead(sync_spaces_) && saved_provenance_.Missing() != 0) {
      Report(ProblemKind::kSyncMismatch,
             "provenance is given for {} bytes in which the sync point has no such objects",
             InBytes(saved_provenance_.Missing()));
    }
    saved_provenance_.Clear();
    state_ = HeapState::kExact;
    syncs_.taken++;
  }
  SetSyncState(SyncState::kComplete);
}

// What a sync point leaves out of its list in spaces where it may.
void Rebuild::DropListedAsDead() {
  std::vector<DeadRange> ranges;
  for (const SyncCheck::Range& dead : check_->Dead())
    ranges.push_back({dead.first, dead.end, trace::Generation::kOld});
  if (ranges.empty()) return;
  // The trace need not name its spaces in order.
  std::sort(ranges.begin(), ranges.end(),
            [](const DeadRange& a, const DeadRange& b) { return a.bottom < b.bottom; });
  BeforeDrop(ranges);
  for (const DeadRange& range : ranges) heap_->Drop(range.bottom, range.top);
  counts_ = false;  // of a collection that has begun
}

void Rebuild::SyncAbandoned(const std::string&) {
  check_.reset();
  if (state_ == HeapState::kFilling) state_ = HeapState::kUnknown;
  syncs_.abandoned++;
  SetSyncState(SyncState::kAbandoned);
}

void Rebuild::Lose() {
  check_.reset();
  saved_provenance_.Clear();
  state_ = HeapState::kLost;
}

void Rebuild::FreeHeap() {
  for (Heap* const heap : {heap_.get(), next_.get()}) {
    if (heap != nullptr) heap->FreeMemory();
  }
}

uint64_t Rebuild::MemoryBytes() const {
  return heap_->MemoryBytes() + next_->MemoryBytes() + definitions_->shapes().MemoryBytes() +
         provenance_table_.MemoryBytes();
}

}  // namespace anttracks::analyzer
