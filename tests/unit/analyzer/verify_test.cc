// SPDX-License-Identifier: Apache-2.0
// Every kind of fault, planted in a trace: verify finds it and says where.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {
namespace {

struct Verdict {
  int code;
  nlohmann::json json;
  uint64_t count(const std::string& kind) const { return json["by_kind"].value(kind, uint64_t{0}); }
  uint64_t errors() const { return json["errors"]; }
};

Verdict Verify(const std::string& trace) {
  const CommandResult result = Anttracks(trace, {"verify", "--json"});
  return {result.code, nlohmann::json::parse(result.out)};
}

void CheckOnly(TraceBuilder b, const std::string& kind, uint64_t count = 1) {
  const Verdict verdict = Verify(b.Flush().file());
  INFO(verdict.json.dump());
  CHECK(verdict.code == 1);
  CHECK(verdict.count(kind) == count);
  CHECK(verdict.errors() == count);
}

TraceBuilder WithAllocs() {
  TraceBuilder b = SmallStart();
  SmallAllocs(&b);
  return b;
}

void BeginYoung(TraceBuilder* b) { b->Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(66, 0, 0, 17)); }
void EndYoung(TraceBuilder* b, uint64_t to, uint64_t old) {
  b->Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(0, 0, to, old));
}

// A young collection that makes these moves, and the words it leaves in the survivor space.
TraceBuilder WithMoves(const std::vector<TestMove>& moves, uint64_t to) {
  TraceBuilder b = WithAllocs();
  BeginYoung(&b);
  b.Segment(SegmentKind::kMoves, 0, Moves(moves));
  EndYoung(&b, to, 17);
  return b;
}

// What a third thread allocates beside SmallAllocs.
TraceBuilder WithAlloc(const Objects& objects) {
  TraceBuilder b = WithAllocs();
  b.Segment(SegmentKind::kAlloc, 3, objects);
  return b;
}

// The only objects of the trace.
TraceBuilder WithOnly(const Objects& objects) {
  TraceBuilder b = SmallStart();
  b.Segment(SegmentKind::kAlloc, 1, objects);
  return b;
}

TraceBuilder WithDefinitions(const DefinitionsBuilder& definitions) {
  TraceBuilder b = SmallStart();
  b.Segment(SegmentKind::kDefinitions, 0, definitions.bytes());
  return b;
}

// A sync point that finds one Node at the bottom of the old space.
TraceBuilder WithSync(uint64_t space, uint64_t bytes) {
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8).Segment(SegmentKind::kDefinitions, 0, SmallDefinitions().bytes());
  b.SyncBegin(0, 1000, Spaces(0, 0, 0, 17));
  b.Segment(SegmentKind::kSyncObjects, space, Objects().Tlab(kOld).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {1, bytes});
  return b;
}

TEST_CASE("verify finds a move from an address that holds no object") {
  CheckOnly(WithMoves({{kEden + 1, kTo, 0, 3}}, 0), "move from an address that holds no object");
}

TEST_CASE("verify finds an object that is moved twice in a collection") {
  CheckOnly(WithMoves({{kEden, kTo, 0, 3}, {kEden, kTo + 3, 0, 3}}, 3), "object moved twice in one collection");
}

TEST_CASE("verify finds a move onto another object") {
  CheckOnly(WithMoves({{kEden, kTo, 0, 3}, {kEden + 3, kTo + 2, 0, 3}}, 5), "overlapping objects");
}

TEST_CASE("verify finds a move out of a space that is not collected") {
  CheckOnly(WithMoves({{kOld + 14, kTo, 0, 3}}, 3), "object outside every space");
}

TEST_CASE("verify finds an allocation over a live object") {
  CheckOnly(WithAlloc(Objects().Head(1).Tlab(kEden + 1).Fixed(6)), "overlapping objects");
}

// A full collection that keeps nothing and leaves two fillers.
TraceBuilder WithFillersOfAFullCollection(uint64_t second, uint64_t length) {
  TraceBuilder b = WithAllocs();
  b.Gc(SegmentKind::kGcBegin, 0, 1, "x", 5000, Spaces(66, 0, 0, 17, true));
  b.Segment(SegmentKind::kFillers, 0, Filler(kOld, 4, 4));
  b.Segment(SegmentKind::kFillers, 0, Filler(second, 4, length));
  b.Gc(SegmentKind::kGcEnd, 0, 1, "x", 6000, Spaces(0, 0, 0, 17));
  return b;
}

