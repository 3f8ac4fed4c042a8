// SPDX-License-Identifier: Apache-2.0
// A sampled trace being recorded: takes samples, their deaths and the VM's pauses, and queues them as segments.
// Knows neither JVM TI nor files.
//
//     threads --Sample, Died--> open segment --full, collection, or a second old--> queue
//     VM thread --CollectionBegin, CollectionEnd------------------------------------^
//
// Thread safety: full. One mutex gives samples their order; nobody waits for anything while holding it, and
// nothing of the VM is called, so that the VM may report from within a pause. Threads wait for room in the
// queue before they take it.
//
// Failure: see Failure. What the queue has no room for is dropped and counted; deaths and collections never
// are.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "agent/sample/sample_definitions.h"
#include "agent/stream/event_source.h"
#include "trace/events.h"
#include "trace/samples.h"

namespace anttracks::core {

struct SampleConfig {
  size_t queue_bytes = 32 << 20;
  WhenFull when_full = WhenFull::kBlock;
  // How long a thread may wait for the writer before samples are dropped.
  std::chrono::milliseconds wait_limit{10'000};
};

class SampleSession final : public EventSource {
 public:
  explicit SampleSession(const SampleConfig& config);

  void Begin() { failure_.Activate(); }
  // interval: bytes, of the sample points of which this is one. The sample's number, by which its death will be
  // known; 0: tracing is off.
  uint64_t Sample(uint64_t interval, uint32_t thread, uint32_t site_class, uint64_t bytes);
  void Died(uint64_t number);
  // A sample whose death will not be known.
  void Untracked();
  // Pauses within pauses are one.
  void CollectionBegin();
  void CollectionEnd();

  void Finish(std::string_view reason) noexcept override;
  // Nothing is lost: threads keep no samples to themselves.
  void Abandon(std::string_view reason) noexcept override { Finish(reason); }

  SampleDefinitions& definitions() { return definitions_; }
  bool definitions_pending() const override { return definitions_.pending(); }
  std::vector<trace::ByteBuffer> TakeDefinitions() override { return definitions_.Take(); }
  void HandOver() override;
  std::string end_reason() const override;
  CounterValues counters() const override;

 private:
  static constexpr size_t kSegmentBytes = 16 << 10;
  static constexpr uint64_t kMostAge = 1'000'000'000;  // of an open segment, ns

  void WaitForRoom();
  // With mutex_ held.
  void Flush(ChunkAfter chunk);
  void PushCollection(trace::SegmentKind kind);

  const WhenFull when_full_;
  const std::chrono::milliseconds wait_limit_;
  SampleDefinitions definitions_;
  std::atomic<bool> stalled_{false};  // somebody waited in vain since there was room

  std::atomic<uint64_t> waits_{0}, blocked_ns_{0};

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  trace::SampleEncoder samples_;
  trace::SampleDeathEncoder deaths_;
  uint64_t interval_ = 0;       // of the samples in them
  uint64_t pending_since_ = 0;  // of what is in them, if anything is
  uint64_t sample_count_ = 0, sample_bytes_ = 0, death_count_ = 0, untracked_ = 0;
  uint64_t collections_ = 0;  // that have begun
  unsigned pauses_ = 0;       // that are under way, one within the other
  bool finished_ = false;
  std::string end_reason_;
};

}  // namespace anttracks::core
