// SPDX-License-Identifier: Apache-2.0
// What is live of each site-class pair after every collection, as a history: a sink for Decoder.
//
// An object that is in the heap after a young collection need not be live: nobody has looked into the old
// space. So the history marks old-space collections, after which the old space was looked into:
//   - a full collection
//   - with G1 the last mixed collection of a marking cycle, or, where marking found nothing worth a mixed one,
//     the second collection after the remark. A mixed one of no known cycle, or two young ones after
//     it, does not count: from JDK 22 on it may take only regions that could not be evacuated before
// At these it also counts what was in the heap at the old-space collection before, and it keeps when the
// objects that are live after the last one were allocated (cohorts).
//
// After other collections a large heap is looked at only when kEventsPerCounted events have come for each of
// its objects, and always after the last one, in Finish; walks that Rebuild does not afford are left out. If
// every collection is asked for, what lives is counted along (live_shapes.h); the heap is walked at old-space
// collections, and where that count does not add up.
//
// Memory: live pairs times kept points (some 7 bytes each), plus the pairs of site-class pair and birth after
// the last old-space collection. The newest points are all kept, of the older ones every second, fourth, ...
// one; of other collections only the last one unless every one is asked for.
//
// What precedes a loss is forgotten: after it nobody knows what is the same object.
//
// Thread safety: none. Ownership: as Rebuild. Units: words of 8 bytes, ns.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/passes/levels.h"
#include "analyzer/passes/live.h"
#include "analyzer/passes/live_shapes.h"
#include "analyzer/passes/portions.h"

namespace anttracks::analyzer {

// Which collections looked into the old space; told the kinds of all collections in their order.
class OldSpaceCollections {
 public:
  enum class Is {
    kNo,
    kYes,
    kInsteadOfLast,  // yes, and the last yes is none: it was of the same marking cycle
  };
  Is Next(GcKind kind);

 private:
  enum class Cycle { kNone, kMarked, kMarkedAndOneMore, kMixed, kMixedAndOneMore };
  Cycle cycle_ = Cycle::kNone;
};

// The heap after one collection.
struct HistoryPoint {
  uint64_t gc = 0;  // its id
  GcKind kind = GcKind::kYoung;
  uint64_t time_ns = 0;          // of its end
  uint32_t epoch = 0;            // collections that had ended by then, this one included
  uint64_t allocated_words = 0;  // since the trace began
  bool old_space = false;        // the old space was looked into
  uint32_t epoch_before = 0;     // then: epoch of the old-space collection before; 0: none
  HeapTotals live;               // without fillers
  Levels levels;                 // none that is empty
};

// Points in the order of time, of which old ones are left out as there are more.
class ThinnedPoints {
 public:
  // newest: so many are kept as they are; most: so many there are at most. most > 2 * newest.
  explicit ThinnedPoints(size_t newest = 64, size_t most = 256) : newest_(newest), most_(most) {}

  void Add(HistoryPoint point);
  HistoryPoint TakeLast();
  void Clear();
  const std::vector<HistoryPoint>& points() const { return points_; }

 private:
  void Thin();
  // Of the older points those that are no multiple of the stride.
  void LeaveOut();

  size_t newest_, most_;
  uint64_t next_ = 0, stride_ = 1;
  std::vector<uint64_t> ordinals_;
  std::vector<HistoryPoint> points_;
};

// Objects of one pair that are live after the last old-space collection, by birth.
struct Cohort {
  uint32_t site_class = 0;
  uint32_t epoch = 0;  // collections that had ended before they were allocated
  uint64_t objects = 0, words = 0;
  bool before = false;  // they are older than the trace, or than what is known of it; epoch is 0
};

class Histories : public LiveAndAllocated {
 public:
  struct Wanted {
    std::optional<uint64_t> last = {};  // the id of the collection after which nothing more is looked at
    bool every = false;                 // a point for every collection, within what ThinnedPoints keeps
    BirthWindow window = {};  // of allocated(), and of the points of others() unless every one is wanted
  };
  Histories(Definitions& definitions, Problems& problems, const Wanted& wanted)
      : LiveAndAllocated(definitions, problems, wanted.window), wanted_(wanted) {}