TEST_CASE("a full collection may record a filler twice") {
  CHECK(Verify(WithFillersOfAFullCollection(kOld, 4).Flush().file()).errors() == 0);
  CheckOnly(WithFillersOfAFullCollection(kOld, 6), "filler that overlaps an object");
  CheckOnly(WithFillersOfAFullCollection(kOld + 2, 4), "filler that overlaps an object");
}

TEST_CASE("verify tells a filler over a live object from an object there") {
  TraceBuilder b = WithAllocs();
  BeginYoung(&b);
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}}));
  b.Segment(SegmentKind::kFillers, 0, Filler(kTo + 2, 4, 0));
  EndYoung(&b, 4, 17);
  CheckOnly(b, "filler that overlaps an object");
}

TEST_CASE("verify finds an object outside its space after a collection") {
  CheckOnly(WithMoves({{kEden, kTo + 100, 0, 3}}, 3), "object outside every space");
}

TEST_CASE("verify finds an object that reaches beyond the top of its space") {
  CheckOnly(WithMoves({{kEden, kTo, 0, 3}}, 2), "object outside every space");
}

TEST_CASE("verify finds an object outside the heap") {
  CheckOnly(WithAlloc(Objects().Head(1).Tlab(kHeapEnd - 1).Fixed(6)), "object outside the heap");
}

TEST_CASE("verify finds an object of a site-class pair that is not defined") {
  CheckOnly(WithAlloc(Objects().Head(1).Tlab(kEden + 512).Fixed(77)),
            "undefined site-class pair, site, class or method");
}

TEST_CASE("what is wrong with objects of a run is told in their order") {
  const std::string out =
      Anttracks(WithAlloc(Objects().Head(1).Tlab(kEden + 1).Fixed(6).Fixed(77)).Flush().file(), {"verify"}).out;
  const size_t overlap = out.find("overlaps another object"),
               undefined = out.find("pair 77, which is not defined");
  INFO(out);
  REQUIRE(overlap != std::string::npos);
  REQUIRE(undefined != std::string::npos);
  CHECK(overlap < undefined);
}

TEST_CASE("what is wrong behind the 256th object of a run is told, and what precedes it is there") {
  Objects objects = Objects().Head(1).Tlab(kEden + 512);
  for (int i = 0; i < 300; i++) objects.Fixed(1);
  objects.Fixed(77);
  const std::string trace = WithAlloc(objects).Flush().file();
  CheckOnly(WithAlloc(objects), "undefined site-class pair, site, class or method");
  const auto with = nlohmann::json::parse(Anttracks(trace, {"info", "--json"}).out);
  const auto without = nlohmann::json::parse(Anttracks(WithAllocs().Flush().file(), {"info", "--json"}).out);
  CHECK(with["in_tlabs"]["objects"].get<int>() == without["in_tlabs"]["objects"].get<int>() + 300);
}

TEST_CASE("verify finds an object whose site-class pair is number 0") {
  CheckOnly(WithAlloc(Objects().Head(1).Tlab(kEden + 512).Fixed(0)),
            "undefined site-class pair, site, class or method");
}

TEST_CASE("verify finds definitions that name a site, class or method that is not defined") {
  DefinitionsBuilder s;
  s.SiteClass(20, 99, 1).SiteClass(21, 16, 99).Site(30, 99, 0, 0, 0, 0).Site(31, 1, 0, 0, 99, 0);
  s.Class(30, "app.Sub", 0, 16, 0, 0, 31).Class(31, "app.Self", 0, 16, 0, 0, 31);
  CheckOnly(WithDefinitions(s), "undefined site-class pair, site, class or method", 6);
}

TEST_CASE("verify finds definitions that contradict earlier ones") {
  DefinitionsBuilder s;
  s.Class(1, "app.Node", 0, 32).SiteClass(1, 17, 1).Site(16, 2, 4, 12, 0, 0).Site(2, 1, 0, 0, 0, 0);
  s.Site(17, 2, 9, 30, 0, 1);
  CheckOnly(WithDefinitions(s), "definition that contradicts an earlier one", 5);
}

TEST_CASE("verify finds fields of a class that is not defined") {
  CheckOnly(WithDefinitions(DefinitionsBuilder().Fields(99, {})),
            "undefined site-class pair, site, class or method");
}

