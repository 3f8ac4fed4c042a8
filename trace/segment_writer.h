// SPDX-License-Identifier: Apache-2.0
// Writes whole segments that are not streams of objects: collections, sync points, losses, ends.
//
// Each function appends one complete segment to a buffer. Thread safety: as the buffer. Units: times are
// ns since the start of the trace.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "trace/format.h"
#include "trace/segments.h"
#include "trace/space.h"
#include "trace/wire.h"

namespace anttracks::trace {

struct Collection {
  uint64_t id = 0;
  GcKind kind = GcKind::kYoung;
  std::string_view cause;
  uint64_t time = 0;
  std::span<const Space> spaces;
};

// kGcBegin or kGcEnd.
void AppendCollection(ByteBuffer* out, SegmentKind kind, const Collection& gc);
void AppendSyncBegin(ByteBuffer* out, SyncReason reason, uint64_t time, std::span<const Space> spaces);
void AppendSyncEnd(ByteBuffer* out, uint64_t objects, uint64_t bytes);
void AppendSyncAbandoned(ByteBuffer* out, std::string_view reason);
void AppendClassUnload(ByteBuffer* out, uint64_t class_id);
void AppendThreadEnd(ByteBuffer* out, uint64_t thread);
void AppendLoss(ByteBuffer* out, uint64_t time, uint64_t segments, uint64_t bytes, std::string_view reason);
void AppendEnd(ByteBuffer* out, uint64_t time, std::string_view reason, std::string_view counters);

}  // namespace anttracks::trace
