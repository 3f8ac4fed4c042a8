// SPDX-License-Identifier: Apache-2.0
// Records a sampled trace: queues samples, their deaths and the VM's collections as segments. Uses neither JVM
// TI nor files.
//
//     threads --Sample, Died--> open segment --full, collection, or a second old--> queue
//     VM thread --CollectionBegin, CollectionEnd------------------------------------^
//
// Thread safety: full. One mutex orders the samples. A thread that holds it neither waits nor calls the VM, so
// that the VM may report from within a pause. Threads wait for room in the queue before they take the mutex.
//
// Failure: see Failure. Samples that the queue has no room for are dropped and counted, deaths above twice its
// bound. A collection is never dropped: if the queue overflows the trace ends.
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
  // interval: mean distance in bytes between the thread's sample points. Returns the sample's number, for Died;
  // 0: tracing is off.
  uint64_t Sample(uint64_t interval, uint32_t thread, uint32_t site_class, uint64_t bytes);
  void Died(uint64_t number);
  // Counts a sample whose death will not be known.
  void Untracked();
  // Nested pauses count as one collection.
  void CollectionBegin();
  void CollectionEnd();

  void Finish(std::string_view reason) noexcept override;
  // Nothing is lost, as threads hold no samples of their own.
  void Abandon(std::string_view reason) noexcept override { Finish(reason); }

  SampleDefinitions& definitions() { return definitions_; }
  bool definitions_pending() const override { return definitions_.pending(); }
  std::vector<trace::ByteBuffer> TakeDefinitions() override { return definitions_.Take(); }
  void HandOver() override;
  std::string end_reason() const override;
  CounterValues counters() const override;

 private:
  static constexpr size_t kSegmentBytes = 16 << 10;
  static constexpr uint64_t kMostAge = 1'000'000'000;  // ns that a segment may be open

  void WaitForRoom();
  // The following need mutex_ to be held.
  void Flush(ChunkAfter chunk);
  void PushCollection(trace::SegmentKind kind);

  const WhenFull when_full_;
  const std::chrono::milliseconds wait_limit_;
  SampleDefinitions definitions_;
  std::atomic<bool> stalled_{false};  // a thread has waited in vain, and there was no room since

  std::atomic<uint64_t> waits_{0}, blocked_ns_{0};

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  trace::SampleEncoder samples_;
  trace::SampleDeathEncoder deaths_;
  uint64_t interval_ = 0;       // of the samples in samples_
  uint64_t pending_since_ = 0;  // when the open segments began, if there are any
  uint64_t sample_count_ = 0, sample_bytes_ = 0, death_count_ = 0, untracked_ = 0;
  uint64_t collections_ = 0;  // that have begun
  unsigned pauses_ = 0;       // how many nested pauses are under way
  bool finished_ = false;
  std::string end_reason_;
};

}  // namespace anttracks::core
