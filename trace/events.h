// SPDX-License-Identifier: Apache-2.0
// Segments of one record: collections, sync points, losses, the end.
//
// Append* writes a whole segment, Read* reads the payload of one. Read* returns an error for malformed bytes:
// the payload ends too early, or a number has no meaning. It does not check whether the event may follow those
// before it.
//
// Thread safety: that of the buffer. Units: times are ns since the start of the trace; addresses are word
// numbers (address / 8).
// Ownership: events that are read own their text and spaces.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/format.h"
#include "trace/segments.h"
#include "trace/status.h"
#include "trace/wire.h"

namespace anttracks::trace {

// A contiguous space of the heap: its objects lie in [bottom, top); [top, end) is free.
struct Space {
  SpaceKind kind = SpaceKind::kEden;
  Collected collected = Collected::kNo;
  uint64_t bottom = 0, top = 0, end = 0;
};

// For writing; borrows cause and spaces.
struct Collection {
  uint64_t id = 0;
  GcKind kind = GcKind::kYoung;
  std::string_view cause;
  uint64_t time = 0;
  std::span<const Space> spaces;
};

struct GcEvent {
  uint64_t id = 0;
  GcKind kind = GcKind::kYoung;
  std::string cause;
  uint64_t time = 0;
  std::vector<Space> spaces;
};

struct SyncEvent {
  SyncReason reason = SyncReason::kStart;
  uint64_t time = 0;
  std::vector<Space> spaces;
};

// How much a sync point listed.
struct SyncTotals {
  uint64_t objects = 0, bytes = 0;
};

struct LossEvent {
  uint64_t time = 0, segments = 0, bytes = 0;
  std::string reason;
};

struct EndEvent {
  uint64_t time = 0;
  std::string reason;
  std::string counters;  // JSON
};

// kind: kGcBegin or kGcEnd.
void AppendCollection(ByteBuffer* out, SegmentKind kind, const Collection& gc);
void AppendSyncBegin(ByteBuffer* out, SyncReason reason, uint64_t time, std::span<const Space> spaces);
void AppendSyncEnd(ByteBuffer* out, uint64_t objects, uint64_t bytes);
void AppendSyncAbandoned(ByteBuffer* out, std::string_view reason);
void AppendClassUnload(ByteBuffer* out, uint64_t class_id);
void AppendThreadEnd(ByteBuffer* out, uint64_t thread);
void AppendLoss(ByteBuffer* out, uint64_t time, uint64_t segments, uint64_t bytes, std::string_view reason);
void AppendEnd(ByteBuffer* out, uint64_t time, std::string_view reason, std::string_view counters);

Status ReadCollection(std::span<const uint8_t> payload, GcEvent* gc);
Status ReadSyncBegin(std::span<const uint8_t> payload, SyncEvent* sync);
Status ReadSyncEnd(std::span<const uint8_t> payload, SyncTotals* totals);
Status ReadSyncAbandoned(std::span<const uint8_t> payload, std::string* reason);
Status ReadClassUnload(std::span<const uint8_t> payload, uint64_t* class_id);
Status ReadLoss(std::span<const uint8_t> payload, LossEvent* loss);
Status ReadEnd(std::span<const uint8_t> payload, EndEvent* end);

}  // namespace anttracks::trace
