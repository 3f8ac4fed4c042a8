// SPDX-License-Identifier: Apache-2.0
// How long objects live, what copying them costs, and the ledger that checks it.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "analyzer/passes/pretenure_list.h"
#include "tests/unit/analyzer/rotated_trace.h"
#include "tests/unit/analyzer/sampled_trace.h"
#include "tests/unit/analyzer/skipped_trace.h"

namespace anttracks::testing {
namespace {

using analyzer::PretenuredSite;
using analyzer::PretenuredSites;
using analyzer::SitePromotion;
using Json = nlohmann::json;

Json Report(const std::string& trace, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"lifetimes", "--json"});
  const CommandResult result = Anttracks(trace, std::move(options));
  INFO(result.err);
  CHECK(result.code == 0);
  return Json::parse(result.out);
}

// By the key of a row, site and class or class alone; a row that is not there is null.
Json RowOf(const Json& report, const std::string& site, const std::string& type) {
  for (const Json& row : report["rows"]) {
    if (row.value("site", site) == site && row["class"] == type) return row;
  }
  return {};
}
Json Nodes(const Json& report) { return RowOf(report, "app.List.add(List.java:12)", "app.Node"); }
Json Totals(uint64_t objects, uint64_t bytes) { return {{"objects", objects}, {"bytes", bytes}}; }
// Objects with that many bytes each.
Json Times(uint64_t objects, uint64_t bytes_each) { return Totals(objects, objects * bytes_each); }

// All that was allocated or listed died or is live or was lost, in each row.
void CheckRowsBalance(const Json& report) {
  for (const Json& row : report["rows"]) {
    for (const char* unit : {"objects", "bytes"}) {
      uint64_t sum = 0;
      for (const char* fate : {"died_young", "died_old", "live", "lost"}) {
        if (row.contains(fate)) sum += row[fate][unit].get<uint64_t>();
      }
      CAPTURE(row.dump());
      CHECK(row[unit] == sum);
    }
  }
  CHECK(report["ledger"]["balances"] == true);
  CHECK(report["ledger"]["imbalances"] == 0);
}

constexpr uint64_t kNode = 24;

// Survivors go from kTo to kFrom or to the old space.
std::vector<TestSpace> FromTo(uint64_t eden, uint64_t to, uint64_t old) {
  return {{0, 1, kEden, kEden + eden, kFrom},
          {1, 0, kFrom, kFrom, kTo},
          {1, 1, kTo, kTo + to, kOld},
          {2, 0, kOld, kOld + old, kHeapEnd}};
}

// Five Nodes survive collection 0. Collection 1 promotes the first `promoted` of them, the others die. Of the
// promoted ones, full collection 2 finds all dead but the second.
std::string Tenured(uint64_t promoted) {
  TraceBuilder b = SmallStart();
  b.Segment(SegmentKind::kAlloc, 1,
            Objects().Head(2000).Tlab(kEden).Fixed(1).Fixed(1).Fixed(1).Fixed(1).Fixed(1).Fixed(6));
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(17, 0, 0, 17));
  std::vector<TestMove> moves;
  for (uint64_t i = 0; i < 5; i++) moves.push_back({kEden + 3 * i, kTo + 3 * i, 0, 3});
  b.Segment(SegmentKind::kMoves, 0, Moves(moves));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(0, 0, 15, 17));
  b.Gc(SegmentKind::kGcBegin, 1, 0, "x", 10000, FromTo(0, 15, 17));
  moves.clear();
  for (uint64_t i = 0; i < promoted; i++) moves.push_back({kTo + 3 * i, kOld + 17 + 3 * i, 1, 3});
  b.Segment(SegmentKind::kMoves, 0, Moves(moves));
  b.Gc(SegmentKind::kGcEnd, 1, 0, "x", 11000, FromTo(0, 0, 17 + 3 * promoted));
  b.Gc(SegmentKind::kGcBegin, 2, 1, "x", 20000, Spaces(0, 0, 0, 17 + 3 * promoted, true));
  b.Segment(SegmentKind::kSlides, 0, Slide(2, kOld, kOld));
  b.Segment(SegmentKind::kSlides, 0, Slide(1, kOld + 20, kOld + 17));
  b.Gc(SegmentKind::kGcEnd, 2, 1, "x", 21000, Spaces(0, 0, 0, 20));
  b.End(40000, "VM death", "{}");
  return b.Flush().file();
}