TEST_CASE("verify finds fields that an object cannot hold") {
  const std::vector<TestField> impossible[] = {{{"a", "I", 16}, {"b", "I", 12}},  // not by offset
                                               {{"a", "J", 16}, {"b", "I", 20}},  // one over the other
                                               {{"a", "I", 4}},                   // in the mark word
                                               {{"a", "J", 20}},          // beyond the 24 bytes of an instance
                                               {{"a", "Z", UINT64_MAX}},  // far beyond
                                               {{"a", "V", 12}},
                                               {{"a", "", 12}},
                                               {{"a", "[", 12}},  // of no type
                                               {{"a", "Lx", 12}},
                                               {{"a", "L;", 12}}};
  for (const auto& fields : impossible) {
    CAPTURE(fields[0].signature);
    CheckOnly(WithDefinitions(DefinitionsBuilder().Fields(1, fields)), "impossible size or length");
  }
  CheckOnly(WithDefinitions(DefinitionsBuilder().Fields(2, {})),
            "impossible size or length");  // an array class
}

TEST_CASE("fields may be defined again, but not others") {
  DefinitionsBuilder s;
  s.Fields(1, {{"a", "I", 12}}).Fields(1, {{"a", "I", 12}});
  CHECK(Verify(WithDefinitions(s).Flush().file()).errors() == 0);
  CheckOnly(WithDefinitions(s.Fields(1, {{"b", "I", 12}})), "definition that contradicts an earlier one");
}

TEST_CASE("verify finds fields that are cut short") {
  ByteBuffer record;
  record.Uv(1);
  record.Uv(uint64_t{1} << 60);
  record.Str("a");
  CheckOnly(WithDefinitions(DefinitionsBuilder().Record(6, record)), "malformed segment");
}

TEST_CASE("verify finds a length with an object that has none") {
  CheckOnly(WithOnly(Objects().Head(1).Tlab(kEden).WithLength(1, 5)), "impossible size or length");
}

TEST_CASE("verify finds an array longer than Java allows") {
  CheckOnly(WithOnly(Objects().Head(1).Tlab(kEden).WithLength(2, 0x80000000)), "impossible size or length");
}

TEST_CASE("verify finds that the totals of the first sync point are not those of its objects") {
  CheckOnly(WithSync(3, 32), "totals that disagree");
}

TEST_CASE("verify finds that a sync point lists an object outside its space") {
  CheckOnly(WithSync(2, 24), "object outside every space");
}

TEST_CASE("verify finds events of a collection outside of one, and those of a sync point") {
  TraceBuilder b = WithAllocs();
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}}));
  b.Segment(SegmentKind::kSlides, 0, Slide(1, kEden, kEden));
  b.Segment(SegmentKind::kFillers, 0, Filler(kTo, 4, 0));
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {1, 24});
  EndYoung(&b, 0, 17);
  CheckOnly(b, "event in the wrong place", 6);
}

TEST_CASE("verify finds an allocation within a collection") {
  TraceBuilder b = SmallStart();
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(0, 0, 0, 17));
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(1).Tlab(kOld + 17).Fixed(1));
  EndYoung(&b, 0, 20);
  const Verdict verdict = Verify(b.Flush().file());
  CHECK(verdict.count("event in the wrong place") == 1);
  CHECK(verdict.count("totals that disagree") == 1);
  CHECK(verdict.errors() == 2);
}

TEST_CASE("verify finds events behind the end") {
  TraceBuilder b = SmallStart();
  b.End(5000, "x", "{}");
  SmallAllocs(&b);
  CheckOnly(b, "event in the wrong place", 2);
}

TEST_CASE("verify finds a collection that ends as another") {
  TraceBuilder b = SmallStart();
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(0, 0, 0, 17));
  b.Gc(SegmentKind::kGcEnd, 1, 0, "x", 6000, Spaces(0, 0, 0, 17));
  CheckOnly(b, "event in the wrong place");
}

TEST_CASE("verify finds a live object of an unloaded class") {
  TraceBuilder b = WithAllocs();
  BeginYoung(&b);
  b.Numbers(SegmentKind::kClassUnload, 0, {1});
  EndYoung(&b, 0, 17);
  CheckOnly(b, "object of an unloaded class");
}

TEST_CASE("verify finds a new object of an unloaded class") {
  TraceBuilder b = WithAllocs();
  b.Numbers(SegmentKind::kClassUnload, 0, {2});
  b.Segment(SegmentKind::kAlloc, 3, Objects().Head(1).Tlab(kEden + 512).WithLength(2, 10));
  CheckOnly(b, "object of an unloaded class");
}