  void Objects(const Neighbours& objects) override {
    allocated_words_ += objects.end - objects.word;
    events_ += objects.shapes.size();
    if (objects.how == trace::How::kOutside && live_.known()) live_.Outside(objects);
    LiveAndAllocated::Objects(objects);
  }
  uint32_t Move(uint64_t from, uint64_t to) override {
    events_++;
    const uint32_t words = LiveAndAllocated::Move(from, to);
    Kept();
    return words;
  }
  uint32_t Slide(uint64_t from, uint64_t to) override {
    const uint32_t words = LiveAndAllocated::Slide(from, to);
    Kept();
    return words;
  }
  bool Found(uint64_t from, uint64_t to, uint32_t shape) override;
  void Filler(uint64_t word, uint32_t shape) override;
  void Skipped(uint64_t word, uint64_t words) override {
    allocated_words_ += words;
    LiveAndAllocated::Skipped(word, words);
  }
  void Stack(const StackEvent& event) override { stacks_.Add(0, 0, event); }
  void GcBegin(const GcEvent& event) override {
    collecting_ = true;
    LiveAndAllocated::GcBegin(event);
  }
  void GcEnd(const GcEvent& event) override;
  // Once, when all was decoded.
  void Finish();
  bool done() const override { return reached_last_ || Rebuild::done(); }

  // Old-space collections, and all others.
  const std::vector<HistoryPoint>& old_space() const { return old_space_.points(); }
  const std::vector<HistoryPoint>& others() const { return others_.points(); }
  // The newest of both; nullptr: there is none.
  const HistoryPoint* last() const;
  uint64_t allocated_words() const { return allocated_words_; }
  const StackSamples& stacks() const { return stacks_; }
  // Of the last old-space collection; by site_class, then by birth.
  const std::vector<Cohort>& cohorts() const { return cohorts_; }
  // Words that had been allocated when collection number epoch began, counted from 0 as in gcs().
  const std::vector<uint64_t>& allocated_at() const { return allocated_at_; }
  // The first epoch whose births are known.
  uint32_t known_from() const { return known_from_; }
  // How many old-space collections there were since then; points are left out of longer histories.
  uint64_t old_space_collections() const { return old_space_count_; }
  bool reached_last() const { return reached_last_; }
  // How often the heap was walked for a collection that is not of the old space.
  uint64_t walks() const { return walks_; }

 protected:
  void BeforeDrop(std::span<const DeadRange> ranges) override;
  void BeforeClear() override { live_.Forget(); }

 private:
  static constexpr uint64_t kAlwaysCounted = uint64_t{1} << 16, kEventsPerCounted = 32;

  void Forget();
  // The collection is the last one of so many.
  HistoryPoint PointOf(uint32_t epoch) const;
  void AddOther(HistoryPoint point);
  // What the collection has taken is live; if it is a newborn, it was not counted.
  void Kept() {
    if (live_.known() && taken() != nullptr && live_.IsNewborn(provenance_table(), taken()->provenance))
      live_.Add(taken()->shape);
  }
  static void AddLevels(const std::vector<Level>& levels, HistoryPoint* point);
  // objects: by shape.
  template <class Counts>
  void AddShapes(const Counts& objects, HistoryPoint* point) const;
  void CountShapes(HistoryPoint* point);
  void CountCohorts(HistoryPoint* point);

  Wanted wanted_;
  bool reached_last_ = false;
  bool collecting_ = false;   // between the begin of a collection and its end
  bool not_counted_ = false;  // the heap after the last collection
  uint64_t events_ = 0;       // objects that were allocated or moved since the heap was counted
  uint64_t allocated_words_ = 0;
  uint64_t walks_ = 0;
  LiveShapes live_;  // if every collection is asked for
  StackSamples stacks_;
  std::vector<uint64_t> allocated_at_;
  OldSpaceCollections old_space_collections_;
  ThinnedPoints old_space_, others_;
  std::vector<Cohort> cohorts_;
  uint64_t old_space_count_ = 0;
  uint32_t known_from_ = 0;  // births before this epoch are not known: there was a loss
};

}  // namespace anttracks::analyzer
