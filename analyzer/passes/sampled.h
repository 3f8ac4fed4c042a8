// SPDX-License-Identifier: Apache-2.0
// A trace of samples: what was sampled, how long it lived, and how many objects it stands for. A sink for
// Decoder.
//
// With one sample per interval bytes, an object of s bytes is sampled with probability p = 1 - exp(-s /
// interval), as the JVM draws exponential distances between sample points in the bytes that a thread allocates.
// So a sample stands for 1 / p objects, and sums of these are unbiased estimates. The interval may change; each
// sample has its own.
//
// Thread safety: none. Units: words of 8 bytes, ns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analyzer/passes/decoder.h"

namespace anttracks::analyzer {

// How many objects and bytes some samples stand for.
struct Estimate {
  uint64_t samples = 0;
  double objects = 0, bytes = 0;
  double object_squares = 0, byte_squares = 0;  // sums of the squares of what each sample stands for

  void Add(const Estimate& other) {
    samples += other.samples;
    objects += other.objects;
    bytes += other.bytes;
    object_squares += other.object_squares;
    byte_squares += other.byte_squares;
  }
};

// The estimate from one sample. Units: bytes.
Estimate EstimateOf(uint64_t bytes, uint64_t interval);

struct SampledObject {
  static constexpr uint32_t kAlive = UINT32_MAX;
  uint64_t number = 0;
  uint32_t interval = 0, thread = 0, site_class = 0, words = 0;
  uint64_t time_ns = 0;
  uint32_t born = 0;       // how many collections had begun when it was allocated
  uint32_t died = kAlive;  // how many had begun when its death was recorded

  // Whether it was sampled before the collection began, and not known to be dead when the next one began.
  // Without an id: whether it lives at the end.
  bool LivesAfter(std::optional<uint64_t> gc) const {
    return gc ? born <= *gc && died > *gc + 1 : died == kAlive;
  }
};

class Sampled : public SinkBase {
 public:
  struct Gc {
    uint64_t id = 0, begin_ns = 0, end_ns = 0;
  };

  // interval: at the start of the trace.
  Sampled(const Definitions& definitions, Problems& problems, uint64_t interval)
      : definitions_(&definitions),
        problems_(&problems),
        interval_(interval),
        least_interval_(interval),
        most_interval_(interval) {}

  void set_position(const Position& position) override { position_ = position; }
  void Sample(const SampleEvent& event) override;
  void SampleDied(uint64_t number, uint64_t collections) override;
  void GcBegin(const GcEvent& event) override;
  void GcEnd(const GcEvent& event) override;
  void Loss(const LossEvent&) override { lost_ = true; }
  void End(const EndEvent& event) override;
  void Gap() override { lost_ = true; }

  const std::vector<SampledObject>& samples() const { return samples_; }
  // The collections that ended.
  const std::vector<Gc>& gcs() const { return gcs_; }
  const Definitions& definitions() const { return *definitions_; }
  uint64_t interval() const { return interval_; }
  // The least and the largest of the intervals at the start and of all samples.
  uint64_t least_interval() const { return least_interval_; }
  uint64_t most_interval() const { return most_interval_; }
  // Samples or deaths are missing: from there on it is not known which objects live.
  bool lost() const { return lost_; }

  static Estimate Of(const SampledObject& sample) { return EstimateOf(InBytes(sample.words), sample.interval); }
  // Estimates from the samples for which want(sample) is true, grouped by key(sample).
  template <class Key, class Want>
  std::map<uint64_t, Estimate> By(Key&& key, Want&& want) const {
    std::map<uint64_t, Estimate> sums;
    for (const SampledObject& sample : samples_) {
      if (want(sample)) sums[key(sample)].Add(Of(sample));
    }
    return sums;
  }

 private:
  const Definitions* definitions_;
  Problems* problems_;
  const uint64_t interval_;
  uint64_t least_interval_, most_interval_;
  Position position_;
  std::vector<SampledObject> samples_;  // by number
  std::vector<Gc> gcs_;
  uint64_t begun_ = 0;  // collections that have begun
  uint64_t begin_ns_ = 0;
  uint64_t last_number_ = 0;
  bool lost_ = false;
};

}  // namespace anttracks::analyzer
