// SPDX-License-Identifier: Apache-2.0
// Attaching to a program with a large heap: what is old is listed beside the program.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

using std::chrono::milliseconds;
using trace::SegmentKind;

// Several blocks of the walk.
constexpr uint32_t kOld = 16'000, kAll = 150 + kOld;

// 100 objects in eden, 50 in a survivor space, kOld in the old one, in a heap that is too large to be listed in
// the pause.
class Attached {
 public:
  explicit Attached(SessionConfig config = {})
      : recording(vm, (config.most_in_pause = 0, config), trace::SyncReason::kAttach) {
    eden = at_;
    std::vector<uint64_t> listed;
    for (uint32_t i = 0; i < 100; i++) listed.push_back(Put(16 + i % 60));
    survivor = at_;
    for (uint32_t i = 0; i < 50; i++) Put(16 + i % 60);
    old = at_;
    for (uint32_t i = 0; i < kOld; i++) Put(16 + i % 60);
    spaces_[0] = {ANTTRACKS_SPACE_EDEN, 0, eden, survivor, survivor};
    spaces_[1] = {ANTTRACKS_SPACE_SURVIVOR, 0, survivor, old, old};
    spaces_[2] = {ANTTRACKS_SPACE_OLD, 0, old, at_, vm.heap_end()};
    const auto& callbacks = recording.callbacks();
    callbacks.sync_begin(recording.context(), spaces_, 3);
    callbacks.sync_objects(recording.context(), 0, listed.data(), 100);
    callbacks.sync_end(recording.context());
  }
  ~Attached() { StopThread(); }

  Background& background() { return recording.session().background(); }
  void StartThread() {
    thread_ = std::thread([this] {
      const KnownThread known;
      background().Loop(vm.vm());
    });
  }
  void StopThread() {
    background().Stop();
    if (thread_.joinable()) thread_.join();
  }
  void Collect(uint32_t kind) { Collect(kind, spaces_); }
  void Collect(uint32_t kind, std::span<const AntTracksSpace> spaces) {
    AntTracksGC gc{};
    gc.kind = kind;
    gc.cause = "test";
    gc.spaces = spaces.data();
    gc.nspaces = static_cast<uint32_t>(spaces.size());
    recording.callbacks().gc_begin(recording.context(), &gc);
    in_pause();
    recording.callbacks().gc_end(recording.context(), &gc);
  }
  ReadTrace End() {
    StopThread();
    return recording.End();
  }

  FakeVm vm;
  Recording recording;
  uint64_t eden = 0, survivor = 0, old = 0;
  std::function<void()> in_pause = [] {};

 private:
  uint64_t Put(uint32_t site) {
    const uint64_t at = at_;
    at_ = vm.Put(at, FakeVm::kPoint, site);
    return at;
  }
  uint64_t at_ = vm.heap();
  AntTracksSpace spaces_[3] = {};
  std::thread thread_;
};

// That many objects, each once, eden's and the survivors' before the begin of the first collection.
void CheckListed(const ReadTrace& trace, size_t all = kAll) {
  CHECK(trace.Count(SegmentKind::kSyncBegin) == 1);
  CHECK(trace.Count(SegmentKind::kSyncEnd) == 1);
  CHECK(trace.Count(SegmentKind::kSyncAbandoned) == 0);
  REQUIRE(trace.sync_objects.size() == all);
  for (size_t i = 0; i < all; i++) CHECK(trace.sync_objects[i].stream == (i < 100 ? 0 : i < 150 ? 1 : 2));
  bool young[2] = {false, false};
  for (const ReadSegment& segment : trace.segments) {
    if (segment.kind == SegmentKind::kSyncObjects && segment.stream < 2) young[segment.stream] = true;
    if (segment.kind == SegmentKind::kGcBegin) CHECK((young[0] && young[1]));
  }
}