TEST_CASE("verify finds a new object of an unloaded class also where the size is that of all its objects") {
  TraceBuilder b = WithAllocs();
  b.Numbers(SegmentKind::kClassUnload, 0, {4});
  b.Segment(SegmentKind::kAlloc, 3, Objects().Head(1).Tlab(kEden + 512).Fixed(6));
  CheckOnly(b, "object of an unloaded class");
}

TEST_CASE("verify finds an object smaller than any") {
  DefinitionsBuilder definitions;
  definitions.Class(9, "app.Tiny", 0, 0).SiteClass(9, 16, 9);
  TraceBuilder b = WithDefinitions(definitions);
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(1).Tlab(kEden).Fixed(9));
  CheckOnly(b, "impossible size or length");
}

TEST_CASE("a collection that ends before it begins takes no time") {
  TraceBuilder b = SmallStart();
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(0, 0, 0, 17));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 4000, Spaces(0, 0, 0, 17));
  const CommandResult gcs = Anttracks(b.Flush().file(), {"gcs"});
  CHECK(gcs.out.find(" 0 ns ") != std::string::npos);
}

TEST_CASE("verify finds a gap in the sequence of chunks") {
  TraceBuilder b = SmallStart();
  b.Flush().SkipSequence();
  SmallAllocs(&b);
  CheckOnly(b, "gap in the sequence of chunks");
}

TEST_CASE("a loss is an error, and what follows is not trusted") {
  TraceBuilder b = WithAllocs();
  b.Loss(4000, 3, 3000, "queue full");
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(4500).Tlab(kEden).Fixed(1));
  const Verdict verdict = Verify(b.Flush().file());
  CHECK(verdict.count("events lost by the agent") == 1);
  CHECK(verdict.count("event that cannot be checked after a loss") == 1);
  CHECK(verdict.errors() == 2);
}

TEST_CASE("the end of a collection may be among what was lost") {
  TraceBuilder b = WithAllocs();
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(66, 0, 0, 17));
  b.Loss(5100, 3, 3000, "the bound is reached");
  b.End(5200, "VM death", "{}");
  const Verdict verdict = Verify(b.Flush().file());
  CHECK(verdict.count("events lost by the agent") == 1);
  CHECK(verdict.errors() == 1);
}

TEST_CASE("what follows a collection whose end was damaged is not called out of place") {
  TraceBuilder b = WithAllocs();
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(66, 0, 0, 17));
  b.Flush();
  b.SkipSequence();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(7000).Tlab(kEden + 100).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 1, 0, "x", 8000, Spaces(120, 0, 0, 17));
  const Verdict verdict = Verify(b.Flush().file());
  CHECK(verdict.count("event in the wrong place") == 0);
  CHECK(verdict.count("event that cannot be checked after a loss") == 2);
}

TEST_CASE("a sync point makes the heap exact again after a loss") {
  TraceBuilder b = WithAllocs();
  b.Loss(4000, 3, 3000, "queue full");
  b.SyncBegin(2, 5000, Spaces(0, 0, 0, 17));
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(3, 14).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {2, 136});
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(6000).Tlab(kEden).Fixed(1).Tlab(-1).Fixed(1));
  const Verdict verdict = Verify(b.Flush().file());
  CHECK(verdict.count("events lost by the agent") == 1);
  CHECK(verdict.count("overlapping objects") == 1);
  CHECK(verdict.errors() == 2);
}

TEST_CASE("verify finds a segment that reaches beyond its chunk") {
  TraceBuilder b = SmallStart();
  b.Flush().Chunk(2, std::string("\x01\x01\x7F\x01", 4));
  CheckOnly(b, "malformed segment");
}

TEST_CASE("what follows a segment that reaches beyond its chunk is not trusted") {
  TraceBuilder b = WithAllocs();
  b.Flush().Chunk(2, std::string("\x01\x01\x7F\x01", 4));
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(4500).Tlab(kEden).Fixed(1));
  const Verdict verdict = Verify(b.Flush().file());
  CHECK(verdict.count("malformed segment") == 1);
  CHECK(verdict.count("event that cannot be checked after a loss") == 1);
  CHECK(verdict.errors() == 2);
}

