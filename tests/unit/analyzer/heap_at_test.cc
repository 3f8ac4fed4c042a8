// SPDX-License-Identifier: Apache-2.0
// The heap after the last collection, whatever follows it, in one pass where that is possible.
#include "analyzer/passes/heap_at.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyzer/passes/pass.h"
#include "tests/unit/analyzer/small_trace.h"
#include "trace/reader.h"

namespace anttracks::testing {
namespace {

using analyzer::HeapAt;

// Up to the end of collection 0.
TraceBuilder OneGc() {
  TraceBuilder b = SmallStart();
  SmallAllocs(&b);
  b.Gc(SegmentKind::kGcBegin, 0, 0, "Allocation Failure", 5000, Spaces(66, 0, 0, 17));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}, {kEden + 6, kOld + 17, 1, 7}}));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "Allocation Failure", 9000, Spaces(0, 0, 3, 24));
  return b;
}

TraceBuilder WithAllocations() {
  TraceBuilder b = OneGc();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(10000).Tlab(kEden).Fixed(1).Fixed(1));
  b.Segment(SegmentKind::kAlloc, 2, Objects().Head(11000).Tlab(kEden + 32).Fixed(6));
  return b;
}

TraceBuilder WithAnUnfinishedGc() {
  TraceBuilder b = WithAllocations();
  b.Gc(SegmentKind::kGcBegin, 1, 0, "Allocation Failure", 20000, Spaces(66, 0, 3, 24));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kFrom, 0, 3}, {kTo, kFrom + 3, 0, 3}}));
  return b;
}

// The old generation is listed without what the collection moved there.
TraceBuilder WithASyncPoint() {
  TraceBuilder b = WithAllocations();
  b.SyncBegin(2, 20000, Spaces(66, 0, 3, 24));
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(3, 14).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {2, 136});
  return b;
}

TraceBuilder WithALoss() {
  TraceBuilder b = WithAllocations();
  return b.Loss(20000, 1, 100, "queue full");
}

TraceBuilder WithAContradiction() {
  TraceBuilder b = WithAllocations();
  return b.Segment(SegmentKind::kAlloc, 1, Objects().Head(20000).Tlab(kEden + 1).Fixed(1));
}

bool Overrun(TraceBuilder b) {
  const TempFile file(b.Flush().file());
  auto reader = trace::TraceReader::Open({file.path()});
  REQUIRE(reader.ok());
  analyzer::Problems problems;
  analyzer::Definitions definitions(problems);
  HeapAt heap(definitions, problems, {HeapAt::Moment::Kind::kLastGc, 0});
  CHECK(analyzer::Pass<HeapAt>(**reader, definitions, problems, heap).Run().fatal.ok());
  return heap.overrun();
}

TEST_CASE("allocations after the last collection are left out, anything else takes a second pass") {
  CHECK_FALSE(Overrun(OneGc()));
  CHECK_FALSE(Overrun(WithAllocations()));
  CHECK(Overrun(WithAnUnfinishedGc()));
  CHECK(Overrun(WithASyncPoint()));
  CHECK(Overrun(WithALoss()));
  CHECK(Overrun(WithAContradiction()));
}

TEST_CASE("the heap after the last collection is the one after that collection by its id") {
  const std::vector<std::vector<std::string>> kOptions{
      {"--by", "class"}, {"--by", "site"}, {"--by", "thread"}, {"--by", "space"},
      {"--by", "age"},   {"--objects"},    {"--json"},         {"--by", "site", "--csv"}};
  for (TraceBuilder b : {OneGc(), WithAllocations(), WithAnUnfinishedGc(), WithASyncPoint(), WithALoss(),
                         WithAContradiction()}) {
    const std::string trace = b.Flush().file();
    for (std::vector<std::string> words : kOptions) {
      CAPTURE(words[0]);
      words.insert(words.begin(), "heap");
      const CommandResult last = Anttracks(trace, words);
      words.insert(words.end(), {"--gc", "0"});
      const CommandResult by_id = Anttracks(trace, words);
      CHECK(last.out == by_id.out);
      CHECK(last.code == 0);
      CHECK(by_id.code == 0);
    }
  }
}

