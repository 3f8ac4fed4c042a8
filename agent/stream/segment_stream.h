// SPDX-License-Identifier: Apache-2.0
// The one way in which a segment is written: into a buffer of the queue's, record by record, until it is
// closed, which queues the buffer, or staged, which copies it together with other small ones.
//
//     closed --Open--> open, records at out --Close--> closed, the buffer is queued
//                                           `-Stage--> closed, the buffer stays or is queued
//
// Thread safety: none; a stream belongs to one thread at a time. Ownership: a stream owns its buffer until it
// is queued, and must be released to the queue before it goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/base/stretch.h"
#include "agent/stream/buffer_queue.h"
#include "trace/format.h"
#include "trace/object_runs.h"
#include "trace/wire.h"

namespace anttracks::core {

class SegmentStream {
 public:
  uint8_t* out = nullptr;  // the next record's place, while it is open

  bool open() const { return open_; }
  size_t used() const { return static_cast<size_t>(out - buffer_->data()); }
  // Bytes that still fit in.
  size_t room() const { return static_cast<size_t>(limit_ - out); }

  // A segment with room for that many bytes or more. False: out of memory.
  bool Open(BufferQueue& queue, size_t bytes);
  // False: its contents were dropped. budget: as in BufferQueue::Push.
  bool Close(BufferQueue& queue, trace::SegmentKind kind, uint64_t stream, PushMode mode, WaitBudget* budget);
  // Without its contents.
  void Release(BufferQueue& queue);

 private:
  friend class Staging;
  bool small() const { return used() < buffer_->capacity / 4 && used() < kMostSmall; }
  static constexpr size_t kMostSmall = 16 << 10;

  Buffer* buffer_ = nullptr;  // may be there while it is closed
  uint8_t* limit_ = nullptr;  // the end of the buffer
  bool open_ = false;
};

// Small segments that are copied together, so that they do not queue whole buffers.
class Staging {
 public:
  // The stream is closed then. A large segment is queued with its buffer; of a small one the buffer stays with
  // the stream. The buffer of a stream that was not open, idle since the last time, is given back.
  void Add(BufferQueue& queue, SegmentStream& stream, trace::SegmentKind kind, uint64_t number, PushMode mode,
           WaitBudget* budget);
  // The segment's bytes go to the end of out if it is small. False: it is not, or not open.
  static bool Copy(SegmentStream& stream, trace::SegmentKind kind, uint64_t number, trace::ByteBuffer* out);
  // Queues what was copied.
  void Push(BufferQueue& queue, PushMode mode);

 private:
  static constexpr size_t kMost = 256 << 10;
  trace::ByteBuffer segments_;
};

// Of segments that hold runs of objects; see trace/object_runs.h.
class RunStream : public SegmentStream {
 public:
  bool Open(BufferQueue& queue, size_t bytes) {
    run_end_ = 0;
    return SegmentStream::Open(queue, bytes);
  }
  static size_t Bytes(std::span<const uint16_t> ids, std::span<const uint32_t> lengths) {
    return trace::kMaxRunHeadBytes + ids.size_bytes() + lengths.size_bytes();
  }
  // Objects that lie one behind the other in [start, top). There must be room for Bytes().
  void Put(const Stretch& range, trace::How how, std::span<const uint16_t> ids,
           std::span<const uint32_t> lengths) {
    out = trace::PutRun(out, {.distance = Distance(range), .how = how}, ids, lengths);
  }
  // A range of which only the place is known. There must be room for kMaxRunHeadBytes.
  void PutSkipped(const Stretch& range) {
    const uint64_t words = (range.top - range.start) / trace::kWordBytes;
    out = trace::PutRunHead(out, {.distance = Distance(range), .how = trace::How::kSkipped, .lengths = words});
  }

 private:
  int64_t Distance(const Stretch& range) {
    const auto distance = static_cast<int64_t>(range.start / trace::kWordBytes - run_end_);
    run_end_ = range.top / trace::kWordBytes;
    return distance;
  }
  uint64_t run_end_ = 0;  // word behind the last run of the segment
};

// Of one GC worker: records that an encoder writes.
template <class Encoder, trace::SegmentKind kKind>
class GcStream {
 public:
  Encoder encoder;

  // For one more record. False: out of memory.
  bool Room(BufferQueue& queue, uint32_t worker, WaitBudget* budget) {
    if (stream_.open() && stream_.room() <= 2 * Encoder::kRoom) [[unlikely]] {
      Finish();
      stream_.Close(queue, kKind, worker, PushMode::kBounded, budget);
    }
    return stream_.open() || Open(queue);
  }
  uint8_t*& out() { return stream_.out; }
  // At the end of a collection.
  void Stage(BufferQueue& queue, Staging* staging, uint32_t worker, WaitBudget* budget) {
    if (stream_.open()) Finish();
    staging->Add(queue, stream_, kKind, worker, PushMode::kTry, budget);
    stream_.Release(queue);
  }
  void Release(BufferQueue& queue) { stream_.Release(queue); }

 private:
  bool Open(BufferQueue& queue) {
    if (!stream_.Open(queue, 0)) {
      queue.DropUnqueued(1, 0);
      return false;
    }
    encoder.Reset();
    return true;
  }
  void Finish() {
    if constexpr (requires { encoder.Finish(stream_.out); }) stream_.out = encoder.Finish(stream_.out);
  }

  SegmentStream stream_;
};

}  // namespace anttracks::core
