// SPDX-License-Identifier: Apache-2.0
// Small traces with valid checksums that ask for much memory or time. Limits are an order of magnitude from
// what is right, and from what it costs to believe the trace.
#include <doctest/doctest.h>

#include <random>
#include <unordered_map>

#include "analyzer/model/definitions.h"
#include "analyzer/model/heap.h"
#include "analyzer/model/paged_table.h"
#include "analyzer/model/provenance.h"
#include "tests/unit/analyzer/cost.h"
#include "tests/unit/analyzer/hprof_dump.h"
#include "tests/unit/analyzer/small_trace.h"
#include "trace/json_text.h"

namespace anttracks::testing {
namespace {

using analyzer::Definitions;
using analyzer::Heap;
using analyzer::InsertResult;
using analyzer::ObjectShapes;
using analyzer::PagedTable;
using analyzer::Position;
using analyzer::Problems;

constexpr uint64_t kTerabyte = uint64_t{1} << 40;

// The largest heap that META may have: 8 TiB. Kind 1: 24 bytes, kind 2: long[].
TraceBuilder Vast() {
  TraceBuilder b;
  b.Meta(0, 8 * kTerabyte);
  DefinitionsBuilder s;
  s.Class(1, "app.Node", 0, 24).Class(2, "long[]", 1, 0, 16, 3).Thread(1, "main", 1);
  s.SiteClass(1, 1, 1).SiteClass(2, 1, 2);
  b.Segment(SegmentKind::kDefinitions, 0, s.bytes());
  return b;
}

bool Has(const CommandResult& result, const std::string& text) {
  return result.err.find(text) != std::string::npos;
}

TEST_CASE("a segment for each of many threads costs no table each") {
  TraceBuilder b = Vast();
  for (uint64_t thread = 1; thread <= 5000; thread++) {
    b.Segment(SegmentKind::kAlloc, thread, Objects().Head(0).Tlab(static_cast<int64_t>(3 * thread)).Fixed(1));
  }
  const std::string trace = b.Flush().file();
  const Cost cost;
  CHECK(Anttracks(trace, {"info"}).code == 0);
  CHECK(cost.peak() < 32 * kMegabyte);
}

TEST_CASE("ids far apart cost no page of a table each") {
  TraceBuilder b;
  b.Meta(0, 8 * kTerabyte);
  DefinitionsBuilder s;
  for (uint64_t i = 1; i <= 4000; i++) s.Class(i * 256, "C", 0, 24);
  s.Class(PagedTable<int>::kMaxId, "last", 0, 24).Class(PagedTable<int>::kMaxId + 1, "none", 0, 24);
  const std::string trace = b.Segment(SegmentKind::kDefinitions, 0, s.bytes()).Flush().file();
  const Cost cost;
  const CommandResult classes = Anttracks(trace, {"classes", "--top", "5"});
  CHECK(cost.peak() < 32 * kMegabyte);
  CHECK(classes.code == 4);
  CHECK(classes.out.find("4,001 classes") != std::string::npos);
}

TEST_CASE("a site beyond all ids is not taken for the one that its low bits name") {
  TraceBuilder b = Vast();
  DefinitionsBuilder s;
  s.Method(1, "app.Main", "run", "Main.java").Site(16, 1, 4, 12, 0, 0).SiteClass(3, uint64_t{1} << 32 | 16, 1);
  b.Segment(SegmentKind::kDefinitions, 0, s.bytes());
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(0).Tlab(0).Fixed(3));
  const CommandResult result = Anttracks(b.Flush().file(), {"sites"});
  CHECK(result.code == 4);
  CHECK(result.out.find("<unknown>") != std::string::npos);
  CHECK(result.out.find("Main.java") == std::string::npos);
}

TEST_CASE("a table agrees with a plain map whatever the ids") {
  std::mt19937_64 random(7);
  PagedTable<uint64_t> table;
  std::map<uint64_t, uint64_t> reference;
  for (uint64_t i = 1; i < 20000; i++) {
    const uint64_t id = random() % 3 == 0   ? random() % (PagedTable<int>::kMaxId + 1)
                        : random() % 3 == 0 ? random() % 9000
                                            : i;
    reference[id] = *table.FindOrAdd(id) = random() | 1;
  }
  for (const auto& [id, value] : reference) REQUIRE(*table.Find(id) == value);
  auto next = reference.begin();
  table.ForEach([&](uint64_t id, uint64_t value) {
    if (value == 0) return;
    REQUIRE(next != reference.end());
    REQUIRE(id == next->first);
    ++next;
  });
  CHECK(next == reference.end());
  CHECK(table.FindOrAdd(PagedTable<int>::kMaxId + 1) == nullptr);
}

TEST_CASE("a run that says it has more objects than its segment holds is refused") {
  for (const uint64_t count :
       {uint64_t{1}, uint64_t{1} << 20, uint64_t{1} << 38, uint64_t{1} << 61, UINT64_MAX >> 2}) {
    for (const uint64_t lengths : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 62}) {
      TraceBuilder b = Vast();
      b.Segment(SegmentKind::kAlloc, 1,
                Objects().Head(0).Tlab(0).Fixed(1).Fixed(1).Uv(0).Uv(count << 2).Uv(lengths));
      const CommandResult result = Anttracks(b.Flush().file(), {"info"});
      CHECK(result.code == 4);
      CHECK(Has(result, "TRACE: chunk at"));
      CHECK(Has(result, "malformed segment"));
    }
  }
}

