// SPDX-License-Identifier: Apache-2.0
// Counts of allocated objects that need no heap: sinks for Decoder.
//
// Thread safety: none. Units: words of 8 bytes.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <vector>

#include "analyzer/model/heap.h"
#include "analyzer/passes/decoder.h"

namespace anttracks::analyzer {

// Objects by shape, over the whole trace; what sync points found is not allocated and not counted.
class CountByShape : public SinkBase {
 public:
  void Object(uint64_t, uint32_t shape, trace::How) {
    if (shape >= objects_.size()) objects_.resize(shape + size_t{1});
    objects_[shape]++;
  }
  // By shape id, possibly shorter than the number of shapes.
  const std::vector<uint64_t>& objects() const { return objects_; }

 private:
  std::vector<uint64_t> objects_;
};

// Objects and words by thread, inside and outside of TLABs.
class CountByThread : public SinkBase {
 public:
  struct Row {
    HeapTotals tlab, outside;
  };

  explicit CountByThread(const Symbols& symbols) : symbols_(&symbols) {}

  void AllocBegin(uint64_t thread, uint64_t, uint32_t) { row_ = &rows_[thread]; }
  void Object(uint64_t, uint32_t shape, trace::How how) {
    HeapTotals& totals = how == trace::How::kOutside ? row_->outside : row_->tlab;
    totals.objects++;
    totals.words += symbols_->shapes().words(shape);
  }
  const std::map<uint64_t, Row>& rows() const { return rows_; }

 private:
  const Symbols* symbols_;
  std::map<uint64_t, Row> rows_;
  Row* row_ = nullptr;
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
  uint64_t gcs = 0;   // that ended in it
  uint64_t first_gc = 0, last_gc = 0;
  std::vector<Sync> syncs;
};

// What `anttracks info` shows.
class Overview : public SinkBase {
 public:
  explicit Overview(const Symbols& symbols) : symbols_(&symbols) {}

  void FileBegin(uint32_t file) {
    if (file >= files_.size()) files_.resize(file + size_t{1});
    current_ = &files_[file];
    current_->read = true;
  }
  void Object(uint64_t, uint32_t shape, trace::How how) { Count(how == trace::How::kOutside ? &outside_ : &tlab_, shape); }
  void SyncObject(uint64_t, uint64_t, uint32_t shape) {
    Count(&sync_, shape);
    if (!current_->syncs.empty()) Count(&current_->syncs.back().objects, shape);
  }
  void Filler(uint64_t, uint32_t shape) { Count(&fillers_, shape); }
  void GcBegin(const GcEvent& event) { begin_ = event.time; }
  void GcEnd(const GcEvent& event) {
    const auto kind = static_cast<size_t>(event.kind);
    gcs_[kind]++;
    gc_ns_[kind] += event.time > begin_ ? event.time - begin_ : 0;
    if (current_->gcs++ == 0) current_->first_gc = event.id;
    current_->last_gc = event.id;
  }
  void SyncBegin(const SyncEvent& event) {
    syncs_[static_cast<size_t>(SyncState::kIncomplete)]++;
    current_->syncs.push_back({event.reason, event.time, SyncState::kIncomplete, {}});
  }
  void SyncEnd(uint64_t, uint64_t) { SyncIs(SyncState::kComplete); }
  void SyncAbandoned(const std::string&) { SyncIs(SyncState::kAbandoned); }
  void Loss(const LossEvent& event) { losses_.push_back(event); }
  void End(const EndEvent& event) { end_ = event; }

  const HeapTotals& tlab() const { return tlab_; }
  const HeapTotals& outside() const { return outside_; }
  const HeapTotals& sync() const { return sync_; }
  const HeapTotals& fillers() const { return fillers_; }
  uint64_t gcs(GcKind kind) const { return gcs_[static_cast<size_t>(kind)]; }
  uint64_t gc_ns(GcKind kind) const { return gc_ns_[static_cast<size_t>(kind)]; }
  uint64_t gc_ns() const { return std::accumulate(std::begin(gc_ns_), std::end(gc_ns_), uint64_t{0}); }
  // Sync points that ended like this, kNone: all.
  uint64_t syncs(SyncState state) const {
    return state == SyncState::kNone ? syncs_[1] + syncs_[2] + syncs_[3] : syncs_[static_cast<size_t>(state)];
  }
  // By number in the reader's list of files, possibly shorter; a symbols file's is empty.
  const std::vector<FileOverview>& files() const { return files_; }
  const std::vector<LossEvent>& losses() const { return losses_; }
  const EndEvent& end() const { return end_; }

 private:
  void Count(HeapTotals* totals, uint32_t shape) {
    totals->objects++;
    totals->words += symbols_->shapes().words(shape);
  }

  void SyncIs(SyncState state) {
    syncs_[static_cast<size_t>(SyncState::kIncomplete)]--;
    syncs_[static_cast<size_t>(state)]++;
    if (!current_->syncs.empty()) current_->syncs.back().state = state;
  }

  const Symbols* symbols_;
  std::vector<FileOverview> files_ = std::vector<FileOverview>(1);
  FileOverview* current_ = &files_[0];
  HeapTotals tlab_, outside_, sync_, fillers_;
  uint64_t gcs_[trace::kGcKinds] = {}, gc_ns_[trace::kGcKinds] = {};
  uint64_t begin_ = 0;
  uint64_t syncs_[4] = {};  // by SyncState
  std::vector<LossEvent> losses_;
  EndEvent end_;
};

// The number of collections that ended, and the place of each id among them.
class ListGcs : public SinkBase {
 public:
  void GcEnd(const GcEvent& event) { ids_.push_back(event.id); }
  const std::vector<uint64_t>& ids() const { return ids_; }

 private:
  std::vector<uint64_t> ids_;
};

}  // namespace anttracks::analyzer