// As WithAllocations, and a collection of that kind whose end is missing. What stays where it is is told by
// slides.
TraceBuilder Cut(uint64_t kind) {
  const bool full = kind == 1;
  TraceBuilder b = WithAllocations();
  std::vector<TestSpace> spaces = Spaces(66, 0, 3, 24, full);
  spaces[2].collected = 1;  // of the survivors
  b.Gc(SegmentKind::kGcBegin, 1, kind, "x", 20000, spaces);
  if (full) {
    b.Segment(SegmentKind::kSlides, 0, Slide(2, kOld, kOld));
    b.Segment(SegmentKind::kSlides, 1, Slide(1, kEden, kOld + 24));
    return b;
  }
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kFrom, 0, 3}, {kTo, kFrom + 3, 0, 3}}));
  b.Segment(SegmentKind::kSlides, 0, Slide(1, kEden + 3, kEden + 3));
  return b;
}

TEST_CASE("a collection whose end is missing leaves each object once") {
  const std::string before = WithAllocations().Flush().file();
  for (const uint64_t kind : {0, 1}) {
    CAPTURE(kind);
    const std::string cut = Cut(kind).Flush().file();
    const auto json = [](const std::string& trace, const std::vector<std::string>& words) {
      const CommandResult result = Anttracks(trace, words);
      CHECK(result.code == 0);
      return nlohmann::json::parse(result.out);
    };
    for (const char* by : {"class", "site", "thread"}) {
      const auto then = json(before, {"heap", "--end", "--json", "--by", by}),
                 now = json(cut, {"heap", "--end", "--json", "--by", by});
      CHECK(then["objects"] == 7);
      CHECK(now["objects"] == then["objects"]);
      CHECK(now["bytes"] == then["bytes"]);
      CHECK(now["rows"] == then["rows"]);
    }
    CHECK(Anttracks(cut, {"sites", "--live", "--csv"}).out ==
          Anttracks(before, {"sites", "--live", "--csv"}).out);
    CHECK(Anttracks(cut, {"verify"}).out.find("7 objects live at the end: no errors") != std::string::npos);
    // A young collection has moved it; a full one has not put it there yet.
    const std::string address = kind == 0 ? "0x10100000" : "0x10000000";
    const CommandResult object = Anttracks(cut, {"object", address});
    CHECK(object.code == 0);
    CHECK(object.out.find("app.Node") != std::string::npos);
    CHECK((object.out.find("moved") != std::string::npos) == (kind == 0));
  }
}

TEST_CASE("heap --objects prints each object once, however many there are") {
  constexpr size_t kObjects = 40'000;  // more than are written at once
  TraceBuilder b = SmallStart();
  Objects objects = Objects().Head(2000).Tlab(kEden);
  for (size_t i = 0; i < kObjects; i++) objects.Fixed(1);
  const std::string trace = b.Segment(SegmentKind::kAlloc, 1, objects).Flush().file();
  const auto lines = [](const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  CHECK(lines(Anttracks(trace, {"heap", "--objects"}).out) == kObjects + 2);
  CHECK(lines(Anttracks(trace, {"heap", "--objects", "--csv"}).out) == kObjects + 3);
  const auto json = nlohmann::json::parse(Anttracks(trace, {"heap", "--objects", "--json"}).out);
  CHECK(json["objects"] == kObjects + 2);
  CHECK(json["rows"].size() == kObjects + 2);
}

TEST_CASE("the second pass tells of damage that the first one met") {
  TraceBuilder b = WithALoss();
  b.Flush();
  b.SkipSequence();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(30000).Tlab(kEden + 40).Fixed(1));
  const CommandResult result = Anttracks(b.Flush().file(), {"heap"});
  CHECK(result.code == 4);
  CHECK(result.out == Anttracks(WithAllocations().Flush().file(), {"heap"}).out);
}

}  // namespace
}  // namespace anttracks::testing