TEST_CASE("a slide of more objects than a writer makes is refused") {
  TraceBuilder b = Vast();
  const std::vector<TestSpace> spaces{{2, 1, 0, 3000, 4096}};
  b.SyncBegin(0, 0, spaces);
  Objects objects = Objects().Tlab(0).Fixed(1).Fixed(1).Fixed(1);
  for (int i = 0; i < 970; i++) objects.Fixed(1);
  b.Segment(SegmentKind::kSyncObjects, 0, objects);
  b.Numbers(SegmentKind::kSyncEnd, 0, {973, 973 * 24});
  b.Gc(SegmentKind::kGcBegin, 0, 1, "x", 1, spaces);
  b.Segment(SegmentKind::kSlides, 0, Slide(973, 0, 0));
  b.Gc(SegmentKind::kGcEnd, 0, 1, "x", 2, spaces);
  const CommandResult result = Anttracks(b.Flush().file(), {"gcs"});
  CHECK(result.code == 4);
  CHECK(Has(result, "slide of more objects than a run may have"));
}

TEST_CASE("objects far apart cost hundreds of bytes each, and a vast heap nothing") {
  TraceBuilder b = Vast();
  Objects objects = Objects().Head(0);
  for (int i = 0; i < 4000; i++) objects.Tlab(int64_t{1} << 20).Fixed(1);
  const std::string trace = b.Segment(SegmentKind::kAlloc, 1, objects).Flush().file();
  const Cost cost;
  const CommandResult heap = Anttracks(trace, {"heap", "--end", "--by", "age"});
  CHECK(heap.code == 0);
  CHECK(heap.out.find("4,000 objects") != std::string::npos);
  CHECK(cost.peak() < 24 * kMegabyte);
}

TEST_CASE("an object of gigabytes costs no more than a small one") {
  TraceBuilder b = Vast();
  Objects objects = Objects().Head(0).Tlab(0);
  for (int i = 0; i < 60; i++) objects.WithLength(2, 0x7FFFFFFF);
  const std::string trace = b.Segment(SegmentKind::kAlloc, 1, objects).Flush().file();
  const Cost cost;
  const CommandResult heap = Anttracks(trace, {"heap", "--end"});
  CHECK(heap.code == 0);
  CHECK(heap.out.find("60 objects") != std::string::npos);
  CHECK(cost.peak() < 24 * kMegabyte);
}

TEST_CASE("spaces that overlap, or reach beyond the heap, are refused") {
  for (const TestSpace& second : {TestSpace{2, 1, 50, 60, 200}, TestSpace{2, 1, 200, 200, uint64_t{1} << 60}}) {
    TraceBuilder b = Vast();
    b.SyncBegin(0, 0, {{0, 1, 0, 100, 100}, second});
    CHECK(Has(Anttracks(b.Flush().file(), {"info"}), "object outside every space: space at"));
  }
}

