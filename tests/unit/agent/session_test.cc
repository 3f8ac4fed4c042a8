// SPDX-License-Identifier: Apache-2.0
// Objects in a fake heap against what a reader finds in the file.
#include <doctest/doctest.h>

#include <random>

#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

using trace::SegmentKind;

AntTracksGC Gc(uint32_t id, const AntTracksSpace* spaces = nullptr, uint32_t count = 0) {
  AntTracksGC gc{};
  gc.size = sizeof gc;
  gc.id = id;
  gc.cause = "Allocation Failure";
  gc.spaces = spaces;
  gc.nspaces = count;
  return gc;
}

TEST_CASE("every object of a TLAB is in the trace with address, class, site and length") {
  for (const bool narrow : {true, false}) {
    CAPTURE(narrow);
    FakeVm vm(narrow);
    Recording recording(vm);
    std::vector<ReadObject> expected;
    uint64_t at = vm.heap();
    const auto put = [&](uint64_t klass, uint32_t site, uint32_t length) {
      const FakeClass& c = vm.classes().at(klass);
      expected.push_back({1, at, c.name, site, c.mirror ? 14 : length, false});
      at = vm.Put(at, klass, site, length);
    };
    for (uint32_t i = 0; i < 1500; i++) {
      put(FakeVm::kPoint, 16 + i % 3, 0);
      put(FakeVm::kInts, 30, i % 7);
      put(FakeVm::kObject, 0, 0);
      if (i % 100 == 0) put(FakeVm::kMirror, 2, 0);
    }
    void* slot = nullptr;
    recording.Tlab(5, &slot, vm.heap(), at);
    const ReadTrace trace = recording.End();
    CHECK(trace.objects == expected);
    CHECK(trace.threads.at(1) == "thread 5");
    CHECK(trace.end_reason == "the end");
    CHECK(trace.counters.find("\"objects\":4515,") != std::string::npos);
    CHECK(trace.losses == 0);
  }
}

TEST_CASE("the site of a locked object is asked for") {
  FakeVm vm;
  Recording recording(vm);
  void* slot = nullptr;
  recording.Tlab(1, &slot, vm.heap(), vm.PutLocked(vm.heap(), FakeVm::kPoint, 41));
  const ReadTrace trace = recording.End();
  REQUIRE(trace.objects.size() == 1);
  CHECK(trace.objects[0].site == 41);
}

TEST_CASE("callers are defined before the sites that were inlined into them") {
  FakeVm vm;
  Recording recording(vm);
  void* slot = nullptr;
  recording.Tlab(1, &slot, vm.heap(), vm.Put(vm.heap(), FakeVm::kPoint, 40));
  const ReadTrace trace = recording.End();
  CHECK(trace.sites.size() == 21);  // 40 down to 20
  CHECK(trace.sites.at(40) == 39);
  CHECK(trace.sites.at(20) == 0);
}

TEST_CASE("a site that the VM does not know becomes the unknown site") {
  FakeVm vm;
  Recording recording(vm);
  void* slot = nullptr;
  recording.Tlab(1, &slot, vm.heap(), vm.Put(vm.heap(), FakeVm::kPoint, 5000));
  const ReadTrace trace = recording.End();
  REQUIRE(trace.objects.size() == 1);
  CHECK(trace.objects[0].site == 0);
  CHECK(trace.counters.find("\"unknown_sites\":1") != std::string::npos);
}

TEST_CASE("a stream goes on over many small buffers without losing its place") {
  FakeVm vm;
  Recording recording(vm, {.buffer_bytes = 1024, .queue_bytes = 1 << 20});
  std::minstd_rand random(7);
  std::vector<ReadObject> expected;
  void* slot = nullptr;
  uint64_t start = vm.heap();
  for (int tlab = 0; tlab < 20; tlab++) {
    uint64_t at = start;
    for (int i = 0; i < 400; i++) {
      const uint32_t site = 16 + random() % 80, length = random() % 5;
      expected.push_back({1, at, "int[]", site, length, false});
      at = vm.Put(at, FakeVm::kInts, site, length);
    }
    recording.Tlab(1, &slot, start, at);
    start = at + (tlab % 2 == 0 ? 128 : 0);
  }
  const ReadTrace trace = recording.End();
  CHECK(trace.Count(SegmentKind::kAlloc) > 5);
  CHECK(trace.objects == expected);
}

