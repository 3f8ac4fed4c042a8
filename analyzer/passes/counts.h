// SPDX-License-Identifier: Apache-2.0
// Counts of allocated objects that need no heap: sinks for Decoder.
//
// Thread safety: none. Units: words of 8 bytes.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "analyzer/model/heap.h"
#include "analyzer/passes/decoder.h"
#include "analyzer/passes/share_estimate.h"
#include "analyzer/passes/share_over_time.h"

namespace anttracks::analyzer {

// What was allocated. If nothing was skipped all objects are known, and the estimates are equal to them.
struct Allocated {
  HeapTotals known;  // objects that were read, or found by a collection
  Estimated objects, words;

  void Add(const Allocated& other) {
    known.Add(other.known);
    Sum(&objects, other.objects);
    Sum(&words, other.words);
  }

 private:
  static void Sum(Estimated* sum, const Estimated& one) {
    sum->value += one.value;
    sum->low += one.low;
    sum->high += one.high;
  }
};

// Counts allocated objects by shape, over the whole trace. Objects that only sync points list are not counted.
class CountByShape : public SinkBase {
 public:
  explicit CountByShape(const Definitions& definitions) : definitions_(&definitions) {}

  void AllocBegin(uint64_t, uint64_t, uint32_t share) override { share_ = share; }
  void RunBegin(trace::How how) override {
    chosen_ = how == trace::How::kTlab && share_ != trace::kWholeShare;
    chosen_ ? estimator_.Begin(share_) : estimator_.End();
  }
  void Objects(const Neighbours& objects) override {
    std::vector<uint64_t>& counts = chosen_ ? chosen_objects_ : exact_;
    for (const uint32_t shape : objects.shapes) {
      if (shape >= counts.size()) [[unlikely]]
        Grow(shape);
      counts[shape]++;
    }
    if (!chosen_) return;
    for (size_t i = 0; i < objects.shapes.size(); i++)
      estimator_.Object(GroupOf(objects.shapes[i]), objects.words[i]);
  }
  void Skipped(uint64_t, uint64_t words) override { estimator_.Skipped(words); }
  bool Found(uint64_t, uint64_t, uint32_t shape) override {
    if (shape >= exact_.size()) Grow(shape);
    chosen_objects_[shape]++;
    estimator_.Found(GroupOf(shape), definitions_->shapes().words(shape));
    return true;
  }

  // By id, for all site-class pairs with known objects.
  std::map<uint32_t, Allocated> BySiteClass();
  // Whether those are estimates.
  bool estimates() const { return skipped_words() != 0; }
  uint64_t skipped_words() const { return estimator_.skipped_words(); }
  // Words in stretches that were chosen at random.
  uint64_t read_words() const { return estimator_.read_words(); }

 private:
  void Grow(uint32_t shape) {
    exact_.resize(shape + size_t{1});
    chosen_objects_.resize(shape + size_t{1});
  }
  ShareEstimator::Group GroupOf(uint32_t shape) {
    static constexpr auto kNone = UINT32_MAX;
    if (shape >= groups_.size()) groups_.resize(shape + size_t{1}, kNone);
    if (groups_[shape] != kNone) return groups_[shape];
    const auto next = static_cast<ShareEstimator::Group>(group_of_site_class_.size());
    return groups_[shape] =
               group_of_site_class_.try_emplace(definitions_->shapes()[shape].site_class, next).first->second;
  }

