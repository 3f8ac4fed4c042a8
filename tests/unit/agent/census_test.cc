// SPDX-License-Identifier: Apache-2.0
// mode=census: after which collections the heap is counted, and what is in the file.
#include "trace/census.h"

#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <thread>
#include <tuple>

#include "tests/unit/agent/recorded.h"
#include "trace/object_runs.h"

namespace anttracks::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using trace::SegmentKind;

// The censuses of a file, with their rows.
std::vector<trace::CensusEvent> CensusesOf(const ReadTrace& trace) {
  std::vector<trace::CensusEvent> censuses;
  std::vector<trace::CensusRow> rows;
  for (const ReadSegment& segment : trace.segments) {
    if (segment.kind == SegmentKind::kCensusRows) {
      trace::WireReader in(segment.payload);
      trace::CensusRowReader reader;
      while (!in.AtEnd() && reader.Read(in)) rows.push_back(reader.row);
      CHECK(in.ok());
    }
    if (segment.kind != SegmentKind::kCensus) continue;
    trace::CensusEvent census;
    REQUIRE(trace::ReadCensus(segment.payload, &census).ok());
    census.rows.swap(rows);
    censuses.push_back(census);
  }
  CHECK(rows.empty());
  return censuses;
}

// Objects and words by class and site.
using ByName = std::map<std::pair<std::string, uint32_t>, std::pair<uint64_t, uint64_t>>;
ByName NamesOf(const ReadTrace& trace, const trace::CensusEvent& census) {
  ByName names;
  uint64_t objects = 0, words = 0;
  for (const trace::CensusRow& row : census.rows) {
    const ReadKind& kind = trace.site_classes.at(static_cast<uint32_t>(row.site_class));
    names[{trace.classes.at(kind.class_id).name, kind.site}] = {row.objects, row.words};
    objects += row.objects;
    words += row.words;
  }
  CHECK(objects == census.objects);
  CHECK(words == census.words);
  return names;
}

// A heap with an old space, and what the VM reports of it.
class Counted {
 public:
  explicit Counted(seconds every, size_t heap_words = 1 << 16)
      : vm(true, heap_words), recording(vm, {.census = every}) {
    const AntTracksCallbacks& callbacks = recording.callbacks();
    CHECK((callbacks.tlab == nullptr && callbacks.object == nullptr && callbacks.stack == nullptr));
    CHECK((callbacks.moves == nullptr && callbacks.slides == nullptr && callbacks.fillers == nullptr));
    CHECK((callbacks.sync_begin == nullptr && callbacks.thread_exit == nullptr));
    CHECK((callbacks.stretch_bytes == 0 && callbacks.stack_bytes == 0));
  }
  ~Counted() { StopThread(); }

  void Put(uint64_t klass, uint32_t site, uint32_t length = 0) { top_ = vm.Put(top_, klass, site, length); }
  uint64_t top() const { return top_; }
  uint64_t eden() const { return vm.heap_end() - 8192; }

  AntTracksGC Gc(uint32_t kind, uint64_t eden_bytes = 0) {
    spaces_[0] = {ANTTRACKS_SPACE_OLD, 0, vm.heap(), top_, eden()};
    spaces_[1] = {ANTTRACKS_SPACE_EDEN, 0, eden(), eden() + eden_bytes, vm.heap_end()};
    AntTracksGC gc{};
    gc.id = id_;
    gc.kind = kind;
    gc.cause = "test";
    gc.spaces = spaces_;
    gc.nspaces = 2;
    return gc;
  }
  void Begin(uint32_t kind, uint64_t eden_bytes = 0) {
    const AntTracksGC gc = Gc(kind, eden_bytes);
    recording.callbacks().gc_begin(recording.context(), &gc);
  }
  void End(uint32_t kind, uint64_t eden_bytes = 0) {
    const AntTracksGC gc = Gc(kind, eden_bytes);
    recording.callbacks().gc_end(recording.context(), &gc);
    id_++;
  }
  void Collect(uint32_t kind) {
    Begin(kind);
    End(kind);
  }
  Background& background() { return recording.session().background(); }
  SyncPoints& sync_points() { return recording.session().sync_points(); }
  // Reads the heap in this thread, as the agent's own would.
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
  ReadTrace Finish() {
    background().WaitIdle();
    StopThread();
    return recording.End();
  }

