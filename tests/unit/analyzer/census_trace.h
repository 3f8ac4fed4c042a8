// SPDX-License-Identifier: Apache-2.0
// A trace of censuses, byte for byte. Pair 1 leaks: 24 more Nodes of app.List.add in each; pair 2 stays, pair 4
// is filler, pair 6 swings.
//
// Thread safety: none.
#pragma once

#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {

struct TestCensus {
  uint64_t gc, kind, old_space, time, collections, allocated_words;
  std::vector<std::vector<uint64_t>> rows;  // pair, objects, words
};

inline ByteBuffer CensusRows(const std::vector<std::vector<uint64_t>>& rows) {
  ByteBuffer payload;
  uint64_t last = 0;
  for (const auto& row : rows) {
    payload.Uv(row[0] - last);
    payload.Uv(row[1]);
    payload.Uv(row[2]);
    last = row[0];
  }
  return payload;
}

inline void AddCensus(TraceBuilder* b, const TestCensus& census) {
  b->Segment(SegmentKind::kCensusRows, 0, CensusRows(census.rows));
  uint64_t objects = 0, words = 0;
  for (const auto& row : census.rows) {
    objects += row[1];
    words += row[2];
  }
  b->Numbers(SegmentKind::kCensus, 0,
             {census.gc, census.kind, census.old_space, census.time, 500, census.collections,
              census.allocated_words, 0, 10, words, 0, 0, objects, words});
}

inline TraceBuilder CensusStart() {
  TraceBuilder b;
  b.Chunk(1,
          "{\"agent_version\":\"0.1.0\",\"vm_version\":\"17.0.19\",\"java_command\":\"Main 1\","
          "\"vm_flags\":\"-XX:+UseParallelGC\",\"options\":\"mode=census\",\"mode\":\"census\","
          "\"object_alignment\":8,\"heap_start\":" +
              std::to_string(kEden * 8) + ",\"heap_end\":" + std::to_string(kHeapEnd * 8) + "}");
  b.Segment(SegmentKind::kDefinitions, 0, SmallDefinitions().bytes());
  return b;
}

// A young one, then so many after full collections, and one more young one.
inline TraceBuilder CensusTraceFile(uint64_t full) {
  TraceBuilder b = CensusStart();
  AddCensus(&b, {3, 0, 0, 1'000'000, 4, 10'000, {{1, 10, 30}, {2, 2, 50}, {6, 90, 180}}});
  for (uint64_t i = 0; i < full; i++) {
    AddCensus(&b,
              {10 * i + 10,
               1,
               1,
               2'000'000 + i * 1'000'000,
               10 * i + 11,
               20'000 + i * 10'000,
               {{1, 100 + 200 * i, 300 + 600 * i}, {2, 2, 50}, {4, 1, 6}, {6, 40 + i % 3, 80 + 2 * (i % 3)}}});
    b.Flush(true);
  }
  AddCensus(
      &b,
      {10 * full + 3, 0, 0, 2'500'000 + full * 1'000'000, 10 * full + 4, 25'000 + full * 10'000, {{2, 3, 60}}});
  b.End(4'000'000 + full * 1'000'000, "VM death", "{\"censuses\":3}");
  return b.Flush();
}

}  // namespace anttracks::testing