TEST_CASE("objects outside TLABs are marked, and TLABs go on behind them") {
  FakeVm vm;
  Recording recording(vm);
  const uint64_t outside = vm.heap() + 8192;
  const uint64_t end = vm.Put(vm.heap(), FakeVm::kPoint, 16);
  const uint64_t second = vm.Put(end, FakeVm::kPoint, 17);
  vm.Put(outside, FakeVm::kInts, 18, 100);
  void* slot = nullptr;
  recording.Tlab(1, &slot, vm.heap(), end);
  recording.callbacks().object(recording.context(), reinterpret_cast<void*>(1), &slot, outside);
  recording.Tlab(1, &slot, end, second);
  const ReadTrace trace = recording.End();
  CHECK(trace.objects == std::vector<ReadObject>{{1, vm.heap(), "Point", 16, 0, false},
                                                 {1, end, "Point", 17, 0, false},
                                                 {1, outside, "int[]", 18, 100, true}});
}

TEST_CASE("what mutators did is in the file before the collection begins") {
  FakeVm vm;
  Recording recording(vm);
  void* slots[3] = {};
  uint64_t at = vm.heap();
  for (uintptr_t i = 0; i < 3; i++) {
    const uint64_t end = vm.Put(at, FakeVm::kPoint, 16);
    recording.Tlab(i + 1, &slots[i], at, end);
    at = end;
  }
  const AntTracksSpace space{ANTTRACKS_SPACE_EDEN, 1, vm.heap(), at, vm.heap_end()};
  const AntTracksGC gc = Gc(1, &space, 1);
  const AntTracksMove moves[] = {{vm.heap(), vm.heap() + 4096, 3}, {vm.heap() + 24, (vm.heap() + 8192) | 1, 3}};
  const AntTracksSlide slide{vm.heap() + 48, vm.heap() + 48, 3};
  recording.callbacks().gc_begin(recording.context(), &gc);
  recording.callbacks().moves(recording.context(), 1, moves, 2);
  recording.callbacks().slides(recording.context(), 0, &slide, 1);
  recording.callbacks().gc_end(recording.context(), &gc);
  const uint64_t next = vm.Put(at, FakeVm::kPoint, 16);
  recording.Tlab(1, &slots[0], at, next);
  const ReadTrace trace = recording.End();
  std::vector<SegmentKind> order;
  for (const ReadSegment& segment : trace.segments) {
    if (segment.kind != SegmentKind::kDefinitions) order.push_back(segment.kind);
  }
  using enum SegmentKind;
  CHECK(order == std::vector{kAlloc, kAlloc, kAlloc, kGcBegin, kSlides, kMoves, kGcEnd, kAlloc, kEnd});
  CHECK(trace.objects.size() == 4);
}

TEST_CASE("a thread's end follows its last object, and its slot is empty") {
  FakeVm vm;
  Recording recording(vm);
  void* slot = nullptr;
  recording.Tlab(9, &slot, vm.heap(), vm.Put(vm.heap(), FakeVm::kPoint, 16));
  CHECK(slot != nullptr);
  recording.callbacks().thread_exit(recording.context(), reinterpret_cast<void*>(9), &slot);
  CHECK(slot == nullptr);
  recording.callbacks().thread_exit(recording.context(), reinterpret_cast<void*>(9), &slot);
  // Another thread at the same place is another thread.
  recording.Tlab(9, &slot, vm.heap(), vm.heap() + 24);
  const ReadTrace trace = recording.End();
  REQUIRE(trace.objects.size() == 2);
  CHECK(trace.objects[0].stream == 1);
  CHECK(trace.objects[1].stream == 2);
  CHECK(trace.Count(SegmentKind::kThreadEnd) == 1);
}

TEST_CASE("a class that takes an unloaded one's place is another class") {
  FakeVm vm;
  Recording recording(vm);
  void* slot = nullptr;
  const uint64_t end = vm.Put(vm.heap(), FakeVm::kPoint, 16);
  recording.Tlab(1, &slot, vm.heap(), end);
  const AntTracksGC gc = Gc(1);
  recording.callbacks().gc_begin(recording.context(), &gc);
  recording.callbacks().class_unload(recording.context(), FakeVm::kPoint);
  recording.callbacks().class_unload(recording.context(), FakeVm::kInts);  // was never used
  recording.callbacks().gc_end(recording.context(), &gc);
  vm.classes()[FakeVm::kPoint] = {"Circle", 32, -1, false, FakeVm::kObject};
  const uint64_t last = vm.Put(end, FakeVm::kPoint, 16);
  recording.Tlab(1, &slot, end, last);
  const ReadTrace trace = recording.End();
  REQUIRE(trace.objects.size() == 2);
  CHECK(trace.objects[0].class_name == "Point");
  CHECK(trace.objects[1].class_name == "Circle");
  CHECK(trace.Count(SegmentKind::kClassUnload) == 1);
}

