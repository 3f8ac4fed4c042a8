// SPDX-License-Identifier: Apache-2.0
// The small trace, with call stacks that were sampled:
//
//     List.add(List.java:12) from Main.run(Main.java:30) from Main.main(Main.java:5): 3 times
//     List.add(List.java:12) from Worker.work(Worker.java:7): once, in the worker, after collection 0
//     List.add inlined into Main.run, from Main.main: twice
//
// Thread safety: none.
#pragma once

#include <initializer_list>
#include <utility>

#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {

// stacks: thread and stack of each sample.
inline ByteBuffer Stacks(uint64_t time, uint64_t interval,
                         std::initializer_list<std::pair<uint64_t, uint64_t>> stacks) {
  ByteBuffer payload;
  payload.Uv(time);
  payload.Uv(interval);
  for (const auto& [thread, stack] : stacks) {
    for (uint64_t v : {thread, stack, uint64_t{1}}) payload.Uv(v);
  }
  return payload;
}

inline DefinitionsBuilder StackDefinitions() {
  DefinitionsBuilder s = SmallDefinitions();
  s.Method(4, "app.Main", "main", "Main.java").Method(5, "app.Worker", "work", "Worker.java");
  s.Site(20, 4, 1, 5, 0, 0).Site(21, 5, 1, 7, 0, 0);
  s.Stack(1, 0, 20).Stack(2, 1, 17).Stack(3, 2, 16).Stack(4, 0, 21).Stack(5, 4, 16).Stack(6, 1, 18);
  return s;
}

// Allocations as those of SmallTrace before collection 0, and one Node of List.add after it: 6 Nodes in all, of
// which one is of the inlined List.add.
inline TraceBuilder StacksTrace(uint64_t workers_interval = 4096) {
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8);
  b.Segment(SegmentKind::kDefinitions, 0, StackDefinitions().bytes());
  b.SyncBegin(0, 1000, Spaces(0, 0, 0, 0));
  b.Numbers(SegmentKind::kSyncEnd, 0, {0, 0});
  SmallAllocs(&b);
  b.Segment(SegmentKind::kStacks, 0, Stacks(2500, 4096, {{1, 3}, {1, 6}, {1, 3}, {1, 6}, {1, 3}}));
  b.Gc(SegmentKind::kGcBegin, 0, 0, "Allocation Failure", 5000, Spaces(66, 0, 0, 0));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}, {kEden + 6, kOld, 1, 7}}));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "Allocation Failure", 9000, Spaces(0, 0, 3, 7));
  b.Segment(SegmentKind::kAlloc, 2, Objects().Head(10000).Tlab(kEden).Fixed(1));
  b.Segment(SegmentKind::kStacks, 0, Stacks(10500, workers_interval, {{2, 5}}));
  b.End(2'000'000, "VM death", "{}");
  return b.Flush();
}

}  // namespace anttracks::testing
