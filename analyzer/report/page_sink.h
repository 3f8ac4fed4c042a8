// SPDX-License-Identifier: Apache-2.0
// What the page of `report` shows of a trace of every object, in one pass: a sink for Decoder. Beside the
// histories of what is live it has the spaces at each collection, what was allocated over time, and what
// survived a collection.
//
// Thread safety: none. Ownership: as Rebuild. Units: words of 8 bytes unless a name says otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/passes/histories.h"
#include "analyzer/report/rate_over_time.h"

namespace anttracks::analyzer {

inline constexpr size_t kSpaceKinds = 5;
// Bytes that are used, by SpaceKind.
using UsedBySpace = std::array<uint64_t, kSpaceKinds>;

class PageSink : public Histories {
 public:
  struct Used {
    UsedBySpace before{}, after{};
  };
  struct Sync {
    SyncReason reason = SyncReason::kStart;
    uint64_t time_ns = 0;
    SyncState state = SyncState::kIncomplete;
  };

  using Histories::Histories;

  void AllocBegin(uint64_t thread, uint64_t time, uint32_t share) override {
    Flush();
    time_ = time;
    Histories::AllocBegin(thread, time, share);
  }
  void Objects(const Neighbours& objects) override {
    words_ += objects.end - objects.word;
    Histories::Objects(objects);
  }
  void Skipped(uint64_t word, uint64_t words) override {
    words_ += words;
    Histories::Skipped(word, words);
  }
  void GcBegin(const GcEvent& event) override;
  void GcEnd(const GcEvent& event) override;
  void SyncBegin(const SyncEvent& event) override {
    Histories::SyncBegin(event);
    syncs_.push_back({event.reason, event.time, SyncState::kIncomplete});
  }
  void SyncEnd(uint64_t objects, uint64_t bytes) override {
    Histories::SyncEnd(objects, bytes);
    if (!syncs_.empty()) syncs_.back().state = SyncState::kComplete;
  }
  void SyncAbandoned(const std::string& reason) override {
    Histories::SyncAbandoned(reason);
    if (!syncs_.empty()) syncs_.back().state = SyncState::kAbandoned;
  }
  void Loss(const LossEvent& event) override {
    Histories::Loss(event);
    losses_.push_back(event);
  }
  void End(const EndEvent& event) override {
    Histories::End(event);
    end_reason_ = event.reason;
  }

  // Of each collection of gcs().
  const std::vector<Used>& used() const { return used_; }
  const std::vector<Sync>& syncs() const { return syncs_; }
  const std::vector<LossEvent>& losses() const { return losses_; }
  const std::string& end_reason() const { return end_reason_; }
  const RateOverTime& rate() {
    Flush();
    return rate_;
  }
  // Of objects that were found alive by a collection after their allocation, by site-class pair.
  std::map<uint32_t, HeapTotals> Survived() const;

 private:
  void Flush() {
    if (words_ != 0) rate_.Add(time_, static_cast<double>(InBytes(words_)));
    words_ = 0;
  }
  void CountSurvivors();

  uint64_t time_ = 0, words_ = 0;  // of the ALLOC segment
  RateOverTime rate_;
  UsedBySpace before_{};
  std::vector<Used> used_;
  std::vector<Sync> syncs_;
  std::vector<LossEvent> losses_;
  std::string end_reason_;
  uint32_t not_counted_from_ = 0;   // births from this epoch on have survived no collection yet
  std::vector<uint64_t> survived_;  // objects by shape
};

}  // namespace anttracks::analyzer
