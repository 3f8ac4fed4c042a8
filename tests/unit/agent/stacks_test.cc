// SPDX-License-Identifier: Apache-2.0
// Sampled call stacks: what the VM reports against what is in the trace.
#include "trace/stacks.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "agent/heap/stack_table.h"
#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

using Sites = std::vector<uint32_t>;

Sites SitesOf(const ReadTrace& trace, uint32_t stack) {
  Sites sites;
  for (; stack != 0; stack = trace.stacks.at(stack).caller) sites.push_back(trace.stacks.at(stack).site);
  return sites;
}

// The samples of all segments, as thread and sites, innermost first.
std::vector<std::pair<uint64_t, Sites>> Samples(const ReadTrace& trace) {
  std::vector<std::pair<uint64_t, Sites>> samples;
  for (const ReadSegment& segment : trace.segments) {
    if (segment.kind != trace::SegmentKind::kStacks) continue;
    trace::WireReader in(segment.payload);
    trace::StackReader reader;
    REQUIRE(reader.ReadHead(in));
    CHECK(reader.event.interval == 4096);
    while (!in.AtEnd()) {
      REQUIRE(reader.Read(in));
      const Sites sites = SitesOf(trace, static_cast<uint32_t>(reader.event.stack));
      CHECK(reader.event.points == sites.size());
      samples.emplace_back(reader.event.thread, sites);
    }
  }
  return samples;
}

// With as many points as frames.
void Report(Recording& recording, uintptr_t thread, void** slot, const Sites& sites) {
  recording.callbacks().stack(recording.context(), reinterpret_cast<void*>(thread), slot, sites.data(),
                              static_cast<uint32_t>(sites.size()), static_cast<uint32_t>(sites.size()));
}

TEST_CASE("the VM is asked for stacks at the interval that is wanted") {
  FakeVm vm;
  CHECK(Recording(vm).callbacks().stack_bytes == 0);
  CHECK(Recording(vm, {.stack_bytes = 4096}).callbacks().stack_bytes == 4096);
}

TEST_CASE("every stack that the VM reports is in the trace, with its thread and the sites of all frames") {
  FakeVm vm;
  Recording recording(vm, {.stack_bytes = 4096});
  void* slots[2] = {};
  const std::vector<std::pair<uintptr_t, Sites>> reported = {
      {1, {17}}, {1, {18, 25, 30}}, {2, {19, 25, 30}}, {1, {18, 25, 30}}, {2, {1}}, {1, {17, 17, 17}}};
  for (const auto& [thread, sites] : reported) Report(recording, thread, &slots[thread - 1], sites);
  const ReadTrace trace = recording.End();
  const auto samples = Samples(trace);
  REQUIRE(samples.size() == reported.size());
  for (size_t i = 0; i < reported.size(); i++) {
    CHECK(samples[i].second == reported[i].second);
    CHECK(trace.threads.at(static_cast<uint32_t>(samples[i].first)) ==
          "thread " + std::to_string(reported[i].first));
  }
  // 17, 30, 25 in 30, 18 and 19 in that, 1, 17 in 17, 17 in 17 in 17
  CHECK(trace.stacks.size() == 8);
  CHECK(trace.sites.count(30) == 1);
  CHECK(trace.counters.find("\"stacks\":6,") != std::string::npos);
  CHECK(trace.counters.find("\"distinct_stacks\":8,") != std::string::npos);
}

TEST_CASE("a frame whose site the VM does not know, or that was cut off, is the unknown site") {
  FakeVm vm;
  Recording recording(vm, {.stack_bytes = 4096});
  void* slot = nullptr;
  Report(recording, 1, &slot, {17, 5000, ANTTRACKS_SITE_NONE});
  const auto samples = Samples(recording.End());
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].second == Sites{17, 0, 0});
}

TEST_CASE("stacks that were sampled before a collection precede it in the trace") {
  FakeVm vm;
  Recording recording(vm, {.stack_bytes = 4096});
  void* slot = nullptr;
  AntTracksGC gc{};
  gc.size = sizeof gc;
  gc.cause = "test";
  Report(recording, 1, &slot, {17});
  recording.callbacks().gc_begin(recording.context(), &gc);
  recording.callbacks().gc_end(recording.context(), &gc);
  Report(recording, 1, &slot, {18});
  const ReadTrace trace = recording.End();
  std::vector<trace::SegmentKind> kinds;
  for (const ReadSegment& segment : trace.segments) {
    if (segment.kind != trace::SegmentKind::kDefinitions) kinds.push_back(segment.kind);
  }
  using enum trace::SegmentKind;
  CHECK(kinds == std::vector{kStacks, kGcBegin, kGcEnd, kStacks, kEnd});
}

TEST_CASE("many samples are written in several segments") {
  FakeVm vm;
  Recording recording(vm, {.stack_bytes = 4096});
  void* slot = nullptr;
  constexpr size_t kSamples = 10'000;
  for (size_t i = 0; i < kSamples; i++) Report(recording, 1, &slot, {17, 20});
  const ReadTrace trace = recording.End();
  CHECK(Samples(trace).size() == kSamples);
  CHECK(trace.Count(trace::SegmentKind::kStacks) > 1);
}

TEST_CASE("when there are too many different stacks new ones are recorded without their callers") {
  FakeVm vm;
  Recording recording(vm, {.stack_bytes = 4096, .most_stacks = 3});
  void* slot = nullptr;
  const std::vector<Sites> reported = {{17, 20}, {18, 21}, {17, 20}, {19}};
  for (const Sites& sites : reported) Report(recording, 1, &slot, sites);
  const ReadTrace trace = recording.End();
  std::vector<Sites> stacks;
  for (const ReadSegment& segment : trace.segments) {
    if (segment.kind != trace::SegmentKind::kStacks) continue;
    trace::WireReader in(segment.payload);
    trace::StackReader reader;
    for (reader.ReadHead(in); !in.AtEnd() && reader.Read(in);)
      stacks.push_back(SitesOf(trace, static_cast<uint32_t>(reader.event.stack)));
  }
  // 20, 17 in 20, and 21 fill the table.
  CHECK(stacks == std::vector<Sites>{{17, 20}, {18, 0}, {17, 20}, {19, 0}});
  CHECK(trace.counters.find("\"stacks\":4,\"cut_stacks\":2,") != std::string::npos);
}

TEST_CASE("the stacks of a rotated trace take an eighth of it at most") {
  CHECK(StackTable::MostFor(0) == StackTable::kMost);
  CHECK(StackTable::MostFor(uint64_t{8} << 30) == StackTable::kMost);
  CHECK(StackTable::MostFor(4 << 20) == 43'690);
}

}  // namespace
}  // namespace anttracks::core