  const Definitions* definitions_;
  uint32_t share_ = trace::kWholeShare;
  bool chosen_ = false;  // the current run is of a stretch that was chosen at random
  // Known objects by shape: those that do not stand for others; those that do, or were found.
  std::vector<uint64_t> exact_, chosen_objects_;
  std::vector<ShareEstimator::Group> groups_;  // by shape
  std::unordered_map<uint32_t, ShareEstimator::Group> group_of_site_class_;
  ShareEstimator estimator_;
};

inline std::map<uint32_t, Allocated> CountByShape::BySiteClass() {
  estimator_.End();
  std::map<uint32_t, Allocated> by_site_class;
  const ObjectShapes& shapes = definitions_->shapes();
  for (uint32_t shape = 0; shape < exact_.size(); shape++) {
    const uint64_t objects = exact_[shape] + chosen_objects_[shape];
    if (objects == 0) continue;
    const auto words = static_cast<double>(exact_[shape] * shapes.words(shape)),
               exact = static_cast<double>(exact_[shape]);
    by_site_class[shapes[shape].site_class].Add(
        {{objects, objects * shapes.words(shape)}, {exact, exact, exact}, {words, words, words}});
  }
  for (auto& [site_class, allocated] : by_site_class) {
    const auto group = group_of_site_class_.find(site_class);
    if (group == group_of_site_class_.end()) continue;
    const EstimatedTotals chosen = estimator_.Of({&group->second, 1});
    allocated.Add({{}, chosen.objects, chosen.words});
  }
  return by_site_class;
}

// Counts allocated objects and words by thread, in and outside TLABs.
class CountByThread : public SinkBase {
 public:
  struct Row {
    HeapTotals tlab, outside;  // objects that were read
    HeapTotals exact;          // of these, the objects that do not stand for others
    ShareEstimator chosen;

    // All words that the thread allocated.
    uint64_t words() const { return tlab.words + outside.words + chosen.skipped_words(); }
    Estimated objects() const {
      static constexpr ShareEstimator::Group kAll = 0;
      Estimated sum = chosen.Of({&kAll, 1}).objects;
      const auto known = static_cast<double>(exact.objects);
      return {sum.value + known, sum.low + known, sum.high + known};
    }
  };

  void AllocBegin(uint64_t thread, uint64_t, uint32_t share) override {
    EndRun();
    row_ = &rows_[thread];
    share_ = share;
  }
  void RunBegin(trace::How how) override {
    chosen_ = how == trace::How::kTlab && share_ != trace::kWholeShare;
    chosen_ ? row_->chosen.Begin(share_) : row_->chosen.End();
  }
  void Objects(const Neighbours& objects) override {
    const HeapTotals all{objects.shapes.size(), objects.end - objects.word};
    (objects.how == trace::How::kOutside ? row_->outside : row_->tlab).Add(all);
    if (!chosen_) return row_->exact.Add(all);
    for (const uint32_t words : objects.words) row_->chosen.Object(0, words);
  }
  void Skipped(uint64_t, uint64_t words) override {
    row_->chosen.Skipped(words);
    skipped_words_ += words;
  }
  // Only after the whole trace was decoded.
  const std::map<uint64_t, Row>& rows() {
    EndRun();
    return rows_;
  }
  bool estimates() const { return skipped_words_ != 0; }

 private:
  void EndRun() {
    if (row_ != nullptr) row_->chosen.End();
  }

  std::map<uint64_t, Row> rows_;
  Row* row_ = nullptr;
  uint32_t share_ = trace::kWholeShare;
  bool chosen_ = false;
  uint64_t skipped_words_ = 0;
};

// A file's collections and sync points, for `anttracks info`.
struct FileOverview {
  struct Sync {
    SyncReason reason = SyncReason::kStart;
    uint64_t time = 0;
    SyncState state = SyncState::kIncomplete;
    HeapTotals objects;
  };
  bool read = false;  // false: reading ended before it, or it holds no events
  uint64_t gcs = 0;   // collections that ended in it
  uint64_t first_gc = 0, last_gc = 0;
  std::vector<Sync> syncs;
};

// What `anttracks info` shows.
class Overview : public SinkBase {
 public:
  explicit Overview(const Definitions& definitions) : definitions_(&definitions) {}

