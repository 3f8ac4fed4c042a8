// SPDX-License-Identifier: Apache-2.0
// Writes a segment into a buffer of the queue, record by record. When it is complete it is closed, which queues
// the buffer, or staged, which copies it together with other small segments.
//
//     closed --Open--> open, records at out --Close--> closed, the buffer is queued
//                                           `-Stage--> closed, the buffer is reused or queued
//
// Thread safety: none; a stream belongs to one thread at a time. Ownership: a stream owns its buffer until the
// buffer is queued; call Release before destroying it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/base/address_range.h"
#include "agent/stream/buffer_queue.h"
#include "trace/format.h"
#include "trace/object_runs.h"
#include "trace/wire.h"

namespace anttracks::core {

class SegmentStream {
 public:
  uint8_t* out = nullptr;  // while it is open: where the next record goes

  bool open() const { return open_; }
  size_t used() const { return static_cast<size_t>(out - buffer_->data()); }
  // Bytes that still fit in the buffer.
  size_t room() const { return static_cast<size_t>(limit_ - out); }

  // Begins a segment with room for at least that many bytes. False: out of memory.
  bool Open(BufferQueue& queue, size_t bytes);
  // Queues the segment. False: it was dropped. budget: as in BufferQueue::Push.
  bool Close(BufferQueue& queue, trace::SegmentKind kind, uint64_t stream, PushMode mode, WaitBudget* budget);
  // Gives the buffer back without its contents.
  void Release(BufferQueue& queue);

 private:
  friend class Staging;
  bool small() const { return used() < buffer_->capacity / 4 && used() < kMostSmall; }
  static constexpr size_t kMostSmall = 16 << 10;

  Buffer* buffer_ = nullptr;  // a closed stream may have one
  uint8_t* limit_ = nullptr;  // the end of the buffer
  bool open_ = false;
};

// Copies small segments together, so that each does not take a whole buffer in the queue.
class Staging {
 public:
  // Closes the stream. A large segment is queued with its buffer; a small one is copied, and the stream keeps
  // the buffer. If the stream was not open since the last call, its buffer is released.
  void Add(BufferQueue& queue, SegmentStream& stream, trace::SegmentKind kind, uint64_t number, PushMode mode,
           WaitBudget* budget);
  // Appends the segment to out if it is small. False: it is large, or not open.
  static bool Copy(SegmentStream& stream, trace::SegmentKind kind, uint64_t number, trace::ByteBuffer* out);
  // Queues what was copied.
  void Push(BufferQueue& queue, PushMode mode);

 private:
  static constexpr size_t kMost = 256 << 10;
  trace::ByteBuffer segments_;
};

// A stream of segments that hold runs of objects; see trace/object_runs.h.
class RunStream : public SegmentStream {
 public:
  bool Open(BufferQueue& queue, size_t bytes) {
    run_end_ = 0;
    return SegmentStream::Open(queue, bytes);
  }
  static size_t Bytes(std::span<const uint16_t> ids, std::span<const uint32_t> lengths) {
    return trace::kMaxRunHeadBytes + ids.size_bytes() + lengths.size_bytes();
  }
  // Writes a run of the objects in the range. There must be room for Bytes().
  void Put(const AddressRange& range, trace::How how, std::span<const uint16_t> ids,
           std::span<const uint32_t> lengths) {
    out = trace::PutRun(out, {.distance = Distance(range), .how = how}, ids, lengths);
  }
  // Writes a skipped range. There must be room for kMaxRunHeadBytes.
  void PutSkipped(const AddressRange& range) {
    const uint64_t words = (range.top - range.start) / trace::kWordBytes;
    out = trace::PutRunHead(out, {.distance = Distance(range), .how = trace::How::kSkipped, .lengths = words});
  }

 private:
  int64_t Distance(const AddressRange& range) {
    const auto distance = static_cast<int64_t>(range.start / trace::kWordBytes - run_end_);
    run_end_ = range.top / trace::kWordBytes;
    return distance;
  }
  uint64_t run_end_ = 0;  // word after the last run of the segment
};

// A stream of one GC worker, with the encoder of its records.
template <class Encoder, trace::SegmentKind kKind>
class GcStream {
 public:
  Encoder encoder;

  // Makes room for one more record, in a new segment if need be. False: out of memory.
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