TEST_CASE("an object's death is young or old by the space that it lay in") {
  const Json report = Report(Tenured(4));
  CHECK(Nodes(report)["objects"] == 5);
  CHECK(Nodes(report)["bytes"] == 5 * kNode);
  CHECK(Nodes(report)["died_young"] == Times(1, kNode));
  CHECK(Nodes(report)["died_old"] == Times(3, kNode));
  CHECK(Nodes(report)["live"] == Times(1, kNode));
  CHECK(RowOf(report, "java.lang.Object.clone(Native Method)", "java.lang.Object")["died_young"] ==
        Times(1, 16));
  CheckRowsBalance(report);
}

TEST_CASE("the copy bill counts every move to another place, and what stays costs nothing") {
  const Json report = Report(Tenured(4));
  CHECK(Nodes(report)["copied"] == Times(5 + 4 + 1, kNode));
  CHECK(report["copied"] == Times(10, kNode));
  CHECK(RowOf(report, "<before trace>", "")["copied"] == Totals(0, 0));
}

TEST_CASE("promoted and then dead is what came from a young space and died in an old one") {
  const Json report = Report(Tenured(4));
  CHECK(Nodes(report)["promoted"] == Times(4, kNode));
  CHECK(Nodes(report)["promoted_then_dead"] == Times(3, kNode));
  CHECK(report["promoted_then_dead"] == Times(3, kNode));
}

TEST_CASE("objects survive the collections between their allocation and their death") {
  const Json survived = Nodes(Report(Tenured(4)))["survived"];
  // One died at collection 1, three at collection 2, and one outlived all three.
  CHECK(survived["mean"].get<double>() == doctest::Approx((1 + 3 * 2 + 3) / 5.0));
  CHECK(survived["0"] == 0);
  CHECK(survived["1"] == 1);
  CHECK(survived["2_to_3"] == 3);
  CHECK(survived["4_to_7"] == 0);
}

TEST_CASE("bytes are held until the begin of the collection that finds them dead, or the end of the trace") {
  const double held = 1 * (10000 - 2000) + 3 * (20000 - 2000) + 1 * (40000 - 2000);
  CHECK(Nodes(Report(Tenured(4)))["byte_seconds"].get<double>() == doctest::Approx(kNode * held / 1e9));
}

TEST_CASE("held bytes are exact whatever the order of stretches, and however far apart their times are") {
  constexpr uint64_t kSecond = 1'000'000'000, kDay = 86400 * kSecond;
  const std::vector<uint64_t> times = {
      5 * kSecond, 5 * kSecond - kSecond * 9 / 10, 5 * kSecond + kSecond / 5, 7,
      2 * kDay,    2 * kDay - kSecond / 3};
  TraceBuilder b = SmallStart();
  double held = 0;
  for (size_t i = 0; i < times.size(); i++) {
    b.Segment(SegmentKind::kAlloc, 1, Objects().Head(times[i]).Tlab(kEden + 6 * i).Fixed(1).Fixed(1));
    held += 2.0 * static_cast<double>(3 * kDay - times[i]);
  }
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 3 * kDay, Spaces(36, 0, 0, 17));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 3 * kDay + 1, Spaces(0, 0, 0, 17));
  b.End(4 * kDay, "VM death", "{}");
  const Json nodes = Nodes(Report(b.Flush().file()));
  CHECK(nodes["died_young"] == Times(12, kNode));
  CHECK(nodes["byte_seconds"].get<double>() == doctest::Approx(kNode * held / 1e9).epsilon(1e-12));
}

TEST_CASE("pretenuring is advised where four fifths of the bytes are promoted, and would save young copies") {
  const Json report = Report(Tenured(4));
  CHECK(Nodes(report)["pretenuring_saves"] == Times(5 + 4, kNode));
  CHECK(report["pretenuring"] ==
        Json({{"sites", 1}, {"saves_bytes", 9 * kNode}, {"of_copied_bytes", 9 * kNode}}));
  const Json less = Report(Tenured(3));
  CHECK(Nodes(less)["promoted"] == Times(3, kNode));
  CHECK(Nodes(less)["pretenuring_saves"]["bytes"].is_null());
  CHECK(less["pretenuring"]["sites"] == 0);
}

