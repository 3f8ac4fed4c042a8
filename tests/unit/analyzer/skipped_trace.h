// SPDX-License-Identifier: Apache-2.0
// A trace of which half of the stretches were read.
#pragma once

#include <vector>

#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {

struct TestFound {
  TestMove move;
  uint64_t kind = 0, length = 0;
};
inline ByteBuffer Found(const std::vector<TestFound>& found) {
  ByteBuffer payload;
  uint64_t from_end = 0, to_end[2] = {0, 0};
  for (const auto& [move, kind, length] : found) {
    payload.Uv(trace::Zigzag(static_cast<int64_t>(move.from - from_end)) << 2 | 2 | move.lab);
    payload.Sv(static_cast<int64_t>(move.to - to_end[move.lab]));
    payload.Uv(kind);
    payload.Uv(length);
    from_end = move.from + move.words;
    to_end[move.lab] = move.to + move.words;
  }
  return payload;
}

inline constexpr uint64_t kHalf = trace::kWholeShare / 2;

// main: two Nodes, then 20 words that were skipped; worker: an Object.
inline TraceBuilder SkippedStart() {
  TraceBuilder b = SmallStart();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(2000, kHalf).Tlab(kEden).Fixed(1).Fixed(1).Skipped(0, 20));
  b.Segment(SegmentKind::kAlloc, 2, Objects().Head(3000, kHalf).Tlab(kEden + 32).Fixed(6));
  return b;
}

// A young collection that moves main's first Node and these.
inline TraceBuilder WithFound(const std::vector<TestFound>& found, uint64_t to, uint64_t old) {
  TraceBuilder b = SkippedStart();
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(66, 0, 0, 17));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}}));
  b.Segment(SegmentKind::kFound, 0, Found(found));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(0, 0, to, old));
  return b;
}

// An int[10] and a Node are found; then a full collection, before which what was skipped is read after all.
inline TraceBuilder SkippedTrace() {
  TraceBuilder b =
      WithFound({{{kEden + 8, kOld + 17, 1, 7}, 2, 10}, {{kEden + 20, kTo + 3, 0, 3}, 1, 0}}, 6, 24);
  b.Segment(SegmentKind::kAlloc, 1,
            Objects().Head(10000, kHalf).Tlab(kEden).Fixed(1).Late(1).Fixed(1).WithLength(2, 10));
  b.Gc(SegmentKind::kGcBegin, 1, 1, "System.gc()", 20000, Spaces(14, 0, 6, 24, true));
  b.Segment(SegmentKind::kSlides, 0, Slide(1, kOld, kOld));
  b.Segment(SegmentKind::kSlides, 0, Slide(1, kOld + 17, kOld + 14));
  b.Segment(SegmentKind::kSlides, 1, Slide(1, kEden + 4, kOld + 21));
  b.Gc(SegmentKind::kGcEnd, 1, 1, "System.gc()", 30000, Spaces(0, 0, 0, 24));
  b.End(2'000'000, "VM death", "{\"dropped\":0}");
  return b.Flush(true);
}

}  // namespace anttracks::testing