  FakeVm vm;
  Recording recording;

 private:
  uint64_t top_ = vm.heap();
  uint32_t id_ = 0;
  AntTracksSpace spaces_[2] = {};
  std::thread thread_;
};

TEST_CASE("a census counts every object by class and site") {
  Counted counted(seconds(0));
  for (uint32_t i = 0; i < 500; i++) {
    counted.Put(FakeVm::kPoint, 16 + i % 3);
    counted.Put(FakeVm::kInts, 30, i % 7);
    if (i % 100 == 0) counted.Put(FakeVm::kMirror, 2);
  }
  counted.StartThread();
  counted.Collect(ANTTRACKS_GC_FULL);
  const ReadTrace trace = counted.Finish();
  const auto censuses = CensusesOf(trace);
  REQUIRE(censuses.size() == 1);
  CHECK((censuses[0].gc == 0 && censuses[0].old_space && censuses[0].collections == 1));
  CHECK(censuses[0].words == (counted.top() - counted.vm.heap()) / 8);
  CHECK(censuses[0].used_words[ANTTRACKS_SPACE_OLD] == censuses[0].words);
  const ByName names = NamesOf(trace, censuses[0]);
  CHECK(names.at({"Point", 16}) == std::pair<uint64_t, uint64_t>(167, 167 * 3));
  CHECK(names.at({"Point", 18}) == std::pair<uint64_t, uint64_t>(166, 166 * 3));
  CHECK(names.at({"java.lang.Class", 2}).first == 5);
  uint64_t ints = 0;
  for (uint32_t i = 0; i < 500; i++) ints += (16 + 4 * (i % 7) + 7) / 8;
  CHECK(names.at({"int[]", 30}) == std::pair<uint64_t, uint64_t>(500, ints));
  for (const ReadSegment& segment : trace.segments) {
    CHECK((segment.kind == SegmentKind::kDefinitions || segment.kind == SegmentKind::kCensusRows ||
           segment.kind == SegmentKind::kCensus || segment.kind == SegmentKind::kEnd));
  }
  CHECK(trace.counters.find("\"censuses\":1,") != std::string::npos);
  CHECK(trace.counters.find("sync_points") == std::string::npos);
}

TEST_CASE("more pairs than fit in a column of ids are counted, too") {
  constexpr uint32_t kClasses = 400, kSites = 90;
  Counted counted(seconds(0), 1 << 18);
  const FakeClass point = counted.vm.classes().at(FakeVm::kPoint);
  for (uint32_t i = 0; i < kClasses; i++) {
    const uint64_t klass = FakeVm::kBase + 0x1000 + 0x100 * i;
    counted.vm.classes()[klass] = point;
    for (uint32_t site = 0; site < kSites; site++) counted.Put(klass, 16 + site);
    counted.Put(klass, 16);
  }
  counted.StartThread();
  counted.Collect(ANTTRACKS_GC_FULL);
  const auto censuses = CensusesOf(counted.Finish());
  REQUIRE(censuses.size() == 1);
  REQUIRE(censuses[0].rows.size() == kClasses * kSites);
  CHECK(censuses[0].rows.back().site_class > trace::kSiteClassMask);
  CHECK(censuses[0].objects == kClasses * (kSites + 1));
  for (size_t i = 0; i < censuses[0].rows.size(); i++) {
    CHECK(censuses[0].rows[i].objects == (i % kSites == 0 ? 2 : 1));
    CHECK(censuses[0].rows[i].words == 3 * censuses[0].rows[i].objects);
  }
}