// Full collection 1 finds the promoted Node dead, and moves the one from eden to its place.
TEST_CASE("a full collection promotes objects while others die in the old space") {
  TraceBuilder b = SmallStart();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(2000).Tlab(kEden).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(3, 0, 0, 17));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kOld + 17, 1, 3}}));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(0, 0, 0, 20));
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(7000).Tlab(kEden).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 1, 1, "x", 8000, Spaces(3, 0, 0, 20, true));
  b.Segment(SegmentKind::kSlides, 0, Slide(2, kOld, kOld));
  b.Segment(SegmentKind::kSlides, 1, Slide(1, kEden, kOld + 17));
  b.Gc(SegmentKind::kGcEnd, 1, 1, "x", 9000, Spaces(0, 0, 0, 20));
  const Json report = Report(b.Flush().file());
  CHECK(Nodes(report)["promoted"] == Times(2, kNode));
  CHECK(Nodes(report)["promoted_then_dead"] == Times(1, kNode));
  CHECK(Nodes(report)["pretenuring_saves"] == Times(1, kNode));  // the full collection would copy it anyway
  CheckRowsBalance(report);
}

TEST_CASE("pretenuring is not advised for objects that are still young") {
  TraceBuilder b = SmallStart();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(2000).Tlab(kEden).Fixed(1).Fixed(6));
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(5, 0, 0, 17));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}}));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(0, 0, 3, 17));
  const Json young = Report(b.Flush().file());
  CHECK(Nodes(young)["live"] == Times(1, kNode));
  CHECK(Nodes(young)["copied"] == Times(1, kNode));
  CHECK(young["pretenuring"]["sites"] == 0);
}

// Nodes and Objects in turn fill six pages of eden; every seventh of them is promoted, the last one stays where
// it is, the others die. In pages of their own, or beside an array that was allocated outside a TLAB, or while
// another Node was allocated in a TLAB of the old space.
struct Eden {
  bool array = false;
  uint64_t old_nodes = 0;
};
std::string DyingEden(const Eden& eden) {
  constexpr uint64_t kPairs = 600, kPairWords = 5, kWords = kPairs * kPairWords, kArrayWords = 7;
  TraceBuilder b = SmallStart();
  Objects objects;
  objects.Head(2000).Tlab(kEden);
  for (uint64_t i = 0; i < kPairs; i++) objects.Fixed(1).Fixed(6);
  uint64_t end = kWords;
  if (eden.array) {
    objects.Outside(0).WithLength(2, 10).Tlab(0).Fixed(1).Fixed(6);
    end += kArrayWords + kPairWords;
  }
  if (eden.old_nodes != 0) {
    objects.Tlab(kOld + 17 - kEden - end);
    for (uint64_t i = 0; i < eden.old_nodes; i++) objects.Fixed(1);
  }
  const uint64_t old = 17 + 3 * eden.old_nodes;
  b.Segment(SegmentKind::kAlloc, 1, objects);
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(end, 0, 0, old));
  std::vector<TestMove> moves;
  uint64_t to = kOld + old;
  for (uint64_t i = 0; i + 1 < 2 * kPairs; i += 7) {
    const uint64_t words = i % 2 == 0 ? 3 : 2;
    moves.push_back({kEden + i / 2 * kPairWords + (i % 2 == 0 ? 0 : 3), to, 1, words});
    to += words;
  }
  b.Segment(SegmentKind::kMoves, 0, Moves(moves));
  b.Segment(SegmentKind::kSlides, 0, Slide(1, kEden + kWords - 2, kEden + kWords - 2));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(kWords, 0, 0, to - kOld));
  b.End(7000, "VM death", "{}");
  return b.Flush().file();
}