TEST_CASE(
    "the first sync point has eden as the VM lists it, over gaps, and the other spaces as they lie, with "
    "totals") {
  FakeVm vm;
  Recording recording(vm, {.buffer_bytes = 1024, .queue_bytes = 1 << 20});
  std::vector<uint64_t> addresses;
  uint64_t at = vm.heap(), eden = 0, eden_top = 0, bytes = 0;
  for (uint32_t i = 0; i < 3000; i++) {
    if (i == 1000) {
      eden_top = at;
      eden = vm.heap();
      at += 640;
    }
    addresses.push_back(at);
    const uint64_t end = vm.Put(at, FakeVm::kInts, i % 90, i % 11);
    bytes += end - at;
    at = end + (i < 1000 && i % 5 == 0 ? 64 : 0);
  }
  const AntTracksSpace spaces[] = {{ANTTRACKS_SPACE_OLD, 0, addresses[1000], at, vm.heap_end()},
                                   {ANTTRACKS_SPACE_EDEN, 0, eden, eden_top, addresses[1000]}};
  const auto& callbacks = recording.callbacks();
  callbacks.sync_begin(recording.context(), spaces, 2);
  callbacks.sync_objects(recording.context(), 1, addresses.data(), 300);
  callbacks.sync_objects(recording.context(), 1, addresses.data() + 300, 700);
  callbacks.sync_end(recording.context());
  CHECK(recording.session().SyncPointBytes() > 3000);
  const ReadTrace trace = recording.End();
  REQUIRE(trace.sync_objects.size() == 3000);
  for (size_t i = 0; i < 3000; i++) {
    REQUIRE(trace.sync_objects[i].address == addresses[i]);
    REQUIRE(trace.sync_objects[i].length == i % 11);
    REQUIRE(trace.sync_objects[i].stream == (i < 1000 ? 1u : 0u));
  }
  for (const ReadSegment& segment : trace.segments) {
    if (segment.kind != SegmentKind::kSyncEnd) continue;
    trace::WireReader in(segment.payload);
    CHECK(in.Uv() == 3000);
    CHECK(in.Uv() == bytes);
  }
  CHECK(trace.Count(SegmentKind::kSyncEnd) == 1);
}

TEST_CASE("fillers are read where they lie, and one that disagrees ends tracing") {
  FakeVm vm;
  Recording recording(vm);
  const uint64_t end = vm.Put(vm.heap(), FakeVm::kInts, ANTTRACKS_SITE_FILLER, 9);
  AntTracksFiller filler{vm.heap(), (end - vm.heap()) / 8};
  const AntTracksGC gc = Gc(1);
  recording.callbacks().gc_begin(recording.context(), &gc);
  recording.callbacks().fillers(recording.context(), 0, &filler, 1);
  CHECK_FALSE(recording.session().failure().failed());
  recording.callbacks().gc_end(recording.context(), &gc);
  filler.words++;
  recording.callbacks().fillers(recording.context(), 0, &filler, 1);
  CHECK(recording.session().failure().failed());
  const ReadTrace trace = recording.End();
  CHECK(trace.Count(SegmentKind::kFillers) == 1);
  CHECK(trace.loss_reason.find("filler") != std::string::npos);
}

TEST_CASE("memory that is no object ends tracing, the trace up to there is whole") {
  FakeVm vm;
  Recording recording(vm);
  void* slot = nullptr;
  const uint64_t end = vm.Put(vm.heap(), FakeVm::kPoint, 16);
  recording.Tlab(1, &slot, vm.heap(), end);
  const AntTracksGC gc = Gc(1);
  recording.callbacks().gc_begin(recording.context(), &gc);
  recording.callbacks().gc_end(recording.context(), &gc);
  SUBCASE("no class") { recording.Tlab(1, &slot, end, end + 24, true); }
  SUBCASE("not to the top") {
    vm.Put(end, FakeVm::kPoint, 16);
    recording.Tlab(1, &slot, end, end + 8, true);
  }
  SUBCASE("a worker that does not exist") {
    const AntTracksMove move{8, 16, 2};
    recording.callbacks().moves(recording.context(), 2, &move, 1);
  }
  CHECK_FALSE(recording.session().failure().active());
  recording.Tlab(1, &slot, vm.heap(), end);  // has no effect any more
  const ReadTrace trace = recording.End();
  CHECK(trace.objects.size() == 1);
  CHECK(trace.losses == 1);
  CHECK(trace.end_reason.find("tracing stopped: internal error") == 0);
}

