// SPDX-License-Identifier: Apache-2.0
// What each thread allocated of each site-class pair between marks, and what of it lives: the smallest parts
// from which reports choose, which they group and add up. Sinks for Decoder.
//
// Thread safety: none. Units: words of 8 bytes, ns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/model/heap.h"
#include "analyzer/passes/counts.h"
#include "analyzer/passes/heap_at.h"
#include "analyzer/passes/marks.h"
#include "analyzer/passes/stack_samples.h"

namespace anttracks::analyzer {

struct PortionKey {
  Passed passed = 0;
  uint64_t thread = 0;  // 0: not asked for, or before the trace
  uint32_t site_class = 0;
  auto operator<=>(const PortionKey&) const = default;
};

// The thread of what the collector made.
inline constexpr uint64_t kFillerThread = UINT64_MAX;

struct PortionOptions {
  bool threads = false;  // apart; otherwise all are thread 0
  std::vector<Mark> marks = {};
};

// What was allocated. Estimates where some stretches were skipped, from the stretches of each part apart.
class CountPortions : public SinkBase {
 public:
  CountPortions(const Definitions& definitions, const PortionOptions& options)
      : definitions_(&definitions), threads_(options.threads), marks_(options.marks) {}

  void AllocBegin(uint64_t thread, uint64_t time, uint32_t share) override {
    Select(marks_.At(time), threads_ ? thread : 0);
    share_ = share;
  }
  void RunBegin(trace::How how) override {
    chosen_ = how == trace::How::kTlab && share_ != trace::kWholeShare;
    chosen_ ? part_->estimator.Begin(share_) : part_->estimator.End();
  }
  void Objects(const Neighbours& objects) override {
    for (const uint32_t shape : objects.shapes) {
      Counts& counts = At(shape);
      if (!chosen_) counts.exact++;
    }
    if (!chosen_) return;
    for (size_t i = 0; i < objects.shapes.size(); i++)
      part_->estimator.Object(GroupOf(part_, objects.shapes[i]), objects.words[i]);
  }
  void Skipped(uint64_t, uint64_t words) override {
    part_->estimator.Skipped(words);
    skipped_words_ += words;
  }
  // Which thread allocated it, and when within the time since the last collection, is not known here.
  bool Found(uint64_t, uint64_t, uint32_t shape) override {
    if (threads_ || marks_.any_time()) return true;
    Select(marks_.At(0), 0);
    At(shape);
    part_->estimator.Found(GroupOf(part_, shape), definitions_->shapes().words(shape));
    return true;
  }
  void Stack(const StackEvent& event) override {
    stacks_.Add(marks_.At(event.time), threads_ ? event.thread : 0, event);
  }
  void GcEnd(const GcEvent& event) override {
    marks_.GcEnd(event.id);
    gc_ids_.push_back(event.id);
  }

  // All of which something is known.
  std::map<PortionKey, Allocated> Allocations();
  const StackSamples& stacks() const { return stacks_; }
  const Marks& marks() const { return marks_; }
  bool threads() const { return threads_; }
  // Of the collections that ended.
  const std::vector<uint64_t>& gc_ids() const { return gc_ids_; }
  // Whether some of it is estimated.
  bool estimates() const { return skipped_words_ != 0; }
  uint64_t skipped_words() const { return skipped_words_; }
  // In stretches that were chosen by chance.
  uint64_t read_words() const;

 private:
  struct Counts {
    uint64_t objects = 0, exact = 0;  // all that are known, and those that stand for themselves only
  };
  struct Part {
    std::unordered_map<uint32_t, Counts> by_shape;
    std::unordered_map<uint32_t, ShareEstimator::Group> groups;  // by site-class pair
    ShareEstimator estimator;
  };
  using PartKey = std::pair<Passed, uint64_t>;