TEST_CASE("what dies in eden is known of each class, whatever else lies there or was allocated elsewhere") {
  for (const Eden& eden :
       {Eden{}, Eden{.array = true}, Eden{.old_nodes = 1}, Eden{.array = true, .old_nodes = 3}}) {
    CAPTURE(eden.array);
    CAPTURE(eden.old_nodes);
    const Json report = Report(DyingEden(eden));
    // Every seventh of 1,199 in turn: 86 Nodes and 86 Objects.
    CHECK(Nodes(report)["copied"] == Times(86, kNode));
    CHECK(Nodes(report)["died_young"] == Times(600 + eden.array - 86, kNode));
    CHECK(Nodes(report)["live"] == Times(86 + eden.old_nodes, kNode));
    const Json object = RowOf(report, "java.lang.Object.clone(Native Method)", "java.lang.Object");
    CHECK(object["died_young"] == Times(600 + eden.array - 86 - 1, 16));
    CHECK(object["live"] == Times(87, 16));
    CHECK(object["survived"]["0"] == 600 + eden.array - 86 - 1);
    const Json array = RowOf(report, "app.Main.run(Main.java:30)", "int[]");
    if (eden.array) CHECK(array["died_young"] == Times(1, 56));
    CheckRowsBalance(report);
  }
}

// Outside TLABs: an int[10] in the old space, and an Object in eden. A full collection finds both dead; before
// it the Object is promoted.
TEST_CASE("what was allocated in an old space was not promoted") {
  TraceBuilder b = SmallStart();
  b.Segment(SegmentKind::kAlloc, 1,
            Objects().Head(2000).Outside(kOld + 17).WithLength(2, 10).Outside(kEden - kOld - 24).Fixed(6));
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(2, 0, 0, 24));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kOld + 24, 1, 2}}));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(0, 0, 0, 26));
  b.Gc(SegmentKind::kGcBegin, 1, 1, "x", 7000, Spaces(0, 0, 0, 26, true));
  b.Gc(SegmentKind::kGcEnd, 1, 1, "x", 8000, Spaces(0, 0, 0, 0));
  const Json report = Report(b.Flush().file());
  const Json array = RowOf(report, "app.Main.run(Main.java:30)", "int[]");
  CHECK(array["died_old"] == Times(1, 56));
  CHECK(array["promoted"] == Totals(0, 0));
  CHECK(array["promoted_then_dead"] == Totals(0, 0));
  const Json object = RowOf(report, "java.lang.Object.clone(Native Method)", "java.lang.Object");
  CHECK(object["promoted"] == Times(1, 16));
  CHECK(object["promoted_then_dead"] == Times(1, 16));
  CheckRowsBalance(report);
}

// Regions of 512 words: the Node of eden region 0 is evacuated into region 3, which is old, as the collection's
// end says; that of eden region 1 stays where it is, and its region becomes old. A mixed collection copies the
// first one on, and remark frees both.
TEST_CASE("objects are promoted into regions that only the collection's end calls old, or with their region") {
  const auto at = [](uint64_t kind, uint64_t collected, uint64_t number, uint64_t used) {
    const uint64_t bottom = kEden + number * 512;
    return TestSpace{kind, collected, bottom, bottom + used, bottom + 512};
  };
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8);
  b.Segment(SegmentKind::kDefinitions, 0, SmallDefinitions().bytes());
  b.SyncBegin(0, 1000, {});
  b.Numbers(SegmentKind::kSyncEnd, 0, {0, 0});
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(2000).Tlab(kEden).Fixed(1).Tlab(512 - 3).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, {at(0, 1, 0, 3), at(0, 1, 1, 3)});
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kEden + 3UL * 512, 1, 3}}));
  b.Segment(SegmentKind::kSlides, 0, Slide(1, kEden + 512, kEden + 512));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, {at(2, 0, 1, 3), at(2, 0, 3, 3)});
  b.Gc(SegmentKind::kGcBegin, 1, 4, "x", 6500, {at(2, 0, 1, 3), at(2, 2, 3, 3)});
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden + 3UL * 512, kEden + 4UL * 512, 1, 3}}));
  b.Gc(SegmentKind::kGcEnd, 1, 4, "x", 6600, {at(2, 0, 1, 3), at(2, 2, 3, 0), at(2, 0, 4, 3)});
  b.Gc(SegmentKind::kGcBegin, 2, 3, "x", 7000, {at(2, 2, 1, 3), at(2, 2, 4, 3)});
  b.Gc(SegmentKind::kGcEnd, 2, 3, "x", 8000, {at(2, 2, 1, 0), at(2, 2, 4, 0)});
  const Json report = Report(b.Flush().file());
  CHECK(Nodes(report)["copied"] == Times(2, kNode));
  CHECK(Nodes(report)["pretenuring_saves"] == Times(1, kNode));  // not what the mixed collection copied
  CHECK(Nodes(report)["promoted"] == Times(2, kNode));
  CHECK(Nodes(report)["promoted_then_dead"] == Times(2, kNode));
  CheckRowsBalance(report);
}

