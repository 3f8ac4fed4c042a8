// SPDX-License-Identifier: Apache-2.0
// A small trace of samples, one per 512 KiB. An object of 24 bytes stands for 21,845.83, one of 1 MiB
// for 1.1565.
//
// Thread safety: none.
#pragma once

#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {

inline constexpr uint64_t kHalfMegabyte = 512 << 10;

struct TestSample {
  uint64_t time_delta, thread, kind, words;
};

inline ByteBuffer Samples(uint64_t first, uint64_t time, const std::vector<TestSample>& samples,
                          uint64_t interval = kHalfMegabyte) {
  ByteBuffer payload;
  payload.Uv(interval);
  payload.Uv(first);
  payload.Uv(time);
  for (const TestSample& sample : samples) {
    for (uint64_t v : {sample.time_delta, sample.thread, sample.kind, sample.words}) payload.Uv(v);
  }
  return payload;
}

inline ByteBuffer SampleDeaths(uint64_t collections, const std::vector<uint64_t>& numbers) {
  ByteBuffer payload;
  payload.Uv(collections);
  uint64_t last = 0;
  for (uint64_t number : numbers) {
    payload.Sv(static_cast<int64_t>(number - last));
    last = number;
  }
  return payload;
}

inline TraceBuilder SampledStart(uint64_t interval = kHalfMegabyte, const std::string& vm = "17.0.19") {
  TraceBuilder b;
  b.Chunk(1, "{\"agent_version\":\"0.1.0\",\"vm_version\":\"" + vm +
                 "\",\"java_command\":\"Main "
                 "1\",\"vm_flags\":\"-XX:+UseG1GC\","
                 "\"options\":\"file=a\",\"mode\":\"sample\",\"depth\":16,\"interval\":" +
                 std::to_string(interval) + "}");
  DefinitionsBuilder s;
  s.Class(1, "app.Node", 8, 0).Class(2, "int[]", 9, 0).Class(3, "app.Main$$Lambda$1/0x1", 12, 0);
  s.Method(1, "app.List", "add", "List.java").Method(2, "app.Main", "run", "Main.java");
  s.Site(16, 2, 8, 30, 0, 4).Site(17, 1, 4, 12, 16, 4).Site(18, 1, 4, 12, 0, 4);
  s.Thread(1, "main", 1).Thread(2, "worker", 9);
  s.SiteClass(1, 17, 1).SiteClass(2, 16, 2).SiteClass(3, 18, 1).SiteClass(4, 1, 2);
  b.Segment(SegmentKind::kDefinitions, 0, s.bytes());
  return b;
}

inline void SampledGc(TraceBuilder* b, SegmentKind kind, uint64_t id, uint64_t time) {
  b->Gc(kind, id, 2, "", time, {});
}

// 1, 2: Nodes of main, 3: an int[] of 1 MiB of worker. 2 dies in collection 0. 4: another Node of main, from
// elsewhere. 1 and 4 die in collection 1. 5: an int[] of 16 bytes of worker, by the VM.
inline TraceBuilder SampledTrace() {
  TraceBuilder b = SampledStart();
  b.Segment(SegmentKind::kSamples, 0, Samples(1, 1000, {{0, 1, 1, 3}, {500, 1, 1, 3}, {500, 2, 2, 131072}}));
  b.Flush();
  SampledGc(&b, SegmentKind::kGcBegin, 0, 5000);
  SampledGc(&b, SegmentKind::kGcEnd, 0, 9000);
  b.Segment(SegmentKind::kSampleDeaths, 0, SampleDeaths(1, {2}));
  b.Segment(SegmentKind::kSamples, 0, Samples(4, 10'000, {{0, 1, 3, 3}}));
  SampledGc(&b, SegmentKind::kGcBegin, 1, 20'000);
  SampledGc(&b, SegmentKind::kGcEnd, 1, 22'000);
  b.Segment(SegmentKind::kSampleDeaths, 0, SampleDeaths(2, {4, 1}));
  b.Segment(SegmentKind::kSamples, 0, Samples(5, 25'000, {{0, 2, 4, 2}}));
  b.End(30'000, "VM death", "{\"samples\":5}");
  return b.Flush(true);
}

}  // namespace anttracks::testing
