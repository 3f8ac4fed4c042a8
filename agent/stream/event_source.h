// SPDX-License-Identifier: Apache-2.0
// What the writer writes: a queue of segments, definitions that go ahead of them, and counters. A Session
// records every object (mode=full), a SampleSession some (mode=sample).
//
// Thread safety: clock, failure, queue and output are full; the virtual functions say who calls them.
// Ownership: owns queue and counters; outlives the writer.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/clock.h"
#include "agent/base/counters.h"
#include "agent/base/exit_gate.h"
#include "agent/base/failure.h"
#include "agent/stream/buffer_queue.h"
#include "trace/wire.h"

namespace anttracks::core {

// Counted by the writer.
struct OutputCounts {
  std::atomic<uint64_t> raw_bytes{0}, stored_bytes{0}, chunks{0}, files{1};
  std::atomic<uint64_t> write_ns{0}, compressed_chunks{0}, compress_ns{0};
  // At the bound of a rotated trace.
  std::atomic<uint64_t> dropped_chunks{0}, dropped_bytes{0}, requested_collections{0};
  // With keep=.
  std::atomic<uint64_t> folded_files{0}, unfolded_files{0}, fold_cpu_ns{0};
};

class EventSource {
 public:
  // recorded: every object or samples, never both.
  EventSource(ValidIn recorded, const QueueConfig& config) : recorded_(recorded), queue_(clock_, config) {}
  virtual ~EventSource() = default;
  EventSource(const EventSource&) = delete;

  const Clock& clock() const { return clock_; }
  Failure& failure() { return failure_; }
  BufferQueue& queue() { return queue_; }
  OutputCounts& output() { return output_; }
  // For the VM thread's collections, also when nothing is recorded any more.
  ExitGate& exit_gate() { return exit_gate_; }

  // Hands over what is left and closes the queue; Abandon when threads may still run and cannot be asked.
  virtual void Finish(std::string_view reason) noexcept = 0;
  virtual void Abandon(std::string_view reason) noexcept = 0;

  // The writer's side. Everything defined since the last call, in blocks of records.
  virtual bool definitions_pending() const = 0;
  virtual std::vector<trace::ByteBuffer> TakeDefinitions() = 0;
  // About ten times a second or more: what has waited for long may be queued.
  virtual void HandOver() {}
  // For END: after Finish or Abandon.
  virtual std::string end_reason() const = 0;
  // As they stand. Any thread. Those of threads that run may lag behind each other.
  virtual CounterValues counters() const = 0;
  std::string CountersJson() const { return core::CountersJson(counters(), recorded_); }
  std::vector<std::string> CounterLines(Severity severity) const {
    return core::CounterLines(counters(), recorded_, severity);
  }

 protected:
  // What the writer and the queue have counted.
  void CountOutput(CounterValues* values) const;

  const ValidIn recorded_;
  const Clock clock_;
  Failure failure_;
  BufferQueue queue_;
  OutputCounts output_;
  ExitGate exit_gate_;
};

}  // namespace anttracks::core