TEST_CASE("objects from before the trace have a row of their own, fillers too, and every row adds up") {
  const Json report = Report(SmallTrace().file());
  const Json before = RowOf(report, "<before trace>", "");
  CHECK(before["objects"] == 2);
  CHECK(before["died_old"] == Times(1, kNode));
  CHECK(before["live"] == Times(1, 112));
  CHECK(before["promoted"]["bytes"].is_null());
  CHECK(before["survived"]["mean"].is_null());
  CHECK(RowOf(report, "<filler>", "")["died_young"] == Times(1, 32));
  CHECK(report["allocated"] == Json(Totals(12, 304)));
  CHECK(report["before_trace"] == Json(Totals(2, 136)));
  CheckRowsBalance(report);
}

TEST_CASE("of a rotated trace whose front is gone, what its first sync point lists is from before the trace") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0");
  const Json report = Json::parse(folder.Run("lifetimes", {"app.trace"}, {"--json"}).out);
  const Json before = RowOf(report, "<before trace>", "");
  CHECK(before["objects"] == 5);
  CHECK(before["bytes"] == 232);
  CHECK(before["died_young"] == Times(1, 16));
  CHECK(before["copied"] == Times(1, kNode));
  CHECK(Nodes(report)["objects"] == 4);
  CHECK(Nodes(report)["died_young"] == Times(2, kNode));
  CHECK(Nodes(report)["live"] == Times(2, kNode));
  CHECK(Nodes(report)["copied"] == Times(4, kNode));
  CHECK(Nodes(report)["promoted"] == Times(1, kNode));
  CHECK(report["ledger"]["checked"] == 4);
  CHECK(report["ledger"]["unchecked"] == 0);
  CheckRowsBalance(report);
}

TEST_CASE("of a whole rotated trace, the sync points of rotations change nothing") {
  Folder folder;
  WriteRotated(&folder);
  const Json report = Json::parse(folder.Run("lifetimes", {"app.trace"}, {"--json"}).out);
  CHECK(report["before_trace"] == Json(Totals(2, 136)));
  CHECK(Nodes(report)["objects"] == 8);
  CheckRowsBalance(report);
}

TEST_CASE("after a loss objects are lost from sight, which the rows say, and the ledger is not checked there") {
  TraceBuilder b = SmallStart();
  SmallAllocs(&b);
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(66, 0, 0, 17));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}, {kEden + 6, kOld + 17, 1, 7}}));
  b.Segment(SegmentKind::kMoves, 1, Moves({{kEden + 32, kTo + 3, 0, 2}}));
  b.Segment(SegmentKind::kFillers, 1, Filler(kTo + 5, 4, 4));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 9000, Spaces(0, 0, 9, 24));
  b.Loss(9200, 1, 100, "queue full");
  AddSyncPoint1(&b);
  const Json report = Report(b.file());
  CHECK(Nodes(report)["died_young"] == Times(3, kNode));
  CHECK(Nodes(report)["lost"] == Times(1, kNode));
  CHECK(RowOf(report, "<before trace>", "")["objects"] == 2 + 5);
  CHECK(RowOf(report, "<before trace>", "")["lost"]["objects"] == 2);
  CHECK(report["ledger"]["checked"] == 2);
  CHECK(report["ledger"]["unchecked"] == 1);
  CheckRowsBalance(report);
}

