// SPDX-License-Identifier: Apache-2.0
// A heap of regions: what a pause collects is known when it ends; remark frees regions; humongous objects.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/analyzer/rotated_trace.h"

namespace anttracks::testing {
namespace {

constexpr uint64_t kEdenKind = 0, kSurvivorKind = 1, kOldKind = 2, kHumongousKind = 3;
constexpr uint64_t kNo = 0, kYes = 1, kOptional = 2;
constexpr uint64_t kYoungGc = 0, kRemark = 3, kMixed = 4;

// Four regions of 512 words, then two that one humongous int[] spans.
constexpr uint64_t kWords = 512;
constexpr uint64_t Region(uint64_t number) { return kEden + number * kWords; }
constexpr uint64_t kBig = Region(4), kBigEnd = Region(6), kBigLength = 2 * 1014;  // 2 + 1014 words

TestSpace At(uint64_t kind, uint64_t collected, uint64_t number, uint64_t used) {
  return {kind, collected, Region(number), Region(number) + used, Region(number + 1)};
}
TestSpace Big(uint64_t collected) { return {kHumongousKind, collected, kBig, kBig + 1016, kBigEnd}; }
TestSpace BigFreed() { return {kOldKind, kOptional, kBig, kBig, kBigEnd}; }

// Region 0: eden with two Nodes. 1 and 2: old with a Node each. 4 and 5: the humongous array.
TraceBuilder Start() {
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8);
  b.Segment(SegmentKind::kDefinitions, 0, SmallDefinitions().bytes());
  b.SyncBegin(0, 1000, {At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), Big(kNo)});
  b.Segment(SegmentKind::kSyncObjects, 0, Objects().Tlab(static_cast<int64_t>(Region(1))).Fixed(1));
  b.Segment(SegmentKind::kSyncObjects, 1, Objects().Tlab(static_cast<int64_t>(Region(2))).Fixed(1));
  b.Segment(SegmentKind::kSyncObjects, 2, Objects().Tlab(static_cast<int64_t>(kBig)).WithLength(2, kBigLength));
  b.Numbers(SegmentKind::kSyncEnd, 0, {3, (3 + 3 + 1016) * 8});
  b.Segment(SegmentKind::kAlloc, 1,
            Objects().Head(2000).Tlab(static_cast<int64_t>(Region(0))).Fixed(1).Fixed(1));
  return b;
}

std::vector<TestSpace> Before() {
  return {At(kEdenKind, kYes, 0, 6), At(kOldKind, kOptional, 1, 3), At(kOldKind, kOptional, 2, 3),
          Big(kOptional)};
}

nlohmann::json Json(TraceBuilder b, const std::string& command) {
  const CommandResult result = Anttracks(b.Flush().file(), {command, "--json"});
  INFO(result.err);
  CHECK(result.code == 0);
  return nlohmann::json::parse(result.out);
}

uint64_t Errors(TraceBuilder b) {
  return nlohmann::json::parse(Anttracks(b.Flush().file(), {"verify", "--json"}).out)["errors"];
}

TEST_CASE("a mixed pause collects the optional regions that its end names, and no others") {
  TraceBuilder b = Start();
  b.Gc(SegmentKind::kGcBegin, 7, kMixed, "G1 Evacuation Pause", 3000, Before());
  b.Segment(SegmentKind::kMoves, 0, Moves({{Region(0), Region(3), 0, 3}, {Region(1), Region(3) + 3, 0, 3}}));
  b.Gc(SegmentKind::kGcEnd, 7, kMixed, "G1 Evacuation Pause", 4000,
       {At(kOldKind, kOptional, 1, 0), At(kOldKind, kNo, 2, 3), At(kSurvivorKind, kNo, 3, 6), Big(kNo)});
  const auto gc = Json(b, "gcs")["gcs"][0];
  CHECK(gc["kind"] == "mixed");
  CHECK(gc["moved"]["objects"] == 2);
  CHECK(gc["died"]["objects"] == 1);
  CHECK(gc["live"]["objects"] == 4);
  CHECK(Errors(b) == 0);
}

TEST_CASE("a humongous object that a pause frees takes its whole space with it") {
  TraceBuilder b = Start();
  b.Gc(SegmentKind::kGcBegin, 7, kYoungGc, "x", 3000, Before());
  b.Gc(SegmentKind::kGcEnd, 7, kYoungGc, "x", 4000,
       {At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), BigFreed()});
  b.Segment(SegmentKind::kAlloc, 2, Objects().Head(5000).Tlab(static_cast<int64_t>(Region(5))).Fixed(1));
  const auto gc = Json(b, "gcs")["gcs"][0];
  CHECK(gc["died"]["objects"] == 3);
  CHECK(gc["died"]["bytes"] == (3 + 3 + 1016) * 8);
  CHECK(gc["bytes_after"] == 48);
  CHECK(Errors(b) == 0);
}