TEST_CASE("unloading a class costs what the class has") {
  Problems problems;
  Definitions definitions(problems);
  constexpr uint64_t kClasses = 60'000;
  DefinitionsBuilder s;
  for (uint64_t i = 1; i <= kClasses; i++) s.Class(i, "C", 0, 24).SiteClass(i, 1, i);
  definitions.Read(s.bytes().span(), Position());
  const Cost cost;
  for (uint64_t i = 1; i <= kClasses; i++) REQUIRE(definitions.Unload(i));
  CHECK(cost.seconds() < 1 * kSlower);
  uint32_t shape = 0;
  CHECK(definitions.FindShape(5, 0, &shape) == analyzer::ShapeError::kUnloadedClass);
  CHECK(problems.total() == 0);
}

TEST_CASE("many small pieces of damage are searched in one buffer") {
  TraceBuilder b = Vast();
  b.Flush();
  std::string trace = b.file();
  for (int i = 0; i < 3000; i++) {
    TraceBuilder piece;
    piece.Chunk(9, "");
    trace += "x" + piece.file().substr(64);
  }
  const Cost cost;
  const CommandResult verify = Anttracks(trace, {"verify", "--max-errors", "1"});
  CHECK(verify.code == 1);
  CHECK(cost.allocated() < 300 * kMegabyte);
}

