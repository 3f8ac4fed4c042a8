// SPDX-License-Identifier: Apache-2.0
// The table of all kinds of segments, and the head that each segment has.
//
//     segment = u8 kind, uv stream, uv length, payload
//
// Payloads: object_runs.h, gc_records.h, events.h, provenance.h, samples.h, stacks.h, census.h,
// definition_records.h.
//
// Thread safety: none. Ownership: readers, and the segments that they return, borrow the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "trace/format.h"
#include "trace/wire.h"

namespace anttracks::trace {

// Which traces may hold a segment: those of every object, those of samples, censuses; or several of them.
enum class Traces : uint8_t {
  kFull = 1,
  kSampled = 2,
  kCensus = 4,
  kWithEvents = kFull | kSampled,
  kPatched = kFull | kCensus,
  kAll = kFull | kSampled | kCensus
};
constexpr bool Among(Traces some, Traces one) {
  return (static_cast<uint8_t>(some) & static_cast<uint8_t>(one)) != 0;
}

// What a segment holds: no event of the heap, an event, or an event with runs of objects.
enum class Content : uint8_t { kNoEvent, kEvent, kObjectRuns };

struct SegmentInfo {
  SegmentKind kind;
  const char* name;  // in docs/trace-format.md
  Traces traces;
  Content content;

  // An event of the heap. The first event of each data file but the first is SYNC_BEGIN.
  constexpr bool is_event() const { return content != Content::kNoEvent; }
  // Runs of objects up to the end of the payload; their columns are compressed separately.
  constexpr bool has_runs() const { return content == Content::kObjectRuns; }
};

// Indexed by kind; the first row stands for all unknown kinds.
inline constexpr auto kSegments = std::to_array<SegmentInfo>({
    {SegmentKind::kUnknown, "unknown", Traces::kAll, Content::kNoEvent},
    {SegmentKind::kAlloc, "ALLOC", Traces::kFull, Content::kObjectRuns},
    {SegmentKind::kMoves, "MOVES", Traces::kFull, Content::kEvent},
    {SegmentKind::kSlides, "SLIDES", Traces::kFull, Content::kEvent},
    {SegmentKind::kFillers, "FILLERS", Traces::kFull, Content::kEvent},
    {SegmentKind::kGcBegin, "GC_BEGIN", Traces::kWithEvents, Content::kEvent},
    {SegmentKind::kGcEnd, "GC_END", Traces::kWithEvents, Content::kEvent},
    {SegmentKind::kSyncBegin, "SYNC_BEGIN", Traces::kFull, Content::kEvent},
    {SegmentKind::kSyncObjects, "SYNC_OBJECTS", Traces::kFull, Content::kObjectRuns},
    {SegmentKind::kSyncEnd, "SYNC_END", Traces::kFull, Content::kEvent},
    {SegmentKind::kClassUnload, "CLASS_UNLOAD", Traces::kPatched, Content::kEvent},
    {SegmentKind::kThreadEnd, "THREAD_END", Traces::kWithEvents, Content::kNoEvent},
    {SegmentKind::kDefinitions, "DEFINITIONS", Traces::kAll, Content::kNoEvent},
    {SegmentKind::kLoss, "LOSS", Traces::kAll, Content::kNoEvent},
    {SegmentKind::kEnd, "END", Traces::kAll, Content::kNoEvent},
    {SegmentKind::kSyncAbandoned, "SYNC_ABANDONED", Traces::kFull, Content::kEvent},
    {SegmentKind::kProvenance, "ORIGINS", Traces::kFull, Content::kNoEvent},
    {SegmentKind::kSamples, "SAMPLES", Traces::kSampled, Content::kNoEvent},
    {SegmentKind::kSampleDeaths, "SAMPLE_DEATHS", Traces::kSampled, Content::kNoEvent},
    {SegmentKind::kFound, "FOUND", Traces::kFull, Content::kEvent},
    {SegmentKind::kStacks, "STACKS", Traces::kFull, Content::kNoEvent},
    {SegmentKind::kCensusRows, "CENSUS_ROWS", Traces::kCensus, Content::kNoEvent},
    {SegmentKind::kCensus, "CENSUS", Traces::kCensus, Content::kNoEvent},
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

// Writes at most kMaxSegmentHeaderBytes; returns the end.
inline uint8_t* PutSegmentHeader(uint8_t* p, SegmentKind kind, uint64_t stream, uint64_t length) {
  *p++ = static_cast<uint8_t>(kind);
  p = PutUv(p, stream);
  return PutUv(p, length);
}

// False: the bytes end within the head. Does not check that the payload fits in the rest of the bytes.
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
  size_t offset = 0;  // of this segment's payload within the chunk's raw payload
  std::span<const uint8_t> payload;

  const SegmentInfo& info() const { return InfoOf(kind); }
  // For messages: the kind's name; its number if it is unknown.
  std::string label() const {
    return info().kind == SegmentKind::kUnknown ? "segment of kind " + std::to_string(kind) : info().name;
  }
};

// The segments of a DATA chunk's payload.
class SegmentReader {
 public:
  explicit SegmentReader(std::span<const uint8_t> payload) : payload_(payload) {}

  // False: at the end, or at a segment that is longer than the rest of the payload; then malformed() is true.
  bool Next(Segment* segment);
  bool malformed() const { return malformed_; }
  // Where the segment that Next returned last ends in the payload.
  size_t offset() const { return offset_; }

 private:
  std::span<const uint8_t> payload_;
  size_t offset_ = 0;
  bool malformed_ = false;
};

}  // namespace anttracks::trace