TEST_CASE("verify finds a sync point within a collection also when one has repaired a loss") {
  TraceBuilder b = WithAllocs();
  b.Loss(4000, 3, 3000, "queue full");
  for (const uint64_t time : {5000, 7000}) {
    b.SyncBegin(2, time, Spaces(0, 0, 0, 17));
    b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(3, 14).Fixed(1));
    b.Numbers(SegmentKind::kSyncEnd, 0, {2, 136});
    if (time == 5000) b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 6000, Spaces(0, 0, 0, 17));
  }
  const Verdict verdict = Verify(b.Flush().file());
  CHECK(verdict.count("events lost by the agent") == 1);
  CHECK(verdict.count("event in the wrong place") == 1);
}

TEST_CASE("verify finds ids and lengths that do not fit together") {
  // A run of one object: its id says that it has a length, or has none, and the column of lengths says
  // otherwise.
  ByteBuffer without, with;
  for (ByteBuffer* payload : {&without, &with}) {
    payload->Uv(1);  // time, then share
    payload->Uv(0);
    payload->Sv(static_cast<int64_t>(kEden));
    payload->Uv(1 << 2);
  }
  without.Uv(0);
  without.U16(0x8002);
  with.Uv(1);
  with.U16(1);
  with.U32(5);
  for (const ByteBuffer& payload : {without, with}) {
    TraceBuilder b = SmallStart();
    b.Segment(SegmentKind::kAlloc, 1, payload);
    CheckOnly(b, "malformed segment");
    CHECK(Anttracks(b.Flush().file(), {"verify"})
              .out.find("ids and lengths of a run of objects do not fit together") != std::string::npos);
  }
}

TEST_CASE("a site-class pair whose number has no room in the column of ids is read, and checked") {
  for (const bool defined : {true, false}) {
    TraceBuilder b = SmallStart();
    DefinitionsBuilder s;
    s.SiteClass(40'000, 16, 1).SiteClass(40'001, 17, 2);
    if (defined) b.Segment(SegmentKind::kDefinitions, 0, s.bytes());
    b.Segment(SegmentKind::kAlloc, 1,
              Objects().Head(1).Tlab(kEden).Fixed(40'000).WithLength(40'001, 10).Fixed(1));
    b.Flush();
    if (!defined) {
      CheckOnly(b, "undefined site-class pair, site, class or method");
      continue;
    }
    CHECK(Verify(b.file()).errors() == 0);
    const CommandResult heap = Anttracks(b.file(), {"heap", "--end"});
    CHECK(heap.out.find("5 objects") != std::string::npos);
  }
}

