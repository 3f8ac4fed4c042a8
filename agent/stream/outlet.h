// SPDX-License-Identifier: Apache-2.0
// Where the parts of a session put what they record.
//
// Thread safety: that of its members. Ownership: borrows them.
#pragma once

#include "agent/base/clock.h"
#include "agent/base/failure.h"
#include "agent/stream/buffer_queue.h"
#include "trace/wire.h"

namespace anttracks::core {

struct Outlet {
  const Clock& clock;
  BufferQueue& queue;
  Failure& failure;

  // Queues a segment without which the segments around it make no sense, such as GC_BEGIN. If it cannot be
  // queued tracing fails, as nothing may follow.
  void PushFrame(const trace::ByteBuffer& segment, ChunkAfter chunk = ChunkAfter::kGoesOn) const {
    if (failure.failed()) return;
    if (!queue.PushSegments(segment.span(), PushMode::kForce, chunk)) CannotQueue();
  }
  // Tracing fails, as a frame or a mark was refused.
  void CannotQueue() const {
    failure.Fail(queue.overflows() ? "the disk takes nothing, and too much waits for it" : "out of memory");
  }
};

}  // namespace anttracks::core