TEST_CASE("a collection that a loss has cut moves nothing into the books twice") {
  TraceBuilder b = SmallStart();
  SmallAllocs(&b);
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(66, 0, 0, 17));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}, {kEden + 6, kOld + 17, 1, 7}}));
  b.Loss(9200, 1, 100, "the bound is reached");
  AddSyncPoint1(&b);
  const CommandResult result = Anttracks(b.file(), {"lifetimes", "--json"});
  const Json report = Json::parse(result.out);
  CHECK(Nodes(report)["lost"] == Times(4, kNode));
  CheckRowsBalance(report);
}

// Two Nodes are moved to the same place: one of them is nowhere.
TEST_CASE("a ledger that does not balance is printed, and the exit code is that of verify") {
  TraceBuilder b = SmallStart();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(2000).Tlab(kEden).Fixed(1).Fixed(1).Fixed(6));
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(8, 0, 0, 17));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}, {kEden + 3, kTo, 0, 3}}));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(0, 0, 3, 17));
  const std::string trace = b.Flush().file();
  const CommandResult text = Anttracks(trace, {"lifetimes"});
  CHECK(text.code == 1);
  CHECK(text.out.find(
            "ledger: app.Node of app.List.add(List.java:12) at collection 0: live before + allocated != "
            "live after + died: 0 + 3 != 2 + 0 objects, 0 + 72 != 48 + 0 bytes\n") != std::string::npos);
  CHECK(text.out.find("ledger: app.Node of app.List.add(List.java:12) at the end") != std::string::npos);
  CHECK(text.out.find("ledger: does not balance in 2 places\n") != std::string::npos);
  const CommandResult json = Anttracks(trace, {"lifetimes", "--json"});
  CHECK(json.code == 1);
  const Json line = Json::parse(json.out)["ledger"]["first"][0];
  CHECK(line["gc"] == 0);
  CHECK(line["class"] == "app.Node");
  CHECK(line["live_before"] == Totals(0, 0));
  CHECK(line["allocated"] == Times(3, kNode));  // with the Node that was listed
  CHECK(line["live_after"] == Times(2, kNode));
  CHECK(line["died"] == Totals(0, 0));
  CHECK(Anttracks(trace, {"lifetimes", "--csv"}).err.find("note: the ledger does not balance\n") !=
        std::string::npos);
}

TEST_CASE("where a share was read, what died unread is an estimate and all else is exact") {
  const std::string trace = SkippedTrace().file();
  const Json report = Report(trace);
  CHECK(report["estimated"] == true);
  CHECK(report["copied"] == Totals(5, 24 + 56 + 24 + 56 + 24));
  const Json nodes = Nodes(report);
  const double known = 5;  // three were read, one was found, one more was read late
  CHECK(nodes["objects_low"] >= known);
  CHECK(nodes["objects"] >= nodes["objects_low"]);
  CHECK(nodes["objects_high"] >= nodes["objects"]);
  CHECK(nodes["live"] == Times(1, kNode));
  CHECK(nodes["died_old"] == Totals(0, 0));
  for (const char* key : {"objects", "objects_low", "objects_high"}) {
    CHECK(nodes["died_young"][key] == nodes[key].get<uint64_t>() - 1);
  }
  CHECK(report["ledger"]["balances"] == true);
  CHECK(report["ledger"]["unchecked"] == 0);
  const std::string text = Anttracks(trace, {"lifetimes"}).out;
  CHECK(text.find("what was not read and died before a collection saw it is in Died young only") !=
        std::string::npos);
  CHECK(text.find("Est. died young") != std::string::npos);
  CHECK(text.find(">= ") != std::string::npos);
}

TEST_CASE("--by class adds up the sites, and the advice stays that of sites") {
  const Json by_class = Report(Tenured(4), {"--by", "class"});
  const Json nodes = RowOf(by_class, "", "app.Node");
  CHECK(!nodes.contains("site"));
  CHECK(nodes["copied"] == Times(10, kNode));
  CHECK(nodes["pretenuring_saves"] == Times(9, kNode));
  CHECK(RowOf(by_class, "", "<before trace>")["objects"] == 2);
  CheckRowsBalance(by_class);
  CHECK(by_class["ledger"] == Report(Tenured(4))["ledger"]);
}