  void FileBegin(uint32_t file) override {
    if (file >= files_.size()) files_.resize(file + size_t{1});
    current_ = &files_[file];
    current_->read = true;
  }
  void AllocBegin(uint64_t, uint64_t time, uint32_t share) override {
    shares_.Add(time, static_cast<double>(share) / trace::kWholeShare);
  }
  void Skipped(uint64_t, uint64_t words) override { skipped_words_ += words; }
  bool Found(uint64_t, uint64_t, uint32_t shape) override {
    Count(&found_, shape);
    return true;
  }
  void Objects(const Neighbours& objects) override {
    (objects.how == trace::How::kOutside ? outside_ : tlab_)
        .Add({objects.shapes.size(), objects.end - objects.word});
  }
  void SyncObject(uint64_t, uint64_t, uint32_t shape) override {
    Count(&sync_, shape);
    if (!current_->syncs.empty()) Count(&current_->syncs.back().objects, shape);
  }
  void Filler(uint64_t, uint32_t shape) override { Count(&fillers_, shape); }
  void GcBegin(const GcEvent& event) override { begin_ = event.time; }
  void GcEnd(const GcEvent& event) override {
    const auto kind = static_cast<size_t>(event.kind);
    gcs_[kind]++;
    gc_ns_[kind] += event.time > begin_ ? event.time - begin_ : 0;
    if (current_->gcs++ == 0) current_->first_gc = event.id;
    current_->last_gc = event.id;
  }
  void SyncBegin(const SyncEvent& event) override {
    syncs_[static_cast<size_t>(SyncState::kIncomplete)]++;
    current_->syncs.push_back({event.reason, event.time, SyncState::kIncomplete, {}});
  }
  void SyncEnd(uint64_t, uint64_t) override { SyncIs(SyncState::kComplete); }
  void SyncAbandoned(const std::string&) override { SyncIs(SyncState::kAbandoned); }
  void Loss(const LossEvent& event) override { losses_.push_back(event); }
  void End(const EndEvent& event) override { end_ = event; }

  const HeapTotals& tlab() const { return tlab_; }
  const HeapTotals& outside() const { return outside_; }
  const HeapTotals& sync() const { return sync_; }
  const HeapTotals& fillers() const { return fillers_; }
  // Skipped words, and the objects that collections found there.
  uint64_t skipped_words() const { return skipped_words_; }
  const HeapTotals& found() const { return found_; }
  const ShareOverTime& shares() const { return shares_; }
  uint64_t gcs(GcKind kind) const { return gcs_[static_cast<size_t>(kind)]; }
  uint64_t gc_ns(GcKind kind) const { return gc_ns_[static_cast<size_t>(kind)]; }
  uint64_t gc_ns() const { return std::accumulate(std::begin(gc_ns_), std::end(gc_ns_), uint64_t{0}); }
  // How many sync points ended in this state; kNone: all of them.
  uint64_t syncs(SyncState state) const {
    return state == SyncState::kNone ? syncs_[1] + syncs_[2] + syncs_[3] : syncs_[static_cast<size_t>(state)];
  }
  // By number in the reader's list of files; may be shorter. Empty for a definitions file.
  const std::vector<FileOverview>& files() const { return files_; }
  const std::vector<LossEvent>& losses() const { return losses_; }
  const EndEvent& end() const { return end_; }

 private:
  void Count(HeapTotals* totals, uint32_t shape) {
    totals->objects++;
    totals->words += definitions_->shapes().words(shape);
  }

  void SyncIs(SyncState state) {
    syncs_[static_cast<size_t>(SyncState::kIncomplete)]--;
    syncs_[static_cast<size_t>(state)]++;
    if (!current_->syncs.empty()) current_->syncs.back().state = state;
  }

  const Definitions* definitions_;
  std::vector<FileOverview> files_ = std::vector<FileOverview>(1);
  FileOverview* current_ = &files_[0];
  HeapTotals tlab_, outside_, sync_, fillers_, found_;
  uint64_t skipped_words_ = 0;
  ShareOverTime shares_;
  uint64_t gcs_[trace::kGcKinds] = {}, gc_ns_[trace::kGcKinds] = {};
  uint64_t begin_ = 0;
  uint64_t syncs_[4] = {};  // by SyncState
  std::vector<LossEvent> losses_;
  EndEvent end_;
};

// The ids of the collections that ended, in order.
class ListGcs : public SinkBase {
 public:
  void GcEnd(const GcEvent& event) override { ids_.push_back(event.id); }
  const std::vector<uint64_t>& ids() const { return ids_; }

 private:
  std::vector<uint64_t> ids_;
};

}  // namespace anttracks::analyzer
