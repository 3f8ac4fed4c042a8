// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/histories.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace anttracks::analyzer {

OldSpaceCollections::Is OldSpaceCollections::Next(GcKind kind) {
  switch (kind) {
    case GcKind::kFull:
      cycle_ = Cycle::kNone;
      return Is::kYes;
    case GcKind::kRemark:
      cycle_ = Cycle::kMarked;
      return Is::kNo;
    case GcKind::kMixed: {
      const bool again = cycle_ == Cycle::kMixed;
      cycle_ = Cycle::kMixed;
      return again ? Is::kInsteadOfLast : Is::kYes;
    }
    case GcKind::kYoung:
    case GcKind::kUnknown:
      break;
  }
  if (cycle_ == Cycle::kMarked) {
    cycle_ = Cycle::kMarkedAndOneMore;
    return Is::kNo;
  }
  const bool second = cycle_ == Cycle::kMarkedAndOneMore;
  cycle_ = Cycle::kNone;
  return second ? Is::kYes : Is::kNo;
}

void ThinnedPoints::Add(HistoryPoint point) {
  points_.push_back(std::move(point));
  ordinals_.push_back(next_++);
  if (points_.size() > most_) Thin();
}

HistoryPoint ThinnedPoints::TakeLast() {
  HistoryPoint last = std::move(points_.back());
  points_.pop_back();
  ordinals_.pop_back();
  next_--;
  return last;
}

void ThinnedPoints::Clear() {
  points_.clear();
  ordinals_.clear();
}

void ThinnedPoints::Thin() {
  LeaveOut();
  while (points_.size() > most_ - most_ / 4) {
    stride_ *= 2;
    LeaveOut();
  }
}

void ThinnedPoints::LeaveOut() {
  size_t kept = 0;
  for (size_t i = 0; i < points_.size(); i++) {
    if (ordinals_[i] + newest_ < next_ && ordinals_[i] % stride_ != 0) continue;
    if (kept != i) {
      points_[kept] = std::move(points_[i]);
      ordinals_[kept] = ordinals_[i];
    }
    kept++;
  }
  points_.resize(kept);
  ordinals_.resize(kept);
}

const HistoryPoint* Histories::last() const {
  const HistoryPoint* last = nullptr;
  for (const ThinnedPoints* points : {&old_space_, &others_}) {
    if (points->points().empty()) continue;
    const HistoryPoint& newest = points->points().back();
    if (last == nullptr || newest.epoch > last->epoch) last = &newest;
  }
  return last;
}

void Histories::Forget() {
  old_space_.Clear();
  others_.Clear();
  not_counted_ = false;
  cohorts_.clear();
  old_space_count_ = 0;
  known_from_ = epoch();
}

HistoryPoint Histories::PointOf(uint32_t epoch) const {
  const GcRecord& gc = gcs()[epoch - size_t{1}];
  HistoryPoint point;
  point.gc = gc.id;
  point.kind = gc.kind;
  point.time_ns = gc.end_ns;
  point.epoch = epoch;
  point.allocated_words = allocated_at_[epoch - size_t{1}];
  return point;
}

void Histories::AddOther(HistoryPoint point) {
  CountLevels(&point);
  if (!wanted_.every) others_.Clear();
  others_.Add(std::move(point));
  not_counted_ = false;
  events_ = 0;
}

void Histories::GcEnd(const GcEvent& event) {
  LiveAndAllocated::GcEnd(event);
  collecting_ = false;
  allocated_at_.push_back(allocated_words_);
  reached_last_ = wanted_.last && event.id == *wanted_.last;
  using Is = OldSpaceCollections::Is;
  const Is is = old_space_collections_.Next(event.kind);
  if (!exact()) return Forget();
  // A remark leaves what was allocated since the collection before where it is.
  if (event.kind == GcKind::kRemark) return;
  const uint64_t objects = heap().totals().objects;
  not_counted_ =
      is == Is::kNo && !wanted_.every && objects > kAlwaysCounted && objects > events_ / kEventsPerCounted;
  if (not_counted_ || !MayWalk()) return;
  HistoryPoint point = PointOf(epoch());
  if (is == Is::kNo) return AddOther(std::move(point));
  if (is == Is::kInsteadOfLast && !old_space_.points().empty()) {
    HistoryPoint last = old_space_.TakeLast();
    last.old_space = false;
    if (wanted_.every) others_.Add(std::move(last));
    old_space_count_--;
  }
  old_space_count_++;
  point.old_space = true;
  CountCohorts(&point);
  old_space_.Add(std::move(point));
}

