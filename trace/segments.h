// SPDX-License-Identifier: Apache-2.0
// The kinds of segments, each with what the rest of the project asks about it, and the head that all of
// them have.
//
//     segment = u8 kind, uv stream, uv length, payload
//
// Payloads: object_runs.h, gc_records.h, events.h, provenance.h, samples.h, definition_records.h.
//
// Thread safety: none. Ownership: readers borrow the bytes, and so do the segments that they return.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "trace/format.h"
#include "trace/wire.h"

namespace anttracks::trace {

// Traces that may hold a segment: those of every object, those of samples.
enum class Traces : uint8_t { kFull, kSampled, kAll };

struct SegmentInfo {
  SegmentKind kind;
  const char* name;  // in docs/trace-format.md
  Traces traces;
  bool event;  // of the heap; the first one of a later data file is SYNC_BEGIN
  bool runs;   // runs of objects to the end of the payload, whose columns are compressed apart
};

// By kind; the first one stands for all kinds that are not known.
inline constexpr auto kSegments = std::to_array<SegmentInfo>({
    {SegmentKind::kUnknown, "unknown", Traces::kAll, false, false},
    {SegmentKind::kAlloc, "ALLOC", Traces::kFull, true, true},
    {SegmentKind::kMoves, "MOVES", Traces::kFull, true, false},
    {SegmentKind::kSlides, "SLIDES", Traces::kFull, true, false},
    {SegmentKind::kFillers, "FILLERS", Traces::kFull, true, false},
    {SegmentKind::kGcBegin, "GC_BEGIN", Traces::kAll, true, false},
    {SegmentKind::kGcEnd, "GC_END", Traces::kAll, true, false},
    {SegmentKind::kSyncBegin, "SYNC_BEGIN", Traces::kFull, true, false},
    {SegmentKind::kSyncObjects, "SYNC_OBJECTS", Traces::kFull, true, true},
    {SegmentKind::kSyncEnd, "SYNC_END", Traces::kFull, true, false},
    {SegmentKind::kClassUnload, "CLASS_UNLOAD", Traces::kFull, true, false},
    {SegmentKind::kThreadEnd, "THREAD_END", Traces::kAll, false, false},
    {SegmentKind::kDefinitions, "DEFINITIONS", Traces::kAll, false, false},
    {SegmentKind::kLoss, "LOSS", Traces::kAll, false, false},
    {SegmentKind::kEnd, "END", Traces::kAll, false, false},
    {SegmentKind::kSyncAbandoned, "SYNC_ABANDONED", Traces::kFull, true, false},
    {SegmentKind::kProvenance, "ORIGINS", Traces::kFull, false, false},
    {SegmentKind::kSamples, "SAMPLES", Traces::kSampled, false, false},
    {SegmentKind::kSampleDeaths, "SAMPLE_DEATHS", Traces::kSampled, false, false},
    {SegmentKind::kFound, "FOUND", Traces::kFull, true, false},
});

constexpr const SegmentInfo& InfoOf(uint8_t kind) { return kSegments[kind < kSegments.size() ? kind : 0]; }
constexpr const SegmentInfo& InfoOf(SegmentKind kind) { return InfoOf(static_cast<uint8_t>(kind)); }

static_assert(
    [] {
      for (size_t i = 0; i < kSegments.size(); i++) {
        if (static_cast<size_t>(kSegments[i].kind) != i) return false;
      }
      return true;
    }(),
    "the table is in the order of the kinds");

struct SegmentHead {
  uint8_t kind = 0;
  uint64_t stream = 0;
  uint64_t length = 0;  // of the payload
};

// At most kMaxSegmentHeaderBytes; returns the end.
inline uint8_t* PutSegmentHeader(uint8_t* p, SegmentKind kind, uint64_t stream, uint64_t length) {
  *p++ = static_cast<uint8_t>(kind);
  p = PutUv(p, stream);
  return PutUv(p, length);
}

// False: cut short. The payload may still be longer than the rest of the bytes.
inline bool ReadSegmentHead(WireReader& in, SegmentHead* head) {
  head->kind = in.U8();
  head->stream = in.Uv();
  head->length = in.Uv();
  return in.ok();
}

void AppendSegment(ByteBuffer* out, SegmentKind kind, uint64_t stream, std::span<const uint8_t> payload);

struct Segment {
  uint8_t kind = 0;
  uint64_t stream = 0;
  size_t offset = 0;  // of the payload below in the chunk's raw payload
  std::span<const uint8_t> payload;

  const SegmentInfo& info() const { return InfoOf(kind); }
  // For messages: its name, or its number if it has none.
  std::string label() const {
    return info().kind == SegmentKind::kUnknown ? "segment of kind " + std::to_string(kind) : info().name;
  }
};

// The segments of a DATA chunk's payload.
class SegmentReader {
 public:
  explicit SegmentReader(std::span<const uint8_t> payload) : payload_(payload) {}

  // False at the end, or at a segment that reaches beyond the payload: then malformed() is true.
  bool Next(Segment* segment);
  bool malformed() const { return malformed_; }
  // Of the end of the segment that Next returned last.
  size_t offset() const { return offset_; }

 private:
  std::span<const uint8_t> payload_;
  size_t offset_ = 0;
  bool malformed_ = false;
};

}  // namespace anttracks::trace