  void Select(Passed passed, uint64_t thread) {
    const PartKey key(passed, thread);
    if (part_ != nullptr && key == key_) return;
    Flush();
    key_ = key;
    part_ = &parts_[key];
  }
  Counts& At(uint32_t shape) {
    if (shape >= counts_.size()) counts_.resize(shape + size_t{1});
    if (counts_[shape].objects++ == 0) touched_.push_back(shape);
    return counts_[shape];
  }
  ShareEstimator::Group GroupOf(Part* part, uint32_t shape) const {
    const auto next = static_cast<ShareEstimator::Group>(part->groups.size());
    return part->groups.try_emplace(definitions_->shapes()[shape].site_class, next).first->second;
  }
  void Flush() {
    for (const uint32_t shape : touched_) {
      Counts& sum = part_->by_shape[shape];
      sum.objects += counts_[shape].objects;
      sum.exact += counts_[shape].exact;
      counts_[shape] = {};
    }
    touched_.clear();
  }
  void AddPart(const PartKey& key, Part* part, std::map<PortionKey, Allocated>* all) const;

  const Definitions* definitions_;
  const bool threads_;
  Marks marks_;
  std::map<PartKey, Part> parts_;
  Part* part_ = nullptr;  // that is being read
  PartKey key_;
  std::vector<Counts> counts_;     // of it, by shape, since it was selected
  std::vector<uint32_t> touched_;  // shapes that it has
  uint32_t share_ = trace::kWholeShare;
  bool chosen_ = false;  // the run's stretch, by chance
  uint64_t skipped_words_ = 0;
  StackSamples stacks_;
  std::vector<uint64_t> gc_ids_;
};

// The same, and the heap at one moment.
class PortionsAndHeap : public HeapAt {
 public:
  // gc: the id of the collection after which the heap is wanted; none: as moment says, kLastGc or kEnd.
  PortionsAndHeap(Definitions& definitions, Problems& problems, const PortionOptions& options,
                  Moment::Kind moment, std::optional<uint64_t> gc)
      : HeapAt(definitions, problems, {gc ? Moment::Kind::kEnd : moment, 0}),
        gc_(gc),
        counts_(definitions, options) {}

  void AllocBegin(uint64_t thread, uint64_t time, uint32_t share) override {
    counts_.AllocBegin(thread, time, share);
    HeapAt::AllocBegin(thread, time, share);
  }
  void RunBegin(trace::How how) override { counts_.RunBegin(how); }
  void Skipped(uint64_t word, uint64_t words) override {
    counts_.Skipped(word, words);
    HeapAt::Skipped(word, words);
  }
  bool Found(uint64_t from, uint64_t to, uint32_t shape) override {
    counts_.Found(from, to, shape);
    return HeapAt::Found(from, to, shape);
  }
  void Objects(const Neighbours& objects) override {
    counts_.Objects(objects);
    HeapAt::Objects(objects);
  }
  void Stack(const StackEvent& event) override { counts_.Stack(event); }
  void GcEnd(const GcEvent& event) override {
    HeapAt::GcEnd(event);
    counts_.GcEnd(event);
    if (!gc_ || then_ || event.id != *gc_) return;
    live_ = LivePortions(*this, counts_.marks(), counts_.threads());
    then_ = {gcs().back(), state(), unknown_words(), knows_births()};
  }

  // What was known at a moment in the middle of the trace.
  struct Then {
    GcRecord gc;
    HeapState state = HeapState::kStart;
    uint64_t unknown_words = 0;
    bool knows_births = true;
  };

  CountPortions& counts() { return counts_; }
  // The collection with the id, once it was seen.
  const std::optional<Then>& then() const { return then_; }
  // At the moment that was asked for; only behind META, and not if overrun().
  std::map<PortionKey, HeapTotals> live() const {
    return then_ ? live_ : LivePortions(*this, counts_.marks(), counts_.threads());
  }
  // Which portion an object of that provenance belongs to, but for the site-class pair.
  static PortionKey KeyOfProvenance(const HeapAt& heap, const Marks& marks, bool threads, uint32_t provenance) {
    if (provenance == ProvenanceTable::kBeforeTrace) return {};
    if (provenance == ProvenanceTable::kFiller) return {0, threads ? kFillerThread : 0, 0};
    const Provenance& known = heap.provenance_table()[provenance];
    return {marks.OfBirth(known.birth), threads ? known.thread : 0, 0};
  }
  // The objects that the heap has, by portions. Marks in time are not passed: a heap knows collections only.
  static std::map<PortionKey, HeapTotals> LivePortions(const HeapAt& heap, const Marks& marks, bool threads);

 private:
  std::optional<uint64_t> gc_;
  CountPortions counts_;
  std::optional<Then> then_;
  std::map<PortionKey, HeapTotals> live_;
};

}  // namespace anttracks::analyzer
