// SPDX-License-Identifier: Apache-2.0
// Where a share of the stretches was skipped, the heap is exact after each collection, and verify finds what
// cannot be.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/analyzer/skipped_trace.h"

namespace anttracks::testing {
namespace {

nlohmann::json Verdict(TraceBuilder b) {
  return nlohmann::json::parse(Anttracks(b.Flush().file(), {"verify", "--json"}).out);
}

void CheckOnly(const TraceBuilder& b, const std::string& kind) {
  const nlohmann::json json = Verdict(b);
  INFO(json.dump());
  CHECK(json["errors"] == 1);
  CHECK(json["by_kind"].value(kind, 0) == 1);
}

TEST_CASE("what a collection finds in skipped stretches is in the heap, with the thread that allocated it") {
  CHECK(Verdict(SkippedTrace())["errors"] == 0);
  const std::string trace = SkippedTrace().file();
  const CommandResult young = Anttracks(trace, {"heap", "--gc", "0", "--objects"});
  CHECK(young.code == 0);
  CHECK(std::count(young.out.begin(), young.out.end(), '\n') ==
        5);  // the mirror, the old Node, and three that were moved
  const auto by_thread =
      nlohmann::json::parse(Anttracks(trace, {"heap", "--gc", "0", "--by", "thread", "--json"}).out);
  CHECK(by_thread["exact"] == true);
  bool seen = false;
  for (const auto& row : by_thread["rows"]) {
    if (row["thread"].get<std::string>().find("main") == std::string::npos) continue;
    CHECK(row["objects"] == 3);
    seen = true;
  }
  CHECK(seen);
  const auto gcs = nlohmann::json::parse(Anttracks(trace, {"gcs", "--json"}).out)["gcs"];
  CHECK(gcs[0]["exact"] == true);
  CHECK(gcs[0]["moved"]["objects"] == 3);
  CHECK(gcs[0]["live"]["objects"] == 5);
  CHECK(gcs[1]["live"]["objects"] == 3);
}

TEST_CASE("what was skipped and read is told in bytes") {
  const std::string trace = SkippedTrace().file();
  const auto sites = nlohmann::json::parse(Anttracks(trace, {"sites", "--json"}).out);
  CHECK(sites["estimated"] == true);
  CHECK(sites["skipped_bytes"] == 160);
  CHECK(sites["chosen_bytes"] == 88);
  uint64_t low = 0;
  for (const auto& row : sites["sites"]) low += row["objects_low"].get<uint64_t>();
  CHECK(low > 0);
  CHECK(sites["objects_low"] == low);
  const CommandResult csv = Anttracks(trace, {"gcs", "--csv"});
  CHECK(csv.err == "note: where bytes were skipped, more objects died than are counted\n");
  CHECK(nlohmann::json::parse(Anttracks(trace, {"gcs", "--json"}).out)["gcs"][0]["skipped_bytes"] == 160);
  const std::string info = Anttracks(trace, {"info"}).out;
  CHECK(info.find("\n  skipped       160 B, ") != std::string::npos);
}

TEST_CASE("what was not read since the last collection is told in bytes, and makes the end not exact") {
  const std::string trace = SkippedStart().Flush().file();
  const CommandResult heap = Anttracks(trace, {"heap", "--end"});
  CHECK(heap.out.find(" (without 160 B that were allocated since the last collection and not read)\n") !=
        std::string::npos);
  const auto json = nlohmann::json::parse(Anttracks(trace, {"heap", "--end", "--json"}).out);
  CHECK(json["exact"] == false);
  CHECK(json["unknown_bytes"] == 160);
  const auto sites = nlohmann::json::parse(Anttracks(trace, {"sites", "--live", "--json"}).out);
  CHECK(sites["live"]["exact"] == false);
}

TEST_CASE("an object found where nothing was skipped is an error") {
  CheckOnly(WithFound({{{kEden + 26, kTo + 3, 0, 3}, 1, 0}}, 3, 17),
            "move from an address that holds no object");
}

TEST_CASE("an object that reaches beyond the stretch it is found in is an error") {
  CheckOnly(WithFound({{{kEden + 24, kTo + 3, 0, 3}, 1, 0}}, 3, 17),
            "move from an address that holds no object");
}

TEST_CASE("an object found within another one is an error") {
  CheckOnly(WithFound({{{kEden + 8, kTo + 3, 0, 7}, 2, 10}, {{kEden + 12, kTo + 10, 0, 3}, 1, 0}}, 10, 17),
            "object moved twice in one collection");
}

TEST_CASE("an object in a stretch that was skipped is an error") {
  TraceBuilder b = SkippedStart();
  b.Segment(SegmentKind::kAlloc, 2, Objects().Head(4000).Tlab(kEden + 24).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(66, 0, 0, 17));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(0, 0, 0, 17));
  CheckOnly(b, "overlapping objects");
}

TEST_CASE("stretches that overlap are an error") {
  TraceBuilder b = SkippedStart();
  b.Segment(SegmentKind::kAlloc, 2, Objects().Head(4000).Skipped(kEden + 20, 8));
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(66, 0, 0, 17));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(0, 0, 0, 17));
  CheckOnly(b, "overlapping objects");
}

TEST_CASE("a full collection must know all objects") {
  TraceBuilder b = SkippedStart();
  b.Gc(SegmentKind::kGcBegin, 1, 1, "x", 5000, Spaces(66, 0, 0, 17, true));
  b.Segment(SegmentKind::kSlides, 0, Slide(2, kOld, kOld));
  b.Gc(SegmentKind::kGcEnd, 1, 1, "x", 6000, Spaces(0, 0, 0, 17));
  CheckOnly(b, "event in the wrong place");
}

TEST_CASE("an object found by a full collection is an error") {
  TraceBuilder b = SkippedStart();
  b.Gc(SegmentKind::kGcBegin, 0, 1, "x", 5000, Spaces(66, 0, 0, 17, true));
  b.Segment(SegmentKind::kSlides, 0, Slide(2, kOld, kOld));
  b.Segment(SegmentKind::kFound, 0, Found({{{kEden + 20, kTo + 3, 0, 3}, 1, 0}}));
  b.Gc(SegmentKind::kGcEnd, 0, 1, "x", 6000, Spaces(0, 0, 0, 17));
  const nlohmann::json json = Verdict(b);
  CHECK(json["by_kind"].value("move from an address that holds no object", 0) == 1);
  CHECK(json["first"].dump().find("a full collection must know its objects") != std::string::npos);
}

TEST_CASE("skipped stretches outside the heap, or of nothing, are errors") {
  for (const uint64_t words : {uint64_t{0}, uint64_t{1} << 40, UINT64_MAX}) {
    TraceBuilder b = SmallStart();
    b.Segment(SegmentKind::kAlloc, 1, Objects().Head(2000, kHalf).Skipped(kEden, words));
    CheckOnly(b, "object outside the heap");
  }
}

}  // namespace
}  // namespace anttracks::testing
