// SPDX-License-Identifier: Apache-2.0
// Attaching to a program with a large heap: what is old is listed beside the program.
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

using std::chrono::milliseconds;
using trace::SegmentKind;

// 100 objects in eden, 50 in a survivor space, 2000 in the old one, in a heap that is too large to be listed in
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
    for (uint32_t i = 0; i < 2000; i++) Put(16 + i % 60);
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
  void Collect(uint32_t kind) {
    AntTracksGC gc{};
    gc.kind = kind;
    gc.cause = "test";
    gc.spaces = spaces_;
    gc.nspaces = 3;
    recording.callbacks().gc_begin(recording.context(), &gc);
    recording.callbacks().gc_end(recording.context(), &gc);
  }
  ReadTrace End() {
    StopThread();
    return recording.End();
  }

  FakeVm vm;
  Recording recording;
  uint64_t eden = 0, survivor = 0, old = 0;

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

// Every object once, eden's and the survivors' before the begin of the first collection.
void CheckListed(const ReadTrace& trace) {
  CHECK(trace.Count(SegmentKind::kSyncBegin) == 1);
  CHECK(trace.Count(SegmentKind::kSyncEnd) == 1);
  CHECK(trace.Count(SegmentKind::kSyncAbandoned) == 0);
  REQUIRE(trace.sync_objects.size() == 2150);
  for (size_t i = 0; i < 2150; i++) CHECK(trace.sync_objects[i].stream == (i < 100 ? 0 : i < 150 ? 1 : 2));
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
    const bool young = kind == ANTTRACKS_GC_YOUNG;
    CHECK(attached.background().busy() == young);
    attached.StartThread();
    attached.background().WaitIdle();
    const ReadTrace trace = attached.End();
    CheckListed(trace);
    CHECK((Index(trace, SegmentKind::kSyncEnd) < Index(trace, SegmentKind::kGcBegin)) == !young);
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
    std::this_thread::sleep_for(milliseconds(20));
    FakeVm::SetMark(marked, before);
  });
  call();
  unmark.join();
}

TEST_CASE("a collection that moves old objects waits for the walk") {
  for (const uint32_t kind : {ANTTRACKS_GC_FULL, ANTTRACKS_GC_MIXED, ANTTRACKS_GC_REMARK}) {
    CAPTURE(kind);
    Attached attached;
    WhileHeldUp(attached, [&] { attached.Collect(kind); });
    const ReadTrace trace = attached.End();
    CheckListed(trace);
    CHECK(Index(trace, SegmentKind::kSyncEnd) < Index(trace, SegmentKind::kGcBegin));
  }
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