TEST_CASE("remark frees regions and moves nothing; ids need not ascend") {
  TraceBuilder b = Start();
  b.Gc(SegmentKind::kGcBegin, 9, kYoungGc, "x", 2500,
       {At(kEdenKind, kYes, 0, 6), At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), Big(kNo)});
  b.Gc(SegmentKind::kGcEnd, 9, kYoungGc, "x", 2600,
       {At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), Big(kNo)});
  b.Gc(SegmentKind::kGcBegin, 5, kRemark, "marking", 3000,
       {At(kOldKind, kOptional, 1, 3), At(kOldKind, kOptional, 2, 3), Big(kOptional)});
  b.Gc(SegmentKind::kGcEnd, 5, kRemark, "marking", 4000,
       {At(kOldKind, kNo, 1, 3), At(kOldKind, kOptional, 2, 0), Big(kNo)});
  const auto gc = Json(b, "gcs")["gcs"][1];
  CHECK(gc["kind"] == "remark");
  CHECK(gc["died"]["objects"] == 1);
  CHECK(gc["live"]["objects"] == 2);
  CHECK(Errors(b) == 0);
  CHECK(Json(b, "info")["remark_gcs"] == 1);
}

TEST_CASE("dead objects of unloaded classes may stay until a full collection") {
  TraceBuilder b = Start();
  b.Gc(SegmentKind::kGcBegin, 5, kRemark, "marking", 3000,
       {At(kEdenKind, kNo, 0, 6), At(kOldKind, kOptional, 1, 3), At(kOldKind, kOptional, 2, 3), Big(kNo)});
  b.Numbers(SegmentKind::kClassUnload, 0, {1});
  b.Gc(SegmentKind::kGcEnd, 5, kRemark, "marking", 4000,
       {At(kEdenKind, kNo, 0, 6), At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), Big(kNo)});
  CHECK(Errors(b) == 0);
}

TEST_CASE("what is moved away from a region that was not collected is an error") {
  TraceBuilder b = Start();
  b.Gc(SegmentKind::kGcBegin, 7, kMixed, "x", 3000, Before());
  b.Segment(SegmentKind::kMoves, 0, Moves({{Region(1), Region(3), 0, 3}}));
  b.Gc(SegmentKind::kGcEnd, 7, kMixed, "x", 4000,
       {At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), At(kSurvivorKind, kNo, 3, 3), Big(kNo)});
  CHECK(Errors(b) == 1);
}

TEST_CASE("an object of an optional region that could not be evacuated stays") {
  TraceBuilder b = Start();
  b.Gc(SegmentKind::kGcBegin, 7, kMixed, "x", 3000, Before());
  b.Segment(SegmentKind::kSlides, 0, Slide(1, Region(1), Region(1)));
  b.Gc(SegmentKind::kGcEnd, 7, kMixed, "x", 4000,
       {At(kOldKind, kOptional, 1, 3), At(kOldKind, kNo, 2, 3), Big(kNo)});
  const auto gc = Json(b, "gcs")["gcs"][0];
  CHECK(gc["stayed"]["objects"] == 1);
  CHECK(gc["live"]["objects"] == 3);
  CHECK(Errors(b) == 0);
}

// After a collection that leaves all but what is in eden.
TraceBuilder AfterYoung() {
  TraceBuilder b = Start();
  b.Gc(SegmentKind::kGcBegin, 7, kYoungGc, "x", 3000,
       {At(kEdenKind, kYes, 0, 6), At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), Big(kNo)});
  b.Gc(SegmentKind::kGcEnd, 7, kYoungGc, "x", 4000,
       {At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), Big(kNo)});
  return b;
}

// Then a sync point that lists only the Node of region 2.
TraceBuilder WithSync(uint64_t collected) {
  TraceBuilder b = AfterYoung();
  b.SyncBegin(2, 4100, {At(kOldKind, collected, 1, 3), At(kOldKind, collected, 2, 3), Big(collected)});
  b.Segment(SegmentKind::kSyncObjects, 1, Objects().Tlab(static_cast<int64_t>(Region(2))).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {1, 24});
  b.Gc(SegmentKind::kGcBegin, 8, kYoungGc, "x", 5000,
       {At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), Big(kNo)});
  b.Gc(SegmentKind::kGcEnd, 8, kYoungGc, "x", 5100,
       {At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), Big(kNo)});
  return b;
}

TEST_CASE("a sync point may leave out the dead where it says so, and then they are gone") {
  const auto gc = Json(WithSync(kOptional), "gcs")["gcs"][1];
  CHECK(gc["live"]["objects"] == 1);
  CHECK(Errors(WithSync(kOptional)) == 0);
  CHECK(Errors(WithSync(kNo)) == 2);
}