// Keys that are multiples of the number of buckets meet in one, if they are their own hashes. Numbers of
// threads come from the trace.
TEST_CASE("numbers of threads cannot be chosen to meet in one place") {
  std::unordered_map<uint64_t, uint32_t> plain;
  for (uint64_t i = 0; i < 100'000; i++) plain[i] = 0;
  const uint64_t buckets = plain.bucket_count();
  analyzer::ProvenanceTable table;
  const Cost cost;
  for (uint64_t i = 0; i < 100'000; i++) table.Intern(i * buckets, 1);
  CHECK(cost.seconds() < 1 * kSlower);
}

TEST_CASE("counters of a trace are printed with their order, unless there are too many") {
  const auto counters = [](int count) {
    std::string text = "{\"first\":1";
    for (int i = 0; i < count; i++) text += ",\"" + std::to_string(i) + "\":0";
    TraceBuilder b = SmallStart();
    b.End(2'000'000, "VM death", text + "}");
    return Anttracks(b.Flush().file(), {"info", "--json"}).out;
  };
  CHECK(counters(100).find("\"counters\": {\n    \"first\": 1") != std::string::npos);
  const Cost cost;
  CHECK(counters(100'000).find("\"counters\": null") != std::string::npos);
  CHECK(cost.seconds() < 5 * kSlower);
}

// Keys whose hashes meet in one place if they are multiplied by a number that everybody knows.
TEST_CASE("pairs of kind and length cannot be chosen to meet in one place") {
  constexpr uint64_t kKnown = 0x9E3779B97F4A7C15u;
  uint64_t inverse = kKnown;
  for (int i = 0; i < 6; i++) inverse *= 2 - kKnown * inverse;
  ObjectShapes shapes;
  const Cost cost;
  for (uint64_t i = 0; i < 100'000; i++) {
    const uint64_t hash = i << 52 | (i >> 12) | uint64_t{1} << 31;
    const uint64_t key = hash * inverse;
    const auto kind = static_cast<uint32_t>(key >> 32), length = static_cast<uint32_t>(key);
    if (shapes.Find(kind, length) == ObjectShapes::kNone) shapes.Add({kind, length, 2});
  }
  CHECK(shapes.size() > 90'000);
  CHECK(cost.seconds() < 1 * kSlower);
}

TEST_CASE("an object whose end does not fit in 32 bits covers what it covers") {
  ObjectShapes shapes;
  const uint32_t large = shapes.Add({1, 1, UINT32_MAX});
  const uint32_t small = shapes.Add({2, 0, 2});
  Heap heap(shapes, 0, uint64_t{1} << 34);
  REQUIRE(heap.Insert(100, large, 0) == InsertResult::kOk);
  CHECK(heap.Insert(300, small, 0) == InsertResult::kOverlap);
  CHECK(heap.Insert(uint64_t{1} << 31, small, 0) == InsertResult::kOverlap);
  CHECK(heap.Insert(uint64_t{UINT32_MAX} + 99, small, 0) == InsertResult::kOverlap);
  CHECK(heap.Insert(uint64_t{UINT32_MAX} + 100, small, 0) == InsertResult::kOk);
}

TEST_CASE("a heap keeps what a dropped range's neighbour covers") {
  ObjectShapes shapes;
  const uint32_t large = shapes.Add({1, 1, 3 * analyzer::kPageWords});
  const uint32_t small = shapes.Add({2, 0, 2});
  Heap heap(shapes, 0, 100 * analyzer::kPageWords);
  REQUIRE(heap.Insert(100, large, 0) == InsertResult::kOk);
  heap.Drop(200, 50 * analyzer::kPageWords);
  CHECK(heap.totals().objects == 1);
  CHECK(heap.Insert(100 + 3 * analyzer::kPageWords - 2, small, 0) == InsertResult::kOverlap);
  CHECK(heap.Insert(100 + 3 * analyzer::kPageWords, small, 0) == InsertResult::kOk);
}

// A heap of so many objects of kind 1.
TraceBuilder WithObjects(int count) {
  TraceBuilder b = Vast();
  const auto words = 3 * static_cast<uint64_t>(count);
  b.SyncBegin(0, 0, {{2, 0, 0, words, words}});
  Objects objects = Objects().Tlab(0);
  for (int i = 0; i < count; i++) objects.Fixed(1);
  b.Segment(SegmentKind::kSyncObjects, 0, objects);
  b.Numbers(SegmentKind::kSyncEnd, 0, {words / 3, words * 8});
  return b;
}

TEST_CASE("after collections of a few bytes each a large heap is counted some times, and no more") {
  TraceBuilder b = WithObjects(510'000);
  for (uint64_t i = 0; i < 20'000; i++) {
    b.Gc(SegmentKind::kGcBegin, i, 0, "", i, {}).Gc(SegmentKind::kGcEnd, i, 0, "", i, {});
  }
  const std::string trace = b.Flush().file();
  const std::vector<std::vector<std::string>> commands{
      {"quality"}, {"report", "-o", "-"}, {"leaks", "--history"}, {"summary"}};
  for (const std::vector<std::string>& command : commands) {
    CAPTURE(command[0]);
    const Cost cost;
    const CommandResult result = Anttracks(trace, command);
    CHECK(result.code == 0);
    const bool left_out = result.out.find(" collections the heap was not counted") != std::string::npos;
    CHECK(left_out == (command[0] == "quality" || command[0] == "report"));
    CHECK(cost.seconds() < 20 * kSlower);
  }
}

TEST_CASE("collections of a few bytes each cannot ask for the whole heap over and over") {
  constexpr uint64_t kCollections = 6000, kFirstClass = 100;
  TraceBuilder b = WithObjects(20'000);
  DefinitionsBuilder classes;
  for (uint64_t i = 0; i < kCollections; i++) classes.Class(kFirstClass + i, "C", 0, 24);
  b.Segment(SegmentKind::kDefinitions, 0, classes.bytes());
  for (uint64_t i = 0; i < kCollections; i++) {
    b.Gc(SegmentKind::kGcBegin, i, 0, "", i, {});
    b.Numbers(SegmentKind::kClassUnload, 0, {kFirstClass + i});  // which may have objects
    b.Gc(SegmentKind::kGcEnd, i, 0, "", i, {});
  }
  const std::string trace = b.Flush().file();
  const Cost cost;
  const CommandResult gcs = Anttracks(trace, {"gcs"});
  CHECK(gcs.code == 3);
  CHECK(Has(gcs, "TRACE, offset "));
  CHECK(Has(gcs, "more work than its size justifies"));
  CHECK(cost.seconds() < 20 * kSlower);
}

TEST_CASE("the history of a pair with the last id costs no table of all ids") {
  constexpr uint64_t kLast = PagedTable<int>::kMaxId;
  TraceBuilder b = Vast();
  b.Segment(SegmentKind::kDefinitions, 0, DefinitionsBuilder().SiteClass(kLast, 1, 1).bytes());
  b.SyncBegin(0, 0, {{2, 0, 0, 3'000'000, 3'000'000}});
  b.Segment(SegmentKind::kSyncObjects, 0, Objects().Tlab(0).Fixed(kLast));
  b.Numbers(SegmentKind::kSyncEnd, 0, {1, 24});
  for (uint64_t i = 0; i < 1000; i++) {
    b.Gc(SegmentKind::kGcBegin, i, 0, "", i, {}).Gc(SegmentKind::kGcEnd, i, 0, "", i, {});
  }
  const std::string trace = b.Flush().file();
  const Cost cost;
  const CommandResult leaks = Anttracks(trace, {"leaks", "--history"});
  CHECK(leaks.code == 0);
  CHECK(cost.peak() < 32 * kMegabyte);
  CHECK(cost.seconds() < 2 * kSlower);
}

TEST_CASE("JSON in a trace may be nested a little") {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  TraceBuilder b = Vast();
  b.End(1, "VM death", deep);
  const CommandResult info = Anttracks(b.Flush().file(), {"info", "--json"});
  CHECK(info.code == 0);
  CHECK(nlohmann::json::parse(info.out)["counters"].is_null());
  CHECK(trace::IsShallow("[[\"[[[[\\\"[\"]]", 2));
  CHECK(!trace::IsShallow("[[[]]]", 2));
  TraceBuilder meta;
  meta.Chunk(1, deep);
  CHECK(Has(Anttracks(meta.file(), {"info"}), "META is no JSON object"));
}

TEST_CASE("a long name is cut, between characters") {
  TraceBuilder b = Vast();
  DefinitionsBuilder s;
  std::string name = "a";
  for (int i = 0; i < 10'000; i++) name += "\u00E4";
  s.Class(9, name, 0, 24);
  const CommandResult classes =
      Anttracks(b.Segment(SegmentKind::kDefinitions, 0, s.bytes()).Flush().file(), {"classes", "--json"});
  std::string longest;
  const auto json = nlohmann::json::parse(classes.out);
  for (const auto& row : json["classes"]) {
    if (row["class"].get<std::string>().size() > longest.size()) longest = row["class"];
  }
  CHECK(longest == name.substr(0, 1021) + "...");
}

TEST_CASE("a long cause of a collection is cut, and makes no row of a table long") {
  TraceBuilder b = Vast();
  b.SyncBegin(0, 0, {}).Numbers(SegmentKind::kSyncEnd, 0, {0, 0});
  const std::string cause(1 << 20, 'x');
  for (uint64_t i = 0; i < 100; i++) {
    b.Gc(SegmentKind::kGcBegin, i, 0, i == 0 ? cause : "x", i, {});
    b.Gc(SegmentKind::kGcEnd, i, 0, i == 0 ? cause : "x", i, {});
  }
  const CommandResult gcs = Anttracks(b.Flush().file(), {"gcs"});
  CHECK(gcs.code == 0);
  CHECK(gcs.out.find(" " + cause.substr(0, 1021) + "... ") != std::string::npos);
  CHECK(gcs.out.size() < 100 * 2048);
}

// Classes of references without a superclass get java.lang.ref.Reference, which here has one of them.
TEST_CASE("superclasses that a heap dump adds make no loop") {
  TraceBuilder b = Vast();
  DefinitionsBuilder s;
  s.Class(11, "java.lang.ref.SoftReference", 0, 24).Class(12, "java.lang.ref.Reference", 0, 24, 0, 0, 11);
  b.Segment(SegmentKind::kDefinitions, 0, s.SiteClass(3, 1, 11).bytes());
  b.SyncBegin(0, 0, {{2, 0, 0, 3, 4096}});
  b.Segment(SegmentKind::kSyncObjects, 0, Objects().Tlab(0).Fixed(3));
  b.Numbers(SegmentKind::kSyncEnd, 0, {1, 24});
  const TempFile trace(b.Flush().file());
  const TempPath dump;
  std::ostringstream out, err;
  CHECK(analyzer::Main({"export", "hprof", trace.path(), dump.path()}, out, err, false) == 0);
  CAPTURE(err.str());
  CHECK(out.str().find(": 1 object, 24 B") != std::string::npos);
}

TEST_CASE("a chain of superclasses ends") {
  TraceBuilder b = Vast();
  DefinitionsBuilder s;
  for (uint64_t i = 1; i <= 400; i++) s.Class(100 + i, "C", 0, 24, 0, 0, i == 1 ? 0 : 99 + i);
  const CommandResult classes =
      Anttracks(b.Segment(SegmentKind::kDefinitions, 0, s.bytes()).Flush().file(), {"classes", "--layout"});
  CHECK(classes.code == 4);
  CHECK(Has(classes, "more than 256 superclasses"));
}

}  // namespace
}  // namespace anttracks::testing
