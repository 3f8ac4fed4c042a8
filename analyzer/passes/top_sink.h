// SPDX-License-Identifier: Apache-2.0
// What a trace that is being written has so far: what each site and class allocated, what is live after the
// last collection, pauses and losses. A sink for Decoder, whose numbers may be asked for at any moment.
//
// Thread safety: none. Ownership: as Rebuild. Units: words of 8 bytes, ns since the start of the trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/passes/heap_at.h"

namespace anttracks::analyzer {

class TopSink : public HeapAt {
 public:
  // Objects of one shape.
  struct Made {
    uint64_t exact = 0;   // read, and not in stretches that were chosen at random
    uint64_t chosen = 0;  // read in such stretches: they stand for what was skipped, too
    uint64_t found = 0;   // by collections, in what was skipped

    uint64_t known() const { return exact + chosen + found; }
  };

  TopSink(Definitions& definitions, Problems& problems)
      : HeapAt(definitions, problems, {Moment::Kind::kLastGc, 0}) {}

  void Configure(uint64_t start_word, uint64_t end_word) override {
    configured_ = true;
    HeapAt::Configure(start_word, end_word);
  }
  void AllocBegin(uint64_t thread, uint64_t time, uint32_t share) override {
    time_ = std::max(time_, time);
    share_ = share;
    HeapAt::AllocBegin(thread, time, share);
  }
  void RunBegin(trace::How how) override {
    chosen_ = how == trace::How::kTlab && share_ != trace::kWholeShare;
    HeapAt::RunBegin(how);
  }
  void Objects(const Neighbours& objects) override {
    for (const uint32_t shape : objects.shapes) (chosen_ ? Of(shape).chosen : Of(shape).exact)++;
    HeapAt::Objects(objects);
  }
  bool Found(uint64_t from, uint64_t to, uint32_t shape) override {
    Of(shape).found++;
    return HeapAt::Found(from, to, shape);
  }
  void Skipped(uint64_t word, uint64_t words) override {
    skipped_words_ += words;
    HeapAt::Skipped(word, words);
  }
  void GcEnd(const GcEvent& event) override {
    HeapAt::GcEnd(event);
    time_ = std::max(time_, event.time);
    pauses_ns_ += gcs().empty() ? 0 : gcs().back().end_ns - gcs().back().begin_ns;
  }
  void Loss(const LossEvent& event) override {
    losses_++;
    HeapAt::Loss(event);
  }
  void End(const EndEvent& event) override {
    end_reason_ = event.reason;
    time_ = std::max(time_, event.time);
    HeapAt::End(event);
  }
  bool done() const override { return stopped_ || HeapAt::done(); }
  // No more is read.
  void Stop() { stopped_ = true; }

  // By shape; may be shorter than the list of shapes.
  const std::vector<Made>& allocated() const { return allocated_; }
  // Words of stretches that were not read.
  uint64_t skipped_words() const { return skipped_words_; }
  // By shape: the objects that the last collection left, fillers included. Empty: there is no heap yet, a
  // collection is under way, or the walk is left out.
  std::vector<uint64_t> Live() {
    std::vector<uint64_t> live;
    if (!configured_ || in_gc() || !AffordsWalk()) return live;
    live.resize(definitions().shapes().size());
    ForEach([&](const HeapObject& object) { live[object.shape]++; });
    return live;
  }
  // Of the last event.
  uint64_t time_ns() const { return time_; }
  uint64_t pauses_ns() const { return pauses_ns_; }
  uint64_t losses() const { return losses_; }
  // Empty: the trace has no end yet.
  const std::string& end_reason() const { return end_reason_; }

 private:
  Made& Of(uint32_t shape) {
    if (shape >= allocated_.size()) allocated_.resize(shape + size_t{1});
    return allocated_[shape];
  }

  std::vector<Made> allocated_;
  uint32_t share_ = trace::kWholeShare;
  bool chosen_ = false;  // the current run is of a stretch that was chosen at random
  uint64_t skipped_words_ = 0, time_ = 0, pauses_ns_ = 0, losses_ = 0;
  bool configured_ = false, stopped_ = false;
  std::string end_reason_;
};

}  // namespace anttracks::analyzer
