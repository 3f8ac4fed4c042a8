// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/histories.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/passes/shape_tally.h"

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
      if (cycle_ == Cycle::kNone) return Is::kNo;
      const bool again = cycle_ == Cycle::kMixed || cycle_ == Cycle::kMixedAndOneMore;
      cycle_ = Cycle::kMixed;
      return again ? Is::kInsteadOfLast : Is::kYes;
    }
    case GcKind::kYoung:
    case GcKind::kUnknown:
      break;
  }
  if (cycle_ == Cycle::kMarked || cycle_ == Cycle::kMixed) {
    cycle_ = cycle_ == Cycle::kMarked ? Cycle::kMarkedAndOneMore : Cycle::kMixedAndOneMore;
    return Is::kNo;
  }
  const bool second = cycle_ == Cycle::kMarkedAndOneMore;
  cycle_ = Cycle::kNone;
  return second ? Is::kYes : Is::kNo;
}

void ThinnedPoints::Add(HistoryPoint point) {
  point.levels.ShrinkToFit();
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
  live_.Forget();
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
  CountShapes(&point);
  if (!wanted_.every) others_.Clear();
  others_.Add(std::move(point));
  not_counted_ = false;
  events_ = 0;
}

bool Histories::Found(uint64_t from, uint64_t to, uint32_t shape) {
  const uint64_t before = gc().found.objects;
  const bool goes_on = LiveAndAllocated::Found(from, to, shape);
  if (gc().found.objects != before && live_.known()) live_.Add(shape);
  return goes_on;
}

void Histories::Filler(uint64_t word, uint32_t shape) {
  const uint64_t before = gc().fillers.objects;
  LiveAndAllocated::Filler(word, shape);
  if (gc().fillers.objects != before && live_.known()) live_.Add(shape);
}

void Histories::BeforeDrop(std::span<const DeadRange> ranges) {
  if (!live_.known()) return;
  // After a full collection the heap is walked anyway, for the births.
  if (gc().kind == GcKind::kFull) return live_.Forget();
  live_.Drop(heap(), provenance_table(), ranges);
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
  if (live_.known()) live_.End(heap().totals(), definitions().shapes(), epoch());
  const uint64_t objects = heap().totals().objects;
  not_counted_ =
      is == Is::kNo && !wanted_.every && objects > kAlwaysCounted && objects > events_ / kEventsPerCounted;
  if (not_counted_) return;
  const bool walks = is != Is::kNo || !live_.known();
  not_counted_ = walks && !AffordsWalk();
  if (not_counted_) return;
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

// Levels by site_class, those of one pair made one.
void Histories::AddLevels(const std::vector<Level>& levels, HistoryPoint* point) {
  for (size_t i = 0; i < levels.size();) {
    Level sum{.site_class = levels[i].site_class};
    for (; i < levels.size() && levels[i].site_class == sum.site_class; i++) {
      sum.objects += levels[i].objects;
      sum.words += levels[i].words;
      sum.survived += levels[i].survived;
    }
    point->levels.Add(sum);
    point->live.Add({sum.objects, sum.words});
  }
}

template <class Counts>
void Histories::AddShapes(const Counts& objects, HistoryPoint* point) const {
  std::vector<Level> of_shapes;
  for (uint32_t shape = 0; shape < objects.size(); shape++) {
    const auto count = static_cast<uint64_t>(objects[shape]);
    if (count == 0 || definitions().site_class_of_shape(shape).site == kSiteFiller) continue;
    of_shapes.push_back(
        {definitions().shapes()[shape].site_class, count, count * definitions().shapes().words(shape), 0});
  }
  std::sort(of_shapes.begin(), of_shapes.end(),
            [](const Level& a, const Level& b) { return a.site_class < b.site_class; });
  AddLevels(of_shapes, point);
}

// What was allocated since the collection is left out.
void Histories::CountShapes(HistoryPoint* point) {
  if (live_.known()) return AddShapes(live_.live(), point);
  walks_++;
  const std::vector<uint64_t> objects = LiveByShape(*this, [&](uint32_t provenance) {
    const bool older = provenance == ProvenanceTable::kBeforeTrace || provenance == ProvenanceTable::kFiller;
    const int64_t birth = older ? -1 : provenance_table()[provenance].birth;
    return birth < point->epoch && (wanted_.every || window().Has(birth));
  });
  if (wanted_.every) live_.Begin(objects, epoch());
  AddShapes(objects, point);
}

void Histories::CountCohorts(HistoryPoint* point) {
  // What is older than the trace has birth 0 here, all else its epoch plus 1.
  std::unordered_map<uint64_t, HeapTotals> totals;
  ShapeTally neighbours;  // of one birth
  uint64_t birth = 0;
  std::vector<uint64_t> live(definitions().shapes().size());  // by shape
  const auto take = [&] {
    neighbours.Take([&](uint32_t shape, uint64_t objects) {
      live[shape] += objects;
      const uint64_t site_class = definitions().shapes()[shape].site_class;
      totals[site_class << 32 | birth].Add({objects, objects * definitions().shapes().words(shape)});
    });
  };
  heap().ForEachRun(heap().start(), heap().end(), [&](std::span<const uint32_t> shapes, uint32_t provenance) {
    if (provenance == ProvenanceTable::kFiller) {
      for (const uint32_t shape : shapes) live[shape]++;
      return;
    }
    const int64_t epoch =
        provenance == ProvenanceTable::kBeforeTrace ? -1 : provenance_table()[provenance].birth;
    const uint64_t of_these = epoch < known_from_ ? 0 : static_cast<uint64_t>(epoch) + 1;
    if (of_these != birth) take();
    birth = of_these;
    for (const uint32_t shape : shapes) neighbours.Add(shape);
  });
  take();
  if (wanted_.every) live_.Begin(live, epoch());
  cohorts_.clear();
  for (const auto& [key, total] : totals) {
    const auto born = static_cast<uint32_t>(key);
    cohorts_.push_back(
        {static_cast<uint32_t>(key >> 32), born == 0 ? 0 : born - 1, total.objects, total.words, born == 0});
  }
  std::sort(cohorts_.begin(), cohorts_.end(), [](const Cohort& a, const Cohort& b) {
    return std::tuple(a.site_class, !a.before, a.epoch) < std::tuple(b.site_class, !b.before, b.epoch);
  });
  point->epoch_before = old_space_.points().empty() ? 0 : old_space_.points().back().epoch;
  std::vector<Level> levels;
  for (const Cohort& cohort : cohorts_) {
    const bool survived = cohort.before || cohort.epoch < point->epoch_before;
    levels.push_back({cohort.site_class, cohort.objects, cohort.words, survived ? cohort.objects : 0});
  }
  AddLevels(levels, point);
}

}  // namespace anttracks::analyzer
