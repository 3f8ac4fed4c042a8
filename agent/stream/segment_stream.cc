// SPDX-License-Identifier: Apache-2.0
#include "agent/stream/segment_stream.h"

#include "trace/events.h"

namespace anttracks::core {

bool SegmentStream::Open(BufferQueue& queue, size_t bytes) {
  if (buffer_ == nullptr) buffer_ = queue.Acquire();
  if (buffer_ != nullptr && buffer_->capacity < bytes) {
    queue.Release(buffer_);
    buffer_ = queue.AcquireSized(bytes);
  }
  open_ = buffer_ != nullptr;
  if (!open_) return false;
  out = buffer_->data();
  limit_ = out + buffer_->capacity;
  return true;
}

bool SegmentStream::Close(BufferQueue& queue, trace::SegmentKind kind, uint64_t stream, PushMode mode,
                          WaitBudget* budget) {
  Buffer* const buffer = buffer_;
  buffer->used = static_cast<uint32_t>(used());
  buffer->kind = static_cast<uint8_t>(kind);
  buffer->stream = stream;
  buffer_ = nullptr;
  open_ = false;
  return queue.Push(buffer, mode, budget);
}

void SegmentStream::Release(BufferQueue& queue) {
  if (buffer_ != nullptr) queue.Release(buffer_);
  buffer_ = nullptr;
  open_ = false;
}

bool Staging::Copy(SegmentStream& stream, trace::SegmentKind kind, uint64_t number, trace::ByteBuffer* out) {
  if (!stream.open() || !stream.small()) return false;
  stream.open_ = false;
  trace::AppendSegment(out, kind, number, {stream.buffer_->data(), stream.used()});
  return true;
}

void Staging::Add(BufferQueue& queue, SegmentStream& stream, trace::SegmentKind kind, uint64_t number,
                  PushMode mode, WaitBudget* budget) {
  if (!stream.open()) return stream.Release(queue);
  if (!Copy(stream, kind, number, &segments_)) {
    (void)stream.Close(queue, kind, number, mode, budget);
  } else if (segments_.size() >= kMost) {
    Push(queue, mode);
  }
}

void Staging::Push(BufferQueue& queue, PushMode mode) {
  if (!segments_.empty()) (void)queue.PushSegments(segments_.span(), mode);
  segments_.Clear();
}

}  // namespace anttracks::core