void Histories::Finish() {
  if (!not_counted_ || collecting_ || !exact() || !MayWalk()) return;
  const auto other = [](const GcRecord& gc) { return gc.kind != GcKind::kRemark; };
  const auto last = std::find_if(gcs().rbegin(), gcs().rend(), other);
  if (last != gcs().rend()) AddOther(PointOf(static_cast<uint32_t>(gcs().rend() - last)));
}

// What was allocated since the collection is left out.
void Histories::CountLevels(HistoryPoint* point) {
  std::unordered_map<uint32_t, Level> levels;
  const std::vector<uint64_t> by_shape = LiveByShape(*this, [&](uint32_t provenance) {
    const bool older = provenance == ProvenanceTable::kBeforeTrace || provenance == ProvenanceTable::kFiller;
    const int64_t birth = older ? -1 : provenance_table()[provenance].birth;
    return birth < point->epoch && (wanted_.every || window().Has(birth));
  });
  for (uint32_t shape = 0; shape < by_shape.size(); shape++) {
    const uint64_t objects = by_shape[shape];
    if (objects == 0 || definitions().site_class_of_shape(shape).site == kSiteFiller) continue;
    Level& level = levels[definitions().shapes()[shape].site_class];
    level.objects += objects;
    level.words += objects * definitions().shapes().words(shape);
  }
  for (const auto& [site_class, level] : levels) {
    point->levels.push_back({site_class, level.objects, level.words, 0});
    point->live.Add({level.objects, level.words});
  }
  std::sort(point->levels.begin(), point->levels.end(),
            [](const Level& a, const Level& b) { return a.site_class < b.site_class; });
}

void Histories::CountCohorts(HistoryPoint* point) {
  // What is older than the trace has birth 0 here, all else its epoch plus 1.
  std::unordered_map<uint64_t, HeapTotals> totals;
  HeapTotals* last = nullptr;
  uint64_t last_key = 0;
  heap().ForEach([&](const HeapObject& object, bool) {
    if (object.provenance == ProvenanceTable::kFiller) return;
    const int64_t epoch =
        object.provenance == ProvenanceTable::kBeforeTrace ? -1 : provenance_table()[object.provenance].birth;
    const uint64_t birth = epoch < known_from_ ? 0 : static_cast<uint64_t>(epoch) + 1;
    const uint64_t key = uint64_t{definitions().shapes()[object.shape].site_class} << 32 | birth;
    if (last == nullptr || key != last_key) {
      last = &totals[key];
      last_key = key;
    }
    last->objects++;
    last->words += definitions().shapes().words(object.shape);
  });
  cohorts_.clear();
  for (const auto& [key, total] : totals) {
    const auto birth = static_cast<uint32_t>(key);
    cohorts_.push_back(
        {static_cast<uint32_t>(key >> 32), birth == 0 ? 0 : birth - 1, total.objects, total.words, birth == 0});
  }
  std::sort(cohorts_.begin(), cohorts_.end(), [](const Cohort& a, const Cohort& b) {
    return std::tuple(a.site_class, !a.before, a.epoch) < std::tuple(b.site_class, !b.before, b.epoch);
  });
  point->epoch_before = old_space_.points().empty() ? 0 : old_space_.points().back().epoch;
  for (const Cohort& cohort : cohorts_) {
    point->live.Add({cohort.objects, cohort.words});
    if (point->levels.empty() || point->levels.back().site_class != cohort.site_class) {
      point->levels.push_back({cohort.site_class, 0, 0, 0});
    }
    Level& level = point->levels.back();
    level.objects += cohort.objects;
    level.words += cohort.words;
    if (cohort.before || cohort.epoch < point->epoch_before) level.survived += cohort.objects;
  }
}

}  // namespace anttracks::analyzer
