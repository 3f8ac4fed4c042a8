// SPDX-License-Identifier: Apache-2.0
// Sampled call stacks: what the VM reports against what is in the trace.
#include "trace/stacks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "agent/base/clock.h"
#include "agent/full/cost_control.h"
#include "agent/full/stack_distance.h"
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
void Report(Recording& recording, uintptr_t thread, void** slot, const Sites& sites, uint32_t distance = 4096,
            uint64_t begin_cpu_ns = Clock::ThreadCpu()) {
  const auto count = static_cast<uint32_t>(sites.size());
  const AntTracksStack stack{sites.data(), count, count, distance, begin_cpu_ns};
  recording.callbacks().stack(recording.context(), reinterpret_cast<void*>(thread), slot, &stack);
}

// Uses CPU time.
void Work(uint64_t ns) {
  for (const uint64_t begin = Clock::ThreadCpu(); Clock::ThreadCpu() < begin + ns;) {
  }
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

TEST_CASE("stacks that were sampled at different distances lie in different segments") {
  FakeVm vm;
  Recording recording(vm, {.stack_bytes = 4096});
  void* slot = nullptr;
  for (const uint32_t distance : {4096, 4096, 8192, 4096}) Report(recording, 1, &slot, {17}, distance);
  std::vector<uint64_t> intervals;
  for (const ReadSegment& segment : recording.End().segments) {
    if (segment.kind != trace::SegmentKind::kStacks) continue;
    trace::WireReader in(segment.payload);
    trace::StackReader reader;
    reader.ReadHead(in);
    intervals.push_back(reader.event.interval);
  }
  // On a slow machine the agent may have sent the first segment off before the second stack came.
  intervals.erase(std::unique(intervals.begin(), intervals.end()), intervals.end());
  CHECK(intervals == std::vector<uint64_t>{4096, 8192, 4096});
}

TEST_CASE("the CPU time of a stack is counted from where the VM began") {
  FakeVm vm;
  Recording recording(vm, {.stack_bytes = 4096});
  void* slot = nullptr;
  const uint64_t begin = Clock::ThreadCpu();
  Work(3'000'000);
  Report(recording, 1, &slot, {17}, 4096, begin);
  const uint64_t most = Clock::ThreadCpu() - begin;
  const CounterValues counters = recording.session().counters();
  CHECK(counters.stack_ns >= 3'000'000);
  CHECK(counters.stack_ns <= most);
}

// Stacks that cost too much make the VM take fewer, while there is a limit.
uint32_t DistanceOfDearStacks(const SessionConfig& config) {
  FakeVm vm;
  Recording recording(vm, config);
  void* slot = nullptr;
  for (int i = 0; i < 6; i++) {
    const uint64_t begin = Clock::ThreadCpu();
    Work(30'000'000);
    Report(recording, 1, &slot, {17}, 4096, begin);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
  }
  // The writer tells the one after the other.
  const auto agree = [&] {
    return recording.session().cost().stack_bytes() == std::max(vm.stack_bytes.load(), config.stack_bytes);
  };
  for (int i = 0; i < 1000 && !agree(); i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(agree());
  return vm.stack_bytes;
}

TEST_CASE("the VM is told to take fewer stacks when they cost more than they may") {
  CHECK(DistanceOfDearStacks({.stack_bytes = 4096, .stack_percent = 0.5}) > 10 * 4096);
  CHECK(DistanceOfDearStacks({.stack_bytes = 4096, .budget_percent = 3}) > 10 * 4096);
  CHECK(DistanceOfDearStacks({.stack_bytes = 4096}) == 0);
}

TEST_CASE("a recording that has ended tells the VM nothing: the next one has a distance of its own") {
  FakeVm vm;
  Recording recording(vm, {.stack_bytes = 4096, .stack_percent = 0.5});
  void* slot = nullptr;
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // the writer has looked once
  const uint64_t begin = Clock::ThreadCpu();
  Work(30'000'000);
  Report(recording, 1, &slot, {17}, 4096, begin);
  recording.End();
  vm.stack_bytes = 17;
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  recording.session().HandOver();  // as a writer does that waited for the disk
  CHECK(vm.stack_bytes == 17);
}

TEST_CASE("a budget that is set while costs are counted does not count what was spent before") {
  FakeVm vm;
  CostControl cost(vm.vm(), trace::kWholeShare, 0, 0);
  REQUIRE(cost.SetBudget(3));
  cost.Adjust({});  // was counted when there was no budget
  const CostControl::Spent spent{.walk_ns = 60'000'000'000, .for_budget = true};
  cost.Adjust(spent);
  const uint32_t share = cost.budget().share();
  std::thread program([] { Work(50'000'000); });
  program.join();
  cost.Adjust(spent);
  CHECK(cost.budget().share() > share);
}

// A program in which stacks at every 512 KB take a part of the CPU time; for each step of a tenth of a second
// the distance is adjusted.
struct StackedProgram {
  StackDistance distance{512 << 10};
  uint64_t stacks_ns = 0, process_ns = 3'600'000'000'000;  // an hour before the trace
  int changes = 0;

  // Which part they take in so many steps.
  double Run(double part, int steps, double limit = 0.5) {
    const uint64_t before = stacks_ns;
    for (int i = 0; i < steps; i++) {
      stacks_ns += static_cast<uint64_t>(1e8 * part * (512 << 10) / distance.now());
      process_ns += 100'000'000;
      if (distance.Adjust(stacks_ns, process_ns, limit)) changes++;
    }
    return static_cast<double>(stacks_ns - before) / (1e8 * steps);
  }
};

TEST_CASE("stacks take no more than they may, and are as near as may be") {
  for (const double part : {0.02, 0.1, 0.5}) {
    StackedProgram program;
    program.Run(part, 10);
    CAPTURE(part);
    const double taken = program.Run(part, 100);
    CHECK(taken <= 0.005 * 1.25);
    CHECK(taken >= 0.005 * 0.75);
    CHECK(program.changes < 10);
  }
}

TEST_CASE("stacks that are cheap are taken at the distance that was asked for, also after dear ones") {
  StackedProgram program;
  program.Run(0.004, 100);
  CHECK(program.changes == 0);
  program.Run(0.1, 100);
  CHECK(program.distance.now() > 10 * (512 << 10));
  program.Run(0.001, 100);
  CHECK(program.distance.now() == 512 << 10);
}

TEST_CASE("without a limit the distance of stacks does not change, and without stacks there are none") {
  StackedProgram program;
  program.Run(0.5, 100, 0);
  CHECK(program.changes == 0);
  StackDistance none(0);
  none.Adjust(0, 0, 0.5);
  CHECK(!none.Adjust(1'000'000, 1'000'000, 0.5));
  CHECK(none.now() == 0);
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