TEST_CASE("after each collection of the old space there is a census, and after no other") {
  Counted counted(seconds(0));
  counted.Put(FakeVm::kPoint, 16);
  counted.StartThread();
  const uint32_t kinds[] = {ANTTRACKS_GC_YOUNG, ANTTRACKS_GC_FULL,  ANTTRACKS_GC_YOUNG, ANTTRACKS_GC_REMARK,
                            ANTTRACKS_GC_YOUNG, ANTTRACKS_GC_MIXED, ANTTRACKS_GC_FULL};
  for (const uint32_t kind : kinds) {
    counted.Collect(kind);
    counted.background().WaitIdle();
  }
  const auto censuses = CensusesOf(counted.Finish());
  REQUIRE(censuses.size() == 3);
  CHECK((censuses[0].gc == 1 && censuses[0].kind == trace::GcKind::kFull));
  CHECK((censuses[1].gc == 4 && censuses[1].kind == trace::GcKind::kYoung && censuses[1].old_space));
  CHECK((censuses[2].gc == 6 && censuses[2].collections == 7));
}

TEST_CASE("with a time between them a census waits for it, or is asked for") {
  Counted counted(seconds(3600));
  counted.Put(FakeVm::kPoint, 16);
  counted.StartThread();
  const auto collect = [&](uint32_t kind) {
    counted.Collect(kind);
    counted.background().WaitIdle();
  };
  collect(ANTTRACKS_GC_FULL);
  CHECK(counted.sync_points().completed() == 0);
  counted.recording.session().census()->Want();
  collect(ANTTRACKS_GC_YOUNG);
  CHECK(counted.sync_points().completed() == 1);
  collect(ANTTRACKS_GC_FULL);
  CHECK(counted.sync_points().completed() == 1);
  counted.recording.session().census()->SetEvery(seconds(0));
  collect(ANTTRACKS_GC_FULL);
  CHECK(counted.sync_points().completed() == 2);
  const auto censuses = CensusesOf(counted.Finish());
  REQUIRE(censuses.size() == 2);
  CHECK_FALSE(censuses[0].old_space);
  CHECK(censuses[1].old_space);
}

TEST_CASE("the clock of a census is what was allocated between collections") {
  Counted counted(seconds(0));
  counted.Put(FakeVm::kPoint, 16);
  counted.StartThread();
  counted.Begin(ANTTRACKS_GC_YOUNG, 800);
  counted.End(ANTTRACKS_GC_YOUNG);
  counted.Begin(ANTTRACKS_GC_YOUNG, 1600);
  counted.End(ANTTRACKS_GC_YOUNG);
  counted.Begin(ANTTRACKS_GC_FULL, 4000);
  counted.End(ANTTRACKS_GC_FULL);
  const auto censuses = CensusesOf(counted.Finish());
  REQUIRE(censuses.size() == 1);
  CHECK(censuses[0].allocated_words == 700);
}

TEST_CASE("a full collection gives up the census that is under way, and is followed by another one") {
  Counted counted(seconds(0));
  counted.Put(FakeVm::kPoint, 16);
  counted.Collect(ANTTRACKS_GC_FULL);  // the thread that reads the heap has not begun
  CHECK(counted.background().busy());
  counted.Collect(ANTTRACKS_GC_FULL);
  CHECK(counted.sync_points().abandoned() == 1);
  CHECK(counted.sync_points().completed() == 1);  // in the pause
  counted.StartThread();
  const ReadTrace trace = counted.Finish();
  const auto censuses = CensusesOf(trace);
  REQUIRE(censuses.size() == 1);
  CHECK(censuses[0].gc == 1);
  CHECK(censuses[0].objects == 1);
  CHECK(trace.counters.find("\"abandoned_censuses\":1,") != std::string::npos);
}

