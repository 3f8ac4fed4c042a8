// SPDX-License-Identifier: Apache-2.0
// Where the writer gets a trace from: a queue of segments, the definitions that precede them, and counters. A
// Session records every object (mode=full) or censuses (mode=census), a SampleSession some (mode=sample).
//
// Thread safety: full for clock, failure, queue and output; each virtual function says who calls it.
// Ownership: owns queue and counters; must outlive the writer.
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

// What the writer counts.
struct OutputCounts {
  std::atomic<uint64_t> raw_bytes{0}, stored_bytes{0}, chunks{0}, files{1};
  std::atomic<uint64_t> write_ns{0}, compressed_chunks{0}, compress_ns{0};
  // At the bound of a rotated trace: dropped events, and requested collections.
  std::atomic<uint64_t> dropped_chunks{0}, dropped_bytes{0}, requested_collections{0};
  // With keep=: provenance files, and those that had no room or could not be written.
  std::atomic<uint64_t> provenance_files{0}, lost_provenance{0};
};

class EventSource {
 public:
  // recorded: kFull, kSample or kCensus.
  EventSource(ValidIn recorded, const QueueConfig& config) : recorded_(recorded), queue_(clock_, config) {}
  virtual ~EventSource() = default;
  EventSource(const EventSource&) = delete;

  const Clock& clock() const { return clock_; }
  Failure& failure() { return failure_; }
  BufferQueue& queue() { return queue_; }
  OutputCounts& output() { return output_; }
  // The VM thread passes it at each collection, even when nothing is recorded any more.
  ExitGate& exit_gate() { return exit_gate_; }

  // Both close the queue. Finish first queues what is left; Abandon is for when threads may still run and
  // cannot be stopped.
  virtual void Finish(std::string_view reason) noexcept = 0;
  virtual void Abandon(std::string_view reason) noexcept = 0;

  // For the writer: everything that was defined since the last call, in blocks of records.
  virtual bool definitions_pending() const = 0;
  virtual std::vector<trace::ByteBuffer> TakeDefinitions() = 0;
  // The writer calls it about ten times a second or more: segments that were open for long may be queued.
  virtual void HandOver() {}
  // The reason in END. After Finish or Abandon.
  virtual std::string end_reason() const = 0;
  // The present values. Any thread. Counts of running threads may be from slightly different moments.
  virtual CounterValues counters() const = 0;
  std::string CountersJson() const { return core::CountersJson(counters(), recorded_); }
  std::vector<std::string> CounterLines(Severity severity) const {
    return core::CounterLines(counters(), recorded_, severity);
  }

 protected:
  // Fills in what the writer and the queue have counted.
  void CountOutput(CounterValues* values) const;

  const ValidIn recorded_;
  const Clock clock_;
  Failure failure_;
  BufferQueue queue_;
  OutputCounts output_;
  ExitGate exit_gate_;
};

}  // namespace anttracks::core