TEST_CASE("lifetimes as a table") {
  const CommandResult result = Anttracks(Tenured(4), {"lifetimes", "--top", "2"});
  CHECK(result.err == "");
  CHECK(result.out == R"out(
allocated: 6 objects, 136 B
before the trace: 2 objects, 136 B
copied by collections: 10 objects, 240 B
promoted: 4 objects, 96 B; dead since: 3 objects, 72 B
pretenuring at 1 site would save 216 B of 216 B that young collections copied
ledger: balances (4 checks of every site and class)

  Objects   Share  Bytes   Share  Died young  Bytes  Died old  Bytes  Live  Bytes  Survived  Copied  Promoted  )out"
                      R"out(Promoted, dead   Held  Pretenuring saves  Class     Site
        5  62.5 %    120  44.1 %           1   24 B         3   72 B     1   24 B       2.0   240 B      96 B  )out"
                      R"out(          72 B  0 B s              216 B  app.Node  app.List.add(List.java:12)
        2  25.0 %    136  50.0 %           0    0 B         0    0 B     2  136 B               0 B            )out"
                      R"out(                0 B s                               <before trace>
  ... and 1 more (--top 0 shows all)
)out" + 1);
}

TEST_CASE("lifetimes as CSV have the numbers of JSON") {
  const CommandResult result = Anttracks(Tenured(4), {"lifetimes", "--csv", "--top", "1"});
  CHECK(result.err == "");
  CHECK(result.out ==
        "site,application,application_share,class,objects,bytes,died_young.objects,died_young.bytes,died_old."
        "objects,died_old.bytes,"
        "live.objects,live.bytes,survived.mean,survived.0,survived.1,survived.2_to_3,survived.4_to_7,"
        "survived.8_to_15,survived.16_or_more,copied.objects,copied.bytes,promoted.objects,promoted.bytes,"
        "promoted_then_dead.objects,promoted_then_dead.bytes,byte_seconds,pretenuring_saves.objects,"
        "pretenuring_saves.bytes\n"
        "app.List.add(List.java:12),app.List.add(List.java:12),1.0,app.Node,5,120,1,24,3,72,1,24,2.0,0,1,3,0,0,"
        "0,10,240,4,96,3,72,0.0024,9,"
        "216\n");
}

// 60,000 Objects are promoted, then 10,000 Nodes; two collections later 5 Nodes more. Heaps of more than 65,536
// objects are not counted after each collection.
std::string LargeHeap(bool balanced) {
  constexpr uint64_t kObjects = 60'000, kNodes = 10'000, kObjectWords = 2, kNodeWords = 3;
  TraceBuilder b = SmallStart();
  const auto collect = [&](uint64_t id, uint64_t count, uint64_t words, uint64_t old) {
    Objects objects;
    objects.Head(id * 1000 + 2000);
    for (uint64_t i = 0; i < count; i++) {
      if (i % 200 == 0) objects.Tlab(i == 0 ? kEden : 0);
      objects.Fixed(words == kNodeWords ? 1 : 6);
    }
    b.Segment(SegmentKind::kAlloc, 1, objects);
    b.Flush();
    b.Gc(SegmentKind::kGcBegin, id, 0, "x", id * 1000 + 2500, Spaces(count * words, 0, 0, old));
    std::vector<TestMove> moves;
    for (uint64_t i = 0; i < count; i++) moves.push_back({kEden + i * words, kOld + old + i * words, 1, words});
    if (!balanced && id == 2) moves.back().to = moves.front().to;
    b.Segment(SegmentKind::kMoves, 0, Moves(moves));
    b.Gc(SegmentKind::kGcEnd, id, 0, "x", id * 1000 + 2600, Spaces(0, 0, 0, old + count * words));
    b.Flush();
    return old + count * words;
  };
  uint64_t old = collect(0, kObjects, kObjectWords, 17);
  old = collect(1, kNodes, kNodeWords, old);
  collect(2, 5, kNodeWords, old);
  b.End(40000, "VM death", "{}");
  return b.Flush().file();
}