TEST_CASE("a census goes on after a mixed collection and a remark") {
  for (const uint32_t kind : {ANTTRACKS_GC_MIXED, ANTTRACKS_GC_REMARK}) {
    CAPTURE(kind);
    Counted counted(seconds(0));
    counted.Put(FakeVm::kPoint, 16);
    counted.Collect(ANTTRACKS_GC_FULL);
    counted.Begin(kind);
    counted.StartThread();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (kind == ANTTRACKS_GC_REMARK) CHECK(counted.sync_points().completed() == 0);
    counted.End(kind);
    counted.background().WaitIdle();
    const auto censuses = CensusesOf(counted.Finish());
    REQUIRE(censuses.size() == 1);
    CHECK(censuses[0].objects == 1);
  }
}

TEST_CASE("objects of a class that a remark unloads before the census is complete have their size") {
  Counted counted(seconds(0));
  counted.Put(FakeVm::kInts, 30, 5);
  const uint64_t eden = counted.eden();
  const uint64_t eden_bytes = counted.vm.Put(eden, FakeVm::kPoint, 16) - eden;
  counted.Begin(ANTTRACKS_GC_FULL, eden_bytes);
  counted.End(ANTTRACKS_GC_FULL, eden_bytes);
  counted.Begin(ANTTRACKS_GC_REMARK, eden_bytes);  // before it the young spaces are counted
  counted.recording.callbacks().class_unload(counted.recording.context(), FakeVm::kPoint);
  counted.End(ANTTRACKS_GC_REMARK, eden_bytes);
  counted.StartThread();
  const ReadTrace trace = counted.Finish();
  CHECK(trace.Count(SegmentKind::kClassUnload) == 1);
  const auto censuses = CensusesOf(trace);
  REQUIRE(censuses.size() == 1);
  const ByName names = NamesOf(trace, censuses[0]);
  CHECK(names.at({"Point", 16}) == std::pair<uint64_t, uint64_t>(1, 3));
  CHECK(names.at({"int[]", 30}) == std::pair<uint64_t, uint64_t>(1, 5));
}

TEST_CASE("a young collection that left dead objects in eden is followed by none") {
  Counted counted(seconds(0));
  counted.Put(FakeVm::kPoint, 16);
  counted.StartThread();
  counted.recording.session().census()->Want();
  counted.Begin(ANTTRACKS_GC_YOUNG, 800);
  counted.End(ANTTRACKS_GC_YOUNG, 800);
  CHECK_FALSE(counted.background().busy());
  CHECK(counted.sync_points().completed() == 0);
  counted.Collect(ANTTRACKS_GC_YOUNG);
  counted.background().WaitIdle();
  CHECK(counted.sync_points().completed() == 1);
  counted.Finish();
}

TEST_CASE("a census that is under way at the end is left out, and the trace is whole") {
  Counted counted(seconds(0));
  counted.Put(FakeVm::kPoint, 16);
  counted.Collect(ANTTRACKS_GC_FULL);
  counted.recording.session().PrepareStop();
  const ReadTrace trace = counted.recording.End();
  CHECK(CensusesOf(trace).empty());
  CHECK(trace.end_reason == "the end");
}

TEST_CASE("after a class is unloaded its klass may be another one's") {
  Counted counted(seconds(0));
  counted.Put(FakeVm::kPoint, 16);
  counted.StartThread();
  counted.Collect(ANTTRACKS_GC_FULL);
  counted.background().WaitIdle();
  counted.Begin(ANTTRACKS_GC_FULL);
  counted.recording.callbacks().class_unload(counted.recording.context(), FakeVm::kPoint);
  counted.vm.classes()[FakeVm::kPoint].name = "Other";
  counted.End(ANTTRACKS_GC_FULL);
  const ReadTrace trace = counted.Finish();
  CHECK(trace.Count(SegmentKind::kClassUnload) == 1);
  const auto censuses = CensusesOf(trace);
  REQUIRE(censuses.size() == 2);
  CHECK(NamesOf(trace, censuses[0]).count({"Point", 16}) == 1);
  CHECK(NamesOf(trace, censuses[1]).count({"Other", 16}) == 1);
}

}  // namespace
}  // namespace anttracks::core
