// SPDX-License-Identifier: Apache-2.0
// The files of a rotated trace, and the sync points that begin them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "agent/io/rotation/rotating_trace.h"
#include "tests/unit/agent/recorded.h"
#include "trace/reader.h"
#include "trace/segments.h"

namespace anttracks::core {
namespace {

namespace fs = std::filesystem;

uint64_t BytesOnDisk(const fs::path& path) {
  uint64_t sum = 0;
  for (const auto& entry : fs::directory_iterator(path.parent_path())) {
    const std::string name = entry.path().filename().string();
    if (name.compare(0, path.filename().string().size(), path.filename().string()) == 0)
      sum += entry.file_size();
  }
  return sum;
}

TEST_CASE("whatever is written and however definitions grow, the files stay within the bound") {
  for (const io::RotationLimits& limits :
       {io::RotationLimits{256 << 10, 0.1}, io::RotationLimits{1 << 20, 0.25},
        io::RotationLimits{600'000, 0.5}}) {
    const std::string path = TemporaryPath();
    auto made = io::RotatingTrace::Create(path, core::IfExists::kRefuse, {1, 2, 3}, limits);
    REQUIRE(made.ok());
    io::RotatingTrace& trace = **made;
    std::mt19937 random(5);
    const std::vector<uint8_t> bytes(64 << 10, 1);
    uint64_t files = 0, refused = 0;
    for (int i = 0; i < 3000; i++) {
      const size_t size = 1 + random() % (8 << 10);
      if (i % 50 == 0) {
        REQUIRE(trace.MakeRoom(size / 8, 1));
        REQUIRE(trace.WriteDefinitions({bytes.data(), size / 8}).ok());
      } else if (trace.policy().HasRoom(size)) {
        REQUIRE(trace.Write({bytes.data(), size}).ok());
      } else {
        refused++;
      }
      // Collections come late now and then.
      if (trace.policy().IsFull() && random() % 8 == 0) {
        REQUIRE(trace.NextFile().ok());
        files++;
      }
      REQUIRE(BytesOnDisk(path) <= limits.bound());
    }
    CHECK(files > limits.files());
    CHECK(BytesOnDisk(path) > limits.max_bytes / 4);
    REQUIRE(trace.Close().ok());
  }
}

TEST_CASE("the oldest files go, the definitions stay, indexes go on") {
  const std::string path = TemporaryPath();
  auto made = io::RotatingTrace::Create(path, core::IfExists::kRefuse, {1, 2, 3}, {1 << 20, 0.25});
  REQUIRE(made.ok());
  for (int i = 0; i < 9; i++) REQUIRE((*made)->NextFile().ok());
  REQUIRE((*made)->Close().ok());
  CHECK(fs::exists(path));
  for (int i = 0; i < 10; i++) CHECK(fs::exists(path + "." + std::to_string(i)) == (i >= 6));
}

TEST_CASE("a file that somebody deletes is noticed, an existing one is not overwritten") {
  const std::string path = TemporaryPath();
  {
    auto made = io::RotatingTrace::Create(path, core::IfExists::kRefuse, {1, 2, 3}, {1 << 20, 0.25});
    REQUIRE(made.ok());
    CHECK((*made)->Check().ok());
    fs::remove(path + ".0");
    CHECK_FALSE((*made)->Check().ok());
  }
  fs::remove(path);
  { std::ofstream(path + ".0") << "precious"; }
  const auto refused = io::RotatingTrace::Create(path, core::IfExists::kRefuse, {1, 2, 3}, {1 << 20, 0.25});
  CHECK_FALSE(refused.ok());
  CHECK(refused.message().find(path + ".0") != std::string::npos);
  CHECK(fs::file_size(path + ".0") == 8);
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("data files of an earlier trace are refused whatever their index; with overwrite they go") {
  const std::string path = TemporaryPath();
  { std::ofstream(path + ".95") << "ANTTRACK"; }
  { std::ofstream(path + ".txt") << "somebody else's"; }
  const auto refused = io::RotatingTrace::Create(path, core::IfExists::kRefuse, {1, 2, 3}, {1 << 20, 0.25});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.message().find(path + ".95") != std::string::npos);
  CHECK(refused.message().find("overwrite=yes") != std::string::npos);
  CHECK(fs::file_size(path + ".95") == 8);
  CHECK_FALSE(fs::exists(path));
  CHECK(io::RotatingTrace::Create(path, core::IfExists::kReplace, {1, 2, 3}, {1 << 20, 0.25}).ok());
  CHECK_FALSE(fs::exists(path + ".95"));
  CHECK(fs::exists(path + ".0"));
  CHECK(fs::exists(path + ".txt"));
}

TEST_CASE("overwrite deletes nothing where a file of that name is no trace") {
  for (const char* name : {"", ".7", ".7.origins", ".0"}) {
    CAPTURE(name);
    const std::string path = TemporaryPath();
    for (const char* ours : {"", ".5", ".9"}) std::ofstream(path + ours) << "ANTTRACK";
    { std::ofstream(path + name) << "my diary"; }
    const auto refused = io::RotatingTrace::Create(path, core::IfExists::kReplace, {1, 2, 3}, {1 << 20, 0.25});
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.message().find(path + name + (*name == '\0' ? ":" : " has")) != std::string::npos);
    CHECK(refused.message().find("something else") != std::string::npos);
    CHECK(fs::file_size(path + name) == 8);
    for (const char* ours : {".5", ".9"}) CHECK(fs::exists(path + ours));
  }
}

TEST_CASE(
    "a data file's name that somebody else takes while the trace is written ends the trace, not his file") {
  const std::string path = TemporaryPath();
  auto made = io::RotatingTrace::Create(path, core::IfExists::kReplace, {1, 2, 3}, {1 << 20, 0.25});
  REQUIRE(made.ok());
  { std::ofstream(path + ".1") << "my diary"; }
  const trace::Status status = (*made)->NextFile();
  REQUIRE_FALSE(status.ok());
  CHECK(status.message().find(path + ".1: it is something else") != std::string::npos);
  CHECK(fs::file_size(path + ".1") == 8);
}

TEST_CASE("a data file that cannot end takes the room of the oldest ones") {
  const std::string path = TemporaryPath();
  const io::RotationLimits limits{256 << 10, 0.25};
  auto made = io::RotatingTrace::Create(path, core::IfExists::kRefuse, {1, 2, 3}, limits);
  REQUIRE(made.ok());
  const std::vector<uint8_t> bytes(1000, 1);
  const auto fill = [&](size_t keep) {
    while ((*made)->MakeRoom(bytes.size(), keep)) REQUIRE((*made)->Write(bytes).ok());
    CHECK(BytesOnDisk(path) <= limits.bound());
    CHECK(BytesOnDisk(path) > limits.max_bytes);
  };
  for (int i = 0; i < 3; i++) {
    while (!(*made)->policy().IsFull()) REQUIRE((*made)->Write(bytes).ok());
    REQUIRE((*made)->NextFile().ok());
  }
  fill(2);
  CHECK_FALSE(fs::exists(path + ".1"));
  CHECK(fs::exists(path + ".2"));
  fill(1);
  CHECK_FALSE(fs::exists(path + ".2"));
  CHECK((*made)->policy().current().bytes > limits.max_bytes);
}

TEST_CASE("at the bound there is room for the last words, but not for more definitions") {
  auto made = io::RotatingTrace::Create(TemporaryPath(), core::IfExists::kRefuse, {1, 2, 3}, {256 << 10, 0.1});
  REQUIRE(made.ok());
  const std::vector<uint8_t> bytes(1000, 1);
  while ((*made)->policy().HasRoom(bytes.size())) REQUIRE((*made)->Write(bytes).ok());
  CHECK_FALSE((*made)->MakeRoom(bytes.size(), 1));
  CHECK((*made)->WriteDefinitions(bytes).ok());
  REQUIRE((*made)->NextFile().ok());
  CHECK((*made)->MakeRoom(bytes.size(), 1));
}

// Of the data files that are left.
std::vector<uint64_t> Sequence(const std::string& path) {
  std::vector<uint64_t> sequence;
  auto reader = trace::TraceReader::Open({path});
  REQUIRE(reader.ok());
  while ((*reader)->Next() == trace::TraceReader::Item::kChunk) {
    const trace::Chunk& chunk = (*reader)->chunk();
    if ((*reader)->files()[chunk.file].is_data()) sequence.push_back(chunk.sequence);
  }
  return sequence;
}

TEST_CASE("chunks that are dropped at the bound leave no gap in the numbers") {
  std::minstd_rand random(7);
  for (int run = 0; run < 5; run++) {
    FakeVm vm;
    Session session(vm.vm(), {.buffer_bytes = 1024, .wait_limit = std::chrono::seconds(20)});
    const std::string path = TemporaryPath();
    auto made = io::RotatingTrace::Create(path, core::IfExists::kRefuse, {1, 2, 3}, {48 << 10, 0.25});
    REQUIRE(made.ok());
    io::Writer writer(session, **made, {.compressors = 2});
    REQUIRE(writer.Start("{}").ok());
    session.Begin(trace::SyncReason::kStart);
    const AntTracksCallbacks callbacks = MakeCallbacks(&session);
    void* slot = nullptr;
    // The first file is small, so the second one has room, and stays; what came before the third was dropped.
    for (int round = 0; round < 830; round++) {
      uint64_t at = vm.heap();
      for (int i = 0; i < 500; i++) at = vm.Put(at, FakeVm::kPoint, 16 + random() % 83);
      callbacks.tlab(&session, reinterpret_cast<void*>(1), &slot, vm.heap(), at, 1);
      if (round % 400 == 30) REQUIRE(session.queue().PushMark(kNextFile));
    }
    session.Finish("end");
    REQUIRE(writer.Wait(std::chrono::seconds(20)));
    CHECK(session.output().files == 3);
    CHECK(session.output().dropped_chunks > 10);
    const std::vector<uint64_t> sequence = Sequence(path);
    REQUIRE(sequence.size() > 8);
    for (size_t i = 1; i < sequence.size(); i++) REQUIRE(sequence[i] == sequence[0] + i);
  }
}

// A heap with a survivor space of one object and an old space of many, and collections at will.
struct Spaces {
  explicit Spaces(FakeVm& vm) : survivor(vm.heap()), old(vm.heap() + 4096) {
    vm.Put(survivor, FakeVm::kPoint, 16);
    old_top = old;
    for (uint32_t i = 0; i < 2000; i++) {
      old_top = i % 5 == 0 ? vm.Put(old_top, FakeVm::kInts, 17 + i % 7, i % 9)
                           : vm.Put(old_top, FakeVm::kPoint, 16 + i % 60);
    }
  }
  void Collect(Recording& recording, uint32_t kind = ANTTRACKS_GC_YOUNG) {
    Collect(recording.callbacks(), recording.context(), kind);
  }
  void Collect(const AntTracksCallbacks& callbacks, void* context, uint32_t kind = ANTTRACKS_GC_YOUNG) {
    const AntTracksSpace spaces[] = {{ANTTRACKS_SPACE_SURVIVOR, 1, survivor, survivor + 24, survivor + 4096},
                                     {ANTTRACKS_SPACE_OLD, 0, old, old_top, old_top}};
    AntTracksGC gc{};
    gc.id = id++;
    gc.kind = kind;
    gc.cause = "test";
    gc.spaces = spaces;
    gc.nspaces = 2;
    callbacks.gc_begin(context, &gc);
    callbacks.gc_end(context, &gc);
  }
  uint64_t survivor, old, old_top;
  uint32_t id = 0;
};

TEST_CASE("a collection becomes a sync point when one is wanted: every object, in order, once") {
  FakeVm vm;
  Recording recording(vm);
  Background& background = recording.session().background();
  std::thread thread([&] { background.Loop(vm.vm()); });
  Spaces spaces(vm);
  void* slot = nullptr;
  recording.Tlab(1, &slot, spaces.survivor, spaces.survivor + 24);
  spaces.Collect(recording);
  recording.session().WantSyncPoint();
  spaces.Collect(recording);
  background.WaitIdle();
  CHECK_FALSE(recording.session().sync_point_wanted());
  CHECK(recording.session().SyncPointBytes() > 1000);
  recording.Tlab(1, &slot, spaces.survivor, spaces.survivor + 24);  // after it: with a reset
  background.Stop();
  thread.join();
  const ReadTrace trace = recording.End();
  CHECK(trace.Count(trace::SegmentKind::kSyncBegin) == 1);
  CHECK(trace.Count(trace::SegmentKind::kSyncEnd) == 1);
  CHECK(trace.Count(trace::SegmentKind::kSyncAbandoned) == 0);
  REQUIRE(trace.sync_objects.size() == 2001);
  CHECK(trace.sync_objects[0].address == spaces.survivor);
  uint64_t last = 0;
  for (size_t i = 1; i <= 2000; i++) {
    const ReadObject& object = trace.sync_objects[i];
    CHECK(object.address > last);
    CHECK(object.class_name == ((i - 1) % 5 == 0 ? "int[]" : "Point"));
    CHECK(object.site == ((i - 1) % 5 == 0 ? 17 + (i - 1) % 7 : 16 + (i - 1) % 60));
    last = object.address;
  }
  CHECK(trace.objects.size() == 2);
}

TEST_CASE("what a full file wants while its successor is queued does not make the successor a short one") {
  FakeVm vm;
  Session session(vm.vm(), {});
  session.Begin(trace::SyncReason::kStart);
  session.WantSyncPoint();
  CHECK(session.sync_point_wanted());
  AntTracksGC gc{};
  gc.kind = ANTTRACKS_GC_FULL;
  gc.cause = "test";
  session.collections().Begin(gc);
  session.collections().End(gc);
  CHECK_FALSE(session.sync_point_wanted());
  session.WantSyncPoint();  // the writer is still at the old file
  CHECK_FALSE(session.sync_point_wanted());
  session.NextFileBegun();
  CHECK_FALSE(session.sync_point_wanted());
  session.WantSyncPoint();
  CHECK(session.sync_point_wanted());
  session.Finish("test");
}

TEST_CASE("a loss that lasts over the end of a file is told before it and behind it") {
  FakeVm vm;
  Session session(vm.vm(), {.buffer_bytes = 1024, .queue_bytes = 64 << 10, .when_full = WhenFull::kDrop});
  session.Begin(trace::SyncReason::kStart);
  const AntTracksCallbacks callbacks = MakeCallbacks(&session);
  void* slot = nullptr;
  const auto lose = [&] {  // nobody takes anything from the queue
    const uint64_t before = session.queue().lost_segments();
    uint64_t at = vm.heap();
    for (int i = 0; i < 500; i++) at = vm.Put(at, FakeVm::kPoint, 16);
    for (int i = 0; i < 1000 && session.queue().lost_segments() == before; i++) {
      callbacks.tlab(&session, reinterpret_cast<void*>(1), &slot, vm.heap(), at, 1);
    }
    REQUIRE(session.queue().lost_segments() > before);
  };
  lose();
  session.WantSyncPoint();
  Spaces(vm).Collect(callbacks, &session, ANTTRACKS_GC_FULL);
  CHECK_FALSE(session.sync_point_wanted());
  lose();
  session.Finish("test");
  size_t losses[2] = {}, marks = 0;
  while (Buffer* const list = session.queue().Pop(std::chrono::milliseconds(0))) {
    for (Buffer* buffer = list; buffer != nullptr; buffer = buffer->next) {
      if (buffer->kind == kNextFile) marks++;
      if (buffer->kind != 0) continue;
      trace::SegmentReader segments({buffer->data(), buffer->used});
      for (trace::Segment segment; segments.Next(&segment);)
        losses[std::min<size_t>(marks, 1)] += segment.info().kind == trace::SegmentKind::kLoss;
    }
    session.queue().Recycle(list);
  }
  CHECK(marks == 1);
  CHECK(losses[0] == 1);
  CHECK(losses[1] == 1);
}

TEST_CASE("a full collection stops the walk of the old space; the next sync point is whole in its pause") {
  FakeVm vm;
  Recording recording(vm);
  Background& background = recording.session().background();
  Spaces spaces(vm);
  recording.session().WantSyncPoint();
  spaces.Collect(recording);  // the walk waits: its thread does not run yet
  CHECK(background.busy());
  spaces.Collect(recording, ANTTRACKS_GC_FULL);
  CHECK_FALSE(background.busy());
  std::thread thread([&] { background.Loop(vm.vm()); });
  background.Stop();
  thread.join();
  const ReadTrace trace = recording.End();
  CHECK(trace.Count(trace::SegmentKind::kSyncBegin) == 2);
  CHECK(trace.Count(trace::SegmentKind::kSyncAbandoned) == 1);
  CHECK(trace.Count(trace::SegmentKind::kSyncEnd) == 1);
  CHECK(trace.sync_objects.size() == 2001);
}

// A sync point, then a collection of the kind. begun: the walk's thread runs already, else it does only after
// that.
ReadTrace CollectBesideWalk(uint32_t kind, bool begun) {
  FakeVm vm;
  Recording recording(vm);
  Background& background = recording.session().background();
  Spaces spaces(vm);
  recording.session().WantSyncPoint();
  std::thread thread;
  const auto start = [&] { thread = std::thread([&] { background.Loop(vm.vm()); }); };
  if (begun) start();
  spaces.Collect(recording);
  spaces.Collect(recording, kind);
  if (!begun) start();
  background.WaitIdle();
  background.Stop();
  thread.join();
  return recording.End();
}

TEST_CASE("a young collection finds the young spaces listed, whether the walk had begun or not") {
  for (const bool begun : {false, true}) {
    CAPTURE(begun);
    const ReadTrace trace = CollectBesideWalk(ANTTRACKS_GC_YOUNG, begun);
    CHECK(trace.Count(trace::SegmentKind::kSyncEnd) == 1);
    CHECK(trace.Count(trace::SegmentKind::kSyncAbandoned) == 0);
    CHECK(trace.sync_objects.size() == 2001);
    // Begin of the first collection, its end, the sync point with the survivor, begin of the second.
    size_t collections = 0, listed = 0;
    for (const ReadSegment& segment : trace.segments) {
      listed += segment.kind == trace::SegmentKind::kSyncObjects && segment.stream == 0;
      if (segment.kind == trace::SegmentKind::kGcBegin && ++collections == 2) break;
    }
    CHECK(listed == 1);
  }
}

// The kinds of what follows the first end of a collection.
std::vector<trace::SegmentKind> BehindFirstCollection(const ReadTrace& trace) {
  std::vector<trace::SegmentKind> kinds;
  bool behind = false;
  for (const ReadSegment& segment : trace.segments) {
    if (behind && segment.kind != trace::SegmentKind::kDefinitions) kinds.push_back(segment.kind);
    behind = behind || segment.kind == trace::SegmentKind::kGcEnd;
  }
  return kinds;
}

TEST_CASE(
    "collections between the end's announcement and the end leave no open sync point behind, and begin none") {
  using trace::SegmentKind;
  for (const uint32_t kind : {ANTTRACKS_GC_YOUNG, ANTTRACKS_GC_MIXED, ANTTRACKS_GC_FULL}) {
    CAPTURE(kind);
    FakeVm vm;
    Recording recording(vm);
    Spaces spaces(vm);
    recording.session().WantSyncPoint();
    spaces.Collect(recording);  // the walk waits for its thread
    recording.session().PrepareStop();
    spaces.Collect(recording, kind);
    recording.session().WantSyncPoint();
    spaces.Collect(recording, kind);
    CHECK(BehindFirstCollection(recording.End()) ==
          std::vector{SegmentKind::kSyncBegin, SegmentKind::kSyncAbandoned, SegmentKind::kGcBegin,
                      SegmentKind::kGcEnd, SegmentKind::kGcBegin, SegmentKind::kGcEnd, SegmentKind::kEnd});
  }
}

// Of what is queued.
std::vector<trace::SegmentKind> QueuedKinds(BufferQueue& queue) {
  std::vector<trace::SegmentKind> kinds;
  while (Buffer* list = queue.Pop(std::chrono::milliseconds(0))) {
    for (Buffer* buffer = list; buffer != nullptr; buffer = buffer->next) {
      // Segments by themselves begin with their kind; marks have no bytes.
      if (buffer->used != 0)
        kinds.push_back(static_cast<trace::SegmentKind>(buffer->kind != 0 ? buffer->kind : *buffer->data()));
    }
    queue.Recycle(list);
  }
  return kinds;
}

TEST_CASE("a sync point that finds no room for the young spaces is abandoned before the next collection") {
  using trace::SegmentKind;
  for (int round = 0; round < 50; round++) {
    FakeVm vm;
    Session session(vm.vm(), {.buffer_bytes = 4 << 10, .queue_bytes = 64 << 10});
    session.Begin(trace::SyncReason::kStart);
    const AntTracksCallbacks callbacks = MakeCallbacks(&session);
    Spaces spaces(vm);
    const std::vector<uint8_t> much(512 << 10,
                                    static_cast<uint8_t>(SegmentKind::kDefinitions));  // nobody writes it
    REQUIRE(session.queue().PushSegments(much, PushMode::kForce));
    session.WantSyncPoint();
    std::thread thread([&] { session.background().Loop(vm.vm()); });
    spaces.Collect(callbacks, &session);
    std::this_thread::sleep_for(
        std::chrono::milliseconds(2));  // that the walk has begun, mostly: both ways must do
    spaces.Collect(callbacks, &session);
    session.PrepareStop();  // another one has begun
    session.background().Stop();
    thread.join();
    const std::vector<SegmentKind> kinds = QueuedKinds(session.queue());
    session.Finish("end");
    REQUIRE(kinds.size() >= 6);
    const std::vector expected{SegmentKind::kDefinitions, SegmentKind::kGcBegin,       SegmentKind::kGcEnd,
                               SegmentKind::kSyncBegin,   SegmentKind::kSyncAbandoned, SegmentKind::kGcBegin};
    CHECK(std::vector(kinds.begin(), kinds.begin() + 6) == expected);
  }
}

// Of every five objects of the old space the first, an int[], is dead.
uint64_t NextObjects(uint64_t* from, uint64_t top) {
  static_assert(FakeVm::kInts != FakeVm::kPoint);
  const auto is_ints = [](uint64_t at) {
    uint32_t narrow = 0;
    std::memcpy(&narrow, reinterpret_cast<const void*>(at + 8), sizeof narrow);
    return narrow == (FakeVm::kInts - FakeVm::kBase) >> 3;
  };
  const auto bytes = [&](uint64_t at) {
    uint32_t length = 0;
    std::memcpy(&length, reinterpret_cast<const void*>(at + 12), sizeof length);
    return is_ints(at) ? (16 + uint64_t{length} * 4 + 7) / 8 * 8 : uint64_t{24};
  };
  uint64_t at = *from;
  while (at < top && is_ints(at)) at += bytes(at);
  *from = at;
  while (at < top && !is_ints(at)) at += bytes(at);
  return at;
}

TEST_CASE("where only the VM knows what is an object it is asked, and the dead are left out") {
  FakeVm vm;
  vm.vm().next_objects = NextObjects;
  Recording recording(vm);
  Background& background = recording.session().background();
  std::thread thread([&] { background.Loop(vm.vm()); });
  Spaces spaces(vm);
  recording.session().WantSyncPoint();
  spaces.Collect(recording, ANTTRACKS_GC_REMARK);  // collects little: the next one will be better
  CHECK(recording.session().sync_point_wanted());
  spaces.Collect(recording);
  background.WaitIdle();
  CHECK_FALSE(recording.session().sync_point_wanted());
  background.Stop();
  thread.join();
  const ReadTrace trace = recording.End();
  CHECK(trace.Count(trace::SegmentKind::kSyncEnd) == 1);
  REQUIRE(trace.sync_objects.size() == 1601);
  uint64_t last = 0;
  for (const ReadObject& object : trace.sync_objects) {
    CHECK(object.address > last);
    CHECK(object.class_name == "Point");
    last = object.address;
  }
  for (const ReadSegment& segment : trace.segments) {
    if (segment.kind != trace::SegmentKind::kSyncBegin) continue;
    trace::WireReader in(segment.payload);
    for (int i = 0; i < 4; i++) in.Uv();  // reason, time, number of spaces, kind of the first
    CHECK(in.Uv() == static_cast<uint64_t>(trace::Collected::kOptional));
  }
}

TEST_CASE("a sync point goes on after a remark and a mixed collection, begun or not") {
  for (const uint32_t kind : {ANTTRACKS_GC_REMARK, ANTTRACKS_GC_MIXED}) {
    for (const bool begun : {false, true}) {
      CAPTURE(kind);
      CAPTURE(begun);
      const ReadTrace trace = CollectBesideWalk(kind, begun);
      CHECK(trace.Count(trace::SegmentKind::kSyncAbandoned) == 0);
      CHECK(trace.Count(trace::SegmentKind::kSyncEnd) == 1);
      CHECK(trace.sync_objects.size() == 2001);
    }
  }
}

TEST_CASE("a young collection that failed to promote is no sync point, the next one is") {
  FakeVm vm;
  Recording recording(vm);
  Background& background = recording.session().background();
  std::thread thread([&] { background.Loop(vm.vm()); });
  Spaces spaces(vm);
  recording.session().WantSyncPoint();
  AntTracksGC gc{};
  gc.cause = "test";
  recording.callbacks().gc_begin(recording.context(), &gc);
  const AntTracksSlide stays{spaces.survivor, spaces.survivor, 3};
  recording.callbacks().slides(recording.context(), 0, &stays, 1);
  recording.callbacks().gc_end(recording.context(), &gc);
  CHECK(recording.session().sync_point_wanted());
  spaces.Collect(recording);
  background.WaitIdle();
  CHECK_FALSE(recording.session().sync_point_wanted());
  background.Stop();
  thread.join();
  CHECK(recording.End().Count(trace::SegmentKind::kSyncEnd) == 1);
}

TEST_CASE("collections are asked for in the background, many requests at once are one") {
  static std::atomic<int> collections{0};
  static std::atomic<bool> all_asked{false};
  FakeVm vm;
  vm.vm().collect = [] {
    while (!all_asked) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ++collections;
  };
  Background background;
  std::thread thread([&] { background.Loop(vm.vm()); });
  for (int i = 0; i < 100; i++) background.RequestCollection();
  all_asked = true;
  while (collections == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  background.Stop();
  thread.join();
  CHECK(collections <= 2);
}

}  // namespace
}  // namespace anttracks::core