TEST_CASE("two ids of one site and class mean the same pair") {
  TraceBuilder b = SmallStart();
  DefinitionsBuilder s;
  s.SiteClass(40'000, 16, 1).SiteClass(40'001, 17, 2).SiteClass(70, 16, 1).SiteClass(71, 17, 2);
  b.Segment(SegmentKind::kDefinitions, 0, s.bytes());
  b.Segment(SegmentKind::kAlloc, 1,
            Objects().Head(1).Tlab(kEden).Fixed(40'000).WithLength(40'001, 10).Fixed(70).WithLength(71, 10));
  CHECK(Verify(b.Flush().file()).errors() == 0);
  analyzer::Problems problems;
  analyzer::Definitions definitions(problems);
  for (const ByteBuffer& records : {SmallDefinitions().bytes(), s.bytes()})
    definitions.Read(records.span(), analyzer::Position());
  const uint64_t pairs = definitions.site_classes();
  uint32_t first = 0, second = 1;
  for (const uint64_t length : {0, 10}) {
    const uint64_t ids[2][2] = {{40'000, 70}, {40'001, 71}};
    CHECK(definitions.FindShape(ids[length != 0][0], length, &first) == analyzer::ShapeError::kNone);
    CHECK(definitions.FindShape(ids[length != 0][1], length, &second) == analyzer::ShapeError::kNone);
    CHECK(first == second);
  }
  CHECK(definitions.Plain(70).words != 0);
  CHECK(definitions.Unload(1));
  for (const uint64_t id : {40'000, 70})
    CHECK(definitions.FindShape(id, 0, &first) == analyzer::ShapeError::kUnloadedClass);
  CHECK(definitions.Plain(70).words == 0);
  CHECK(pairs == 6);  // those of SmallDefinitions
}

TEST_CASE("a shape that was asked for before is the same, and no other pair's or length's") {
  using analyzer::ShapeError;
  analyzer::Problems problems;
  analyzer::Definitions definitions(problems);
  uint32_t shape = 0;
  // Before anything was asked for, nothing is remembered.
  for (const uint64_t id : {uint64_t{0}, uint64_t{UINT64_MAX}}) {
    CHECK(definitions.FindShape(id, 0, &shape) == ShapeError::kUndefinedSiteClass);
    CHECK(definitions.FindShape(id, UINT64_MAX, &shape) == ShapeError::kUndefinedSiteClass);
  }
  constexpr uint64_t kPairs = 100, kLengths = 200;
  DefinitionsBuilder s;
  for (uint64_t id = 1; id <= kPairs; id++)
    s.Class(id, "[I", trace::kClassArray, 0, 16, 2).SiteClass(id, 1, id);
  definitions.Read(s.bytes().span(), analyzer::Position());
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> shapes;
  for (int round = 0; round < 3; round++) {
    for (uint64_t id = 1; id <= kPairs; id++) {
      for (uint64_t length = 0; length < kLengths; length++) {
        REQUIRE(definitions.FindShape(id, length, &shape) == ShapeError::kNone);
        REQUIRE(shapes.try_emplace({id, length}, shape).first->second == shape);
        REQUIRE(definitions.shapes()[shape].site_class == id);
        REQUIRE(definitions.shapes()[shape].length == length);
      }
    }
  }
  CHECK(definitions.shapes().size() == kPairs * kLengths);
  CHECK(definitions.FindShape(7, 8, &shape) == ShapeError::kNone);
  CHECK(definitions.Unload(7));
  CHECK(definitions.FindShape(7, 8, &shape) == ShapeError::kUnloadedClass);
  CHECK(definitions.FindShape(8, 8, &shape) == ShapeError::kNone);
  CHECK(problems.total() == 0);
}

TEST_CASE("what stays where it is after a failed promotion stays in the heap") {
  TraceBuilder b = WithAllocs();
  BeginYoung(&b);
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}}));
  b.Segment(SegmentKind::kSlides, 0, Slide(2, kEden + 3, kEden + 3));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(66, 0, 3, 17));
  b.Flush();
  CHECK(Verify(b.file()).errors() == 0);
  const CommandResult objects = Anttracks(b.file(), {"heap", "--objects"});
  CHECK(objects.out ==
        "0x10000018\tapp.Node\t24\tapp.List.add(List.java:12)\n"
        "0x10000030\tint[]\t56\tapp.Main.run(Main.java:30)\n"
        "0x10180000\tapp.Node\t24\tapp.List.add(List.java:12)\n"
        "0x10200000\tjava.lang.Class\t112\t<unknown>\n"
        "0x10200070\tapp.Node\t24\tapp.List.add(List.java:12)\n");
}

TEST_CASE("segments, definitions and chunks of unknown types are skipped") {
  TraceBuilder b = SmallStart();
  ByteBuffer bytes;
  bytes.Str("later");
  DefinitionsBuilder s;
  s.Record(99, bytes);
  b.Segment(static_cast<SegmentKind>(77), 5, bytes).Segment(SegmentKind::kDefinitions, 0, s.bytes());
  CHECK(Verify(b.Flush().Chunk(77, "later").file()).errors() == 0);
}

TEST_CASE("verify prints the place, kind and text of what it finds") {
  TraceBuilder b = WithAllocs();
  b.Segment(SegmentKind::kAlloc, 3, Objects().Head(1).Tlab(kEden + 1).Fixed(6));
  const CommandResult result = Anttracks(b.Flush().file(), {"verify"});
  CHECK(result.code == 1);
  const size_t chunk = TraceBuilder().Meta(kEden * 8, kHeapEnd * 8).file().size();
  CHECK(result.out.find("TRACE: chunk at " + std::to_string(chunk) + ", byte ") == 0);
  CHECK(result.out.find(": overlapping objects: java.lang.Object at 0x10000008 with 16 bytes overlaps another "
                        "object\n") != std::string::npos);
  const auto first = nlohmann::json::parse(Anttracks(b.file(), {"verify", "--json"}).out)["first"][0];
  CHECK(first["chunk_offset"] == chunk);
  CHECK(first["payload_offset"] > 0);
  CHECK(first["payload_offset"] != chunk);
}

TEST_CASE("verify --max-errors limits what is printed, not what is counted") {
  TraceBuilder b = SmallStart();
  b.End(5000, "x", "{}");
  SmallAllocs(&b);
  const CommandResult result = Anttracks(b.Flush().file(), {"verify", "--max-errors", "1"});
  CHECK(result.out.find("... and 1 more") != std::string::npos);
  CHECK(result.out.find("2 errors") != std::string::npos);
}

}  // namespace
}  // namespace anttracks::testing