// The dead array's regions are freed, and in use again, before the end of the sync point that leaves it out,
// which comes within another collection.
TEST_CASE("a sync point drops nothing that came into regions which were freed since it began") {
  TraceBuilder b = AfterYoung();
  b.SyncBegin(2, 4100, {At(kOldKind, kOptional, 1, 3), At(kOldKind, kOptional, 2, 3), Big(kOptional)});
  b.Gc(SegmentKind::kGcBegin, 8, kYoungGc, "x", 5000,
       {At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), Big(kOptional)});
  b.Gc(SegmentKind::kGcEnd, 8, kYoungGc, "x", 5100,
       {At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), BigFreed()});
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(5200).Tlab(static_cast<int64_t>(kBig)).Fixed(1).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 9, kYoungGc, "x", 6000,
       {At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), At(kEdenKind, kYes, 4, 6)});
  b.Segment(SegmentKind::kSyncObjects, 1, Objects().Tlab(static_cast<int64_t>(Region(2))).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {1, 24});
  b.Segment(SegmentKind::kMoves, 0, Moves({{Region(4), Region(3), 0, 3}}));
  b.Gc(SegmentKind::kGcEnd, 9, kYoungGc, "x", 6100,
       {At(kOldKind, kNo, 1, 3), At(kOldKind, kNo, 2, 3), At(kSurvivorKind, kNo, 3, 3)});
  const auto gc = Json(b, "gcs")["gcs"][2];
  CHECK(gc["moved"]["objects"] == 1);
  CHECK(gc["live"]["objects"] == 2);
  CHECK(Errors(b) == 0);
}

// Region 1, whose Node is dead and left out, or alive, listed and moved to region 3, is taken by a mixed
// collection and in use again before region 2 is listed.
TEST_CASE("a mixed collection may come before the end of a sync point") {
  for (const bool alive : {false, true}) {
    CAPTURE(alive);
    TraceBuilder b = AfterYoung();
    b.SyncBegin(2, 4100, {At(kOldKind, kOptional, 1, 3), At(kOldKind, kOptional, 2, 3), Big(kOptional)});
    b.Segment(SegmentKind::kSyncObjects, 2,
              Objects().Tlab(static_cast<int64_t>(kBig)).WithLength(2, kBigLength));
    if (alive)
      b.Segment(SegmentKind::kSyncObjects, 0, Objects().Tlab(static_cast<int64_t>(Region(1))).Fixed(1));
    b.Gc(SegmentKind::kGcBegin, 8, kMixed, "x", 5000,
         {At(kOldKind, kYes, 1, 3), At(kOldKind, kNo, 2, 3), Big(kNo)});
    if (alive) b.Segment(SegmentKind::kMoves, 0, Moves({{Region(1), Region(3), 0, 3}}));
    const TestSpace moved = At(kOldKind, kNo, 3, alive ? 3 : 0);
    b.Gc(SegmentKind::kGcEnd, 8, kMixed, "x", 5100, {At(kOldKind, kNo, 2, 3), moved, Big(kNo)});
    b.Segment(SegmentKind::kAlloc, 1,
              Objects().Head(5200).Tlab(static_cast<int64_t>(Region(1))).Fixed(1).Fixed(1));
    b.Segment(SegmentKind::kSyncObjects, 1, Objects().Tlab(static_cast<int64_t>(Region(2))).Fixed(1));
    b.Numbers(SegmentKind::kSyncEnd, 0, {alive ? 3u : 2u, (3 + 1016 + (alive ? 3 : 0)) * 8});
    b.Gc(SegmentKind::kGcBegin, 9, kYoungGc, "x", 6000,
         {At(kEdenKind, kNo, 1, 6), At(kOldKind, kNo, 2, 3), moved, Big(kNo)});
    b.Gc(SegmentKind::kGcEnd, 9, kYoungGc, "x", 6100,
         {At(kEdenKind, kNo, 1, 6), At(kOldKind, kNo, 2, 3), moved, Big(kNo)});
    const auto gc = Json(b, "gcs")["gcs"][2];
    CHECK(gc["live"]["objects"] == (alive ? 5 : 4));
    CHECK(Errors(b) == 0);
  }
}

TEST_CASE("what a sync point leaves out leaves its room, behind the page where it began, too") {
  TraceBuilder b = WithSync(kOptional);
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(6000).Tlab(static_cast<int64_t>(Region(5))).Fixed(1));
  CHECK(Errors(b) == 0);
}

TEST_CASE("unknown kinds of collections and spaces are refused") {
  for (const auto& [gc_kind, space_kind, collected] : {std::tuple{5, 0, 0}, {2, 0, 0}, {0, 5, 0}, {0, 0, 3}}) {
    TraceBuilder b = Start();
    const TestSpace space{static_cast<uint64_t>(space_kind), static_cast<uint64_t>(collected), Region(0),
                          Region(0) + 6, Region(1)};
    b.Gc(SegmentKind::kGcBegin, 7, static_cast<uint64_t>(gc_kind), "x", 3000, {space});
    CHECK(Errors(b) > 0);
  }
}

}  // namespace
}  // namespace anttracks::testing