// Where the segment is among the others.
size_t Index(const ReadTrace& trace, SegmentKind kind) {
  size_t i = 0;
  while (i < trace.segments.size() && trace.segments[i].kind != kind) i++;
  return i;
}

TEST_CASE("what is old is listed after the pause, and a young collection does not wait for it") {
  Attached attached;
  CHECK(attached.background().busy());
  const uint64_t marked = attached.old + uint64_t{1000} * 24;
  const uint64_t before = FakeVm::SetMark(marked, FakeVm::kMarked);
  attached.StartThread();
  void* slot = nullptr;
  attached.recording.Tlab(1, &slot, attached.eden, attached.eden + 24, true);
  attached.Collect(ANTTRACKS_GC_YOUNG);
  CHECK(attached.background().busy());
  FakeVm::SetMark(marked, before);
  attached.background().WaitIdle();
  const ReadTrace trace = attached.End();
  CheckListed(trace);
  CHECK(trace.objects.size() == 1);
  CHECK(Index(trace, SegmentKind::kGcEnd) < Index(trace, SegmentKind::kSyncEnd));
}

TEST_CASE("a collection that comes before the walk's thread lists what it needs itself") {
  for (const uint32_t kind : {ANTTRACKS_GC_YOUNG, ANTTRACKS_GC_FULL, ANTTRACKS_GC_MIXED, ANTTRACKS_GC_REMARK}) {
    CAPTURE(kind);
    Attached attached;
    attached.Collect(kind);
    const bool whole = kind == ANTTRACKS_GC_FULL;
    CHECK(attached.background().busy() == !whole);
    attached.StartThread();
    attached.background().WaitIdle();
    const ReadTrace trace = attached.End();
    CheckListed(trace);
    CHECK((Index(trace, SegmentKind::kSyncEnd) < Index(trace, SegmentKind::kGcBegin)) == whole);
  }
}

// The walk stands still at an object that cannot be read for a while; meanwhile the call.
template <class Call>
void WhileHeldUp(Attached& attached, Call&& call) {
  const uint64_t marked = attached.old + uint64_t{1000} * 24;
  const uint64_t before = FakeVm::SetMark(marked, FakeVm::kMarked);
  attached.StartThread();
  std::this_thread::sleep_for(milliseconds(50));  // by then it has come to that object
  std::thread unmark([&] {
    std::this_thread::sleep_for(milliseconds(300));  // by then the call waits, or has gone by
    FakeVm::SetMark(marked, before);
  });
  call();
  unmark.join();
}

// The old space as regions, of which the collection takes two.
std::vector<AntTracksSpace> Regions(const Attached& attached, uint32_t first, uint32_t second) {
  const uint64_t ends[] = {0, 4000, 7000, 12'000, 14'000, kOld};
  const uint32_t collected[] = {ANTTRACKS_NOT_COLLECTED, first, ANTTRACKS_NOT_COLLECTED, second,
                                ANTTRACKS_NOT_COLLECTED};
  std::vector<AntTracksSpace> regions;
  for (size_t i = 0; i < 5; i++) {
    const uint64_t end = attached.old + ends[i + 1] * 24;
    regions.push_back({ANTTRACKS_SPACE_OLD, collected[i], attached.old + ends[i] * 24, end, end});
  }
  return regions;
}

size_t CountTaken(const Attached& attached, const std::set<uint64_t>& addresses) {
  return static_cast<size_t>(std::count_if(addresses.begin(), addresses.end(), [&](uint64_t address) {
    const uint64_t i = (address - attached.old) / 24;
    return address >= attached.old && ((i >= 4000 && i < 7000) || (i >= 12'000 && i < 14'000));
  }));
}

// A collection beside the walk, which has begun or not.
ReadTrace CollectRegions(Attached& attached, uint32_t kind, uint32_t first, uint32_t second, bool begun) {
  const std::vector<AntTracksSpace> regions = Regions(attached, first, second);
  if (begun) {
    WhileHeldUp(attached, [&] { attached.Collect(kind, regions); });
  } else {
    attached.Collect(kind, regions);
    attached.StartThread();
  }
  attached.background().WaitIdle();
  return attached.End();
}