TEST_CASE("a large heap is counted when enough has happened, and what was promoted meanwhile is known") {
  const Json report = Report(LargeHeap(true));
  CHECK(report["ledger"]["checked"] == 2);  // after collection 0 and at the end
  CHECK(Nodes(report)["promoted"] == Times(10'005, kNode));
  CHECK(Nodes(report)["live"] == Times(10'005, kNode));
  CHECK(Nodes(report)["copied"] == Times(10'005, kNode));
  CHECK(RowOf(report, "java.lang.Object.clone(Native Method)", "java.lang.Object")["promoted"] ==
        Times(60'000, 16));
  CheckRowsBalance(report);
}

TEST_CASE("a ledger that was not counted after each collection finds what does not balance, too") {
  const CommandResult result = Anttracks(LargeHeap(false), {"lifetimes"});
  CHECK(result.code == 1);
  CHECK(result.out.find("ledger: app.Node of app.List.add(List.java:12) at the end: live before + allocated != "
                        "live after + died: 1 + 10,005 != 10,005 + 0 objects") != std::string::npos);
}

TEST_CASE("samples have no lifetimes") {
  TraceBuilder b = SampledStart();
  const CommandResult result = Anttracks(b.Flush().file(), {"lifetimes"});
  CHECK(result.code == 2);
  CHECK(result.out == "");
  CHECK(result.err ==
        "anttracks: lifetimes follow every object from its allocation to its death; this trace holds samples "
        "(mode=sample), not every object\n");
}

TEST_CASE("Sites whose objects are promoted anyway are listed for the JVM by their frames") {
  const auto list = [](uint64_t promoted) {
    const CommandResult result = Anttracks(Tenured(promoted), {"lifetimes", "--pretenure-list"});
    CHECK(result.code == 0);
    return result.out.substr(result.out.find('\n'));
  };
  CHECK(list(4) == "\n# 96 bytes were promoted; saves 216 bytes of copying\napp.List.add()V:4\n");
  CHECK(list(3) == "\n");
  for (const std::string other : {"--where=class=x", "--group-by=class", "--by=class", "--top=3", "--json"}) {
    const CommandResult both = Anttracks(Tenured(4), {"lifetimes", "--pretenure-list", other});
    CHECK(both.code == 2);
    CHECK(both.err.find(other.substr(0, other.find('='))) != std::string::npos);
    CHECK(both.err.find("excludes") != std::string::npos);
  }
}

TEST_CASE("Callers tell the sites that are worth it from those that are not, and no more frames than needed") {
  const auto site = [](std::vector<std::string> frames, uint64_t promoted, uint64_t died) {
    return SitePromotion{std::move(frames), promoted, died, promoted};
  };
  const auto frames = [](const std::vector<PretenuredSite>& sites) {
    std::vector<std::string> all;
    for (const PretenuredSite& each : sites) all.push_back(each.frames);
    return all;
  };
  using Frames = std::vector<std::string>;
  CHECK(frames(PretenuredSites({site({"a:1", "b:2", "c:3"}, 80, 20), site({"a:1"}, 80, 20)}, 160)) ==
        Frames{"a:1"});
  CHECK(frames(PretenuredSites({site({"a:1", "b:2", "c:3"}, 80, 20), site({"a:1", "d:4"}, 1, 50),
                                site({"a:1"}, 10, 90), site({"e:5", "c:3"}, 85, 0)},
                               176)) == Frames{"e:5", "a:1 < b:2"});
  // Two callers' sites of which one is not worth it, seven frames deep in the same path.
  Frames deep{"a:1", "b:2", "c:3", "d:4", "e:5", "f:6", "g:7", "h:8"};
  Frames other = deep;
  other.back() = "h:9";
  CHECK(frames(PretenuredSites({site(deep, 100, 0), site(other, 0, 100)}, 100)) ==
        Frames{"a:1 < b:2 < c:3 < d:4 < e:5 < f:6 < g:7 < h:8"});
  CHECK(PretenuredSites({site({"a:1"}, 1, 0)}, 1001).empty());
  CHECK(PretenuredSites({site({"a:1"}, 0, 0)}, 0).empty());
}

}  // namespace
}  // namespace anttracks::testing