TEST_CASE("a plain mark without a class ends tracing, too, and so does one with a site that no VM gives") {
  uint32_t scheme = ANTTRACKS_SITES_MARK;
  uint64_t mark = 1;  // neutral
  bool with_class = false;
  SUBCASE("mark, no site") {}
  SUBCASE("mark, a site without objects") { mark |= uint64_t{77} << ANTTRACKS_SITE_SHIFT; }
  SUBCASE("hash, a site without objects") {
    scheme = ANTTRACKS_SITES_HASH;
    mark |= ANTTRACKS_SITE_IN_HASH | uint64_t{77} << ANTTRACKS_HASH_SITE_SHIFT;
  }
  SUBCASE("ash, a site without objects") {
    scheme = ANTTRACKS_SITES_ASH;
    mark |= ANTTRACKS_SITE_IN_HASH | uint64_t{77} << ANTTRACKS_ASH_SITE_SHIFT;
  }
  SUBCASE("hash, no such site") {
    scheme = ANTTRACKS_SITES_HASH;
    mark |= ANTTRACKS_SITE_IN_HASH | uint64_t{UINT32_MAX} << ANTTRACKS_HASH_SITE_SHIFT;
    with_class = true;
  }
  SUBCASE("ash, no such site") {
    scheme = ANTTRACKS_SITES_ASH;
    mark |= ANTTRACKS_SITE_IN_HASH | uint64_t{1} << 27 << ANTTRACKS_ASH_SITE_SHIFT;
    with_class = true;
  }
  FakeVm vm;
  vm.UseScheme(scheme);
  Recording recording(vm);
  void* slot = nullptr;
  if (with_class) vm.Put(vm.heap(), FakeVm::kPoint, 16);
  FakeVm::SetMark(vm.heap(), mark);
  recording.Tlab(1, &slot, vm.heap(), vm.heap() + 24, true);
  CHECK_FALSE(recording.session().failure().active());
  CHECK(recording.End().end_reason.find("tracing stopped: internal error") == 0);
}

TEST_CASE("the mark of an object with a hash code, and no class behind it, ends tracing, too") {
  FakeVm vm;
  vm.UseScheme(ANTTRACKS_SITES_ASH);
  Recording recording(vm);
  void* slot = nullptr;
  FakeVm::SetMark(vm.heap(), vm.HashedMark(16));
  recording.Tlab(1, &slot, vm.heap(), vm.heap() + 24, true);
  CHECK_FALSE(recording.session().failure().active());
  CHECK(recording.End().end_reason.find("tracing stopped: internal error") == 0);
}

TEST_CASE("an agent that is unloaded early says that something is missing") {
  FakeVm vm;
  Recording recording(vm);
  void* slot = nullptr;
  recording.Tlab(1, &slot, vm.heap(), vm.Put(vm.heap(), FakeVm::kPoint, 16));
  recording.session().Abandon("the process exited");
  const ReadTrace trace = recording.End();
  CHECK(trace.losses == 1);
  CHECK(trace.loss_reason == "the process exited while threads were running");
}

TEST_CASE("a TLAB of any size fits into chunks, also when it is read whole") {
  // 16 bytes an object, 6 bytes of trace: 18 MB where a chunk has 16 MiB.
  constexpr size_t kObjects = 3'000'000;
  FakeVm vm(true, 2 * kObjects + 64);
  Recording recording(vm, {.queue_bytes = 64 << 20, .stretch_bytes = 0});
  uint64_t at = vm.heap();
  for (size_t i = 0; i < kObjects; i++) at = vm.Put(at, FakeVm::kInts, 30 + i % 7, 0);
  void* slot = nullptr;
  recording.Tlab(1, &slot, vm.heap(), at);
  const ReadTrace trace = recording.End();
  CHECK(trace.end_reason == "the end");
  CHECK(trace.losses == 0);
  REQUIRE(trace.objects.size() == kObjects);
  CHECK(trace.objects.back().address == at - 16);
}

}  // namespace
}  // namespace anttracks::core