TEST_CASE("a mixed collection finds the regions that it takes listed, begun or not, and the rest follows") {
  for (const bool begun : {false, true}) {
    CAPTURE(begun);
    Attached attached;
    const ReadTrace trace =
        CollectRegions(attached, ANTTRACKS_GC_MIXED, ANTTRACKS_COLLECTED, ANTTRACKS_OPTIONAL, begun);
    CheckListed(trace);
    CHECK(ListedBefore(trace, 2).size() == kAll);
    const std::set<uint64_t> before = ListedBefore(trace, 1);
    CHECK(CountTaken(attached, before) == 5000);
    if (!begun) CHECK(before.size() == 150 + 5000);  // with the young ones; the others wait
  }
}

TEST_CASE("the walk stands still during a remark, begun or not, and goes on without what that freed") {
  for (const bool begun : {false, true}) {
    CAPTURE(begun);
    Attached attached;
    const ReadTrace trace =
        CollectRegions(attached, ANTTRACKS_GC_REMARK, ANTTRACKS_OPTIONAL, ANTTRACKS_OPTIONAL, begun);
    // If the walk had begun it stands behind the block that it was held up in; the freed regions are not there.
    CheckListed(trace, kAll - 5000);
    CHECK(CountTaken(attached, ListedBefore(trace, 2)) == 0);
    CHECK(ListedBefore(trace, 2).size() == kAll - 5000);
    CHECK(ListedBefore(trace, 1).size() < kAll - 5000);
  }
}

TEST_CASE("the end of tracing, or a failure, while the walk stands still leaves nobody waiting") {
  for (const bool fails : {false, true}) {
    CAPTURE(fails);
    Attached attached;
    std::thread end;
    attached.in_pause = [&] {
      if (fails) return attached.recording.session().failure().Fail("a test");
      end = std::thread([&] { attached.recording.session().PrepareStop(); });
      std::this_thread::sleep_for(milliseconds(20));
    };
    WhileHeldUp(attached, [&] { attached.Collect(ANTTRACKS_GC_REMARK); });
    if (end.joinable()) end.join();
    const ReadTrace trace = attached.End();
    if (!fails) CheckListed(trace);
    if (fails) CHECK(trace.Count(SegmentKind::kSyncEnd) == 0);
  }
}

TEST_CASE("a full collection waits for a block of the walk, and lists the rest itself") {
  Attached attached;
  WhileHeldUp(attached, [&] { attached.Collect(ANTTRACKS_GC_FULL); });
  const ReadTrace trace = attached.End();
  CheckListed(trace);
  CHECK(Index(trace, SegmentKind::kSyncEnd) < Index(trace, SegmentKind::kGcBegin));
}

TEST_CASE("the end of tracing waits for the walk, since a trace is worth nothing without it") {
  Attached attached;
  WhileHeldUp(attached, [&] { attached.recording.session().PrepareStop(); });
  CHECK_FALSE(attached.background().busy());
  CheckListed(attached.End());
}

TEST_CASE("a small heap is listed in the pause") {
  FakeVm vm;
  Recording recording(vm, {}, trace::SyncReason::kAttach);
  const uint64_t top = vm.Put(vm.heap(), FakeVm::kPoint, 16);
  const AntTracksSpace space{ANTTRACKS_SPACE_OLD, 0, vm.heap(), top, vm.heap_end()};
  recording.callbacks().sync_begin(recording.context(), &space, 1);
  recording.callbacks().sync_end(recording.context());
  CHECK_FALSE(recording.session().background().busy());
  CHECK(recording.End().sync_objects.size() == 1);
}

}  // namespace
}  // namespace anttracks::core
