// SPDX-License-Identifier: Apache-2.0
// The commands on a trace of censuses: what they say, and what they refuse.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "tests/unit/analyzer/census_trace.h"
#include "tests/unit/analyzer/hprof_dump.h"

namespace anttracks::testing {
namespace {

nlohmann::json Json(const std::string& file, std::vector<std::string> command) {
  command.push_back("--json");
  const CommandResult result = Anttracks(file, command);
  CHECK(result.code == 0);
  CHECK(result.err == "");
  return nlohmann::json::parse(result.out);
}

TEST_CASE("a leak in censuses is found, with what was live before it began") {
  const std::string file = CensusTraceFile(9).file();
  const auto leaks = Json(file, {"leaks"});
  CHECK(leaks["known"] == true);
  CHECK(leaks["old_space_collections"] == 9);
  CHECK(leaks["gc"] == 90);
  REQUIRE(leaks["leaks"].size() == 1);
  const auto& row = leaks["leaks"][0];
  CHECK(row["site"] == "app.List.add(List.java:12)");
  CHECK(row["class"] == "app.Node");
  CHECK(row["since_gc"] == 20);
  CHECK(row["then"]["objects"] == 100);
  CHECK(row["now"]["objects"] == 1700);
  CHECK(row["oldest_ns"] == nullptr);
  CHECK(row["bytes_per_gc"] == 600 * 8 / 10);
  CHECK(row["share_of_growth"].get<double>() > 0.99);

  const auto history = Json(file, {"leaks", "--history"})["history"];
  REQUIRE(history.size() == 11);
  CHECK((history[0]["gc"] == 3 && history[0]["old_space"] == false && history[0]["objects"] == 10));
  CHECK((history[9]["gc"] == 90 && history[9]["bytes"] == 1700 * 24));
  CHECK((history[10]["gc"] == 93 && history[10]["objects"] == 0));

  const auto all = Json(file, {"leaks", "--all"})["leaks"];
  REQUIRE(all.size() == 2);
  CHECK(all[1]["verdict"] == "hardly grows");
  CHECK(Json(file, {"leaks", "--where", "class=int[]"})["leaks"].empty());
}

TEST_CASE("with fewer than eight censuses after a collection of the old space there is no verdict") {
  const CommandResult seven = Anttracks(CensusTraceFile(7).file(), {"leaks"});
  CHECK(
      seven.out ==
      "no verdict: only 7 censuses follow a collection of the old space, and it takes 8 such censuses to tell "
      "what piles up. 'jcmd PID GC.run' makes such a collection\n");
  CHECK(Anttracks(CensusTraceFile(1).file(), {"leaks"}).out.find("only 1 census follows") != std::string::npos);
  CHECK(Anttracks(CensusTraceFile(0).file(), {"leaks"}).out.find("no census follows") != std::string::npos);
  CHECK(Json(CensusTraceFile(8).file(), {"leaks"})["leaks"].size() == 1);
  // As if the trace ended there.
  CHECK(Json(CensusTraceFile(9).file(), {"leaks", "--gc", "70"})["known"] == false);
  CHECK(Json(CensusTraceFile(9).file(), {"leaks", "--gc", "80"})["known"] == true);
}

TEST_CASE("pairs of one place in the code are one population") {
  // Compiled code takes over: pair 5 has the place and the class of pair 1.
  TraceBuilder b = CensusStart();
  for (uint64_t i = 0; i < 12; i++) {
    AddCensus(&b, {i,
                   1,
                   1,
                   1000 * i + 1000,
                   i + 1,
                   10'000 * i,
                   {{1, 2400 - 200 * i, 7200 - 600 * i}, {5, 100 + 200 * i, 300 + 600 * i}}});
  }
  b.Flush();
  CHECK(Json(b.file(), {"leaks"})["leaks"].empty());
}

TEST_CASE("summary of censuses names the leak, and says what is not known") {
  const CommandResult text = Anttracks(CensusTraceFile(9).file(), {"summary"});
  CHECK(text.code == 0);
  CHECK(text.out == 1 + R"out(
Main 1: 13.00 ms of 17.0.19

What allocates: 898 KiB between the first collection and GC 93; a census does not tell where

What stays: 1,744 objects, 40.9 KiB after GC 90 (full), at 10.00 ms
  Objects   Share   Bytes   Share  Class             Site
    1,700  97.5 %  40,800  97.4 %  app.Node          app.List.add(List.java:12)
       42   2.4 %     672   1.6 %  java.lang.Object  java.lang.Object.clone(Native Method)
                                                       <- app.Main.run(Main.java:30)
        2   0.1 %     400   1.0 %  int[]             app.Main.run(Main.java:30)

Collections: 94, whose pauses were not recorded

Findings:
  1. leak: app.List.add(List.java:12) piles up app.Node:
     2.34 KiB before GC 20, 39.8 KiB in 1,700 objects now;
     480 B per GC, 275 MiB per minute, 100.0 % of the growth

Next: anttracks leaks TRACE
)out");
}

TEST_CASE("heap shows each census by class and site") {
  const std::string file = CensusTraceFile(9).file();
  const auto last = Json(file, {"heap", "--gc", "90"});
  CHECK((last["gc"] == 90 && last["old_space"] == true && last["objects"] == 1745));
  CHECK(last["rows"][0] == nlohmann::json({{"class", "app.Node"}, {"objects", 1700}, {"bytes", 1700 * 24}}));
  const auto by_site = Json(file, {"heap", "--gc", "90", "--by", "site", "--where", "class=int[]"});
  CHECK(by_site["objects"] == 3);
  CHECK(by_site["rows"].size() == 2);
  const CommandResult young = Anttracks(file, {"heap"});
  CHECK(young.out.find("heap after GC 93 (young), at 11.50 ms: 3 objects, 480 B (with what is dead in the old "
                       "space, which had not been looked into)\n") == 0);
  const CommandResult none = Anttracks(CensusStart().Flush().file(), {"heap"});
  CHECK(none.code == 1);
  CHECK(none.err ==
        "anttracks: there is no census in the trace; one follows a collection, when its time (every=) has "
        "come\n");
}

TEST_CASE("info, gcs and verify tell of the censuses") {
  const std::string file = CensusTraceFile(2).file();
  const auto info = Json(file, {"info"});
  CHECK((info["mode"] == "census" && info["censuses"] == 4 && info["old_space_censuses"] == 2));
  CHECK(info["live"] == nlohmann::json({{"objects", 3}, {"bytes", 480}}));
  const auto gcs = Json(file, {"gcs"})["gcs"];
  REQUIRE(gcs.size() == 4);
  CHECK((gcs[1]["id"] == 10 && gcs[1]["kind"] == "full" && gcs[1]["old_space"] == true));
  CHECK(
      (gcs[1]["count_ns"] == 500 && gcs[1]["allocated_bytes"] == 160'000 && gcs[1]["used"]["survivor"] == 80));
  CHECK(Anttracks(file, {"verify"}).out == "4 chunks and 4 censuses checked: no errors\n");
  CHECK(Json(file, {"verify"})["censuses"] == 4);
}

TEST_CASE("what a census does not tell is refused in one sentence") {
  const std::string file = CensusTraceFile(1).file();
  const std::string holds = "anttracks: this trace holds censuses (mode=census), not every object: ";
  const std::pair<std::vector<std::string>, std::string> refused[] = {
      {{"sites"}, "what was allocated was not counted; 'anttracks heap --by site' shows what is live"},
      {{"classes"}, "what was allocated was not counted; 'anttracks heap --by class' shows what is live"},
      {{"threads"}, "which thread allocated an object was not recorded"},
      {{"tree"}, "call stacks are taken where objects are allocated"},
      {{"lifetimes"}, "lifetimes follow every object from its allocation to its death"},
      {{"quality"}, "quality is about what is known of every live object"},
      {{"heap", "--objects"}, "--objects lists every object by its address"},
      {{"heap", "--end"}, "--end is not possible: only what is live after some collections was counted"},
      {{"heap", "--by", "age"}, "rows by thread, age or space are not possible: class and site were counted"},
      {{"heap", "--from", "1"}, "which thread allocated an object, and when, was not recorded"}};
  for (const auto& [words, why] : refused) {
    const CommandResult result = Anttracks(file, words);
    CHECK(result.code == 2);
    CHECK(result.out == "");
    CHECK(result.err == holds + why + "\n");
  }
  const std::pair<std::string, std::string> expected[] = {
      {"bytes(class=Node) < 1", "what was allocated was not counted; expect live or live_bytes of it"},
      {"live(class=Node) < 1 at end", "'at end' is not possible: the last thing known is a census"},
      {"live(class=Node) < 1 after 1 gcs", "when an object was allocated was not recorded"},
      {"live(thread=main) < 1", "which thread allocated an object was not recorded"}};
  for (const auto& [expectation, why] : expected) {
    const CommandResult result = Anttracks(file, {"assert", expectation});
    CHECK(result.code == 2);
    CHECK(result.err == holds + why + "\n");
  }
  const TempFile dump(SmallDump().file());
  const CommandResult join = Anttracks(file, {"join", dump.path()});
  CHECK(join.code == 2);
  CHECK(join.err == holds + "join needs the address of every object\n");
  const CommandResult gc = Anttracks(file, {"heap", "--gc", "11"});
  CHECK(gc.code == 2);
  CHECK(gc.err ==
        "anttracks: no census follows collection 11; the first follows 3, the last 13; 'anttracks gcs' lists "
        "them\n");
}

TEST_CASE("what is live is expected of the last census that tells") {
  const std::string file = CensusTraceFile(2).file();
  CHECK(Anttracks(file, {"assert", "live(class=Node) == 300"}).code == 0);
  CHECK(Anttracks(file, {"assert", "live_bytes(site=List.add) <= 7200", "live(site=Main.run) == 2"}).code == 0);
  const CommandResult fails = Anttracks(file, {"assert", "live(class=Node) <= 10"});
  CHECK((fails.code == 1 && fails.out.find("FAILS     300") != std::string::npos));
  // The only one counts what is dead, too.
  TraceBuilder b = CensusStart();
  AddCensus(&b, {3, 0, 0, 1'000'000, 4, 10'000, {{2, 2, 50}}});
  const CommandResult unknown = Anttracks(b.Flush().file(), {"assert", "live(class=int[]) <= 10"});
  CHECK(unknown.code == 1);
  CHECK(unknown.out.find("it was counted (with what is dead in the old space") != std::string::npos);
  CHECK(Anttracks(CensusStart().Flush().file(), {"assert", "live(class=int[]) <= 10"}).code == 1);
}

TEST_CASE("what is live is compared with the last census of another trace that tells") {
  const TempFile a(CensusTraceFile(2).file()), b(CensusTraceFile(40).file()), full(SmallTrace().file());
  const auto diff = [](const std::vector<std::string>& words) {
    std::ostringstream out, err;
    const int code = analyzer::Main(words, out, err, false);
    return CommandResult{code, out.str(), err.str()};
  };
  const CommandResult text = diff({"diff", a.path(), b.path()});
  CHECK(text.code == 0);
  CHECK(Replace(Replace(text.out, a.path(), "a.trace"), b.path(), "b.trace") == 1 + R"out(
A  a.trace
   live after GC 20 (full), at 3.00 ms: 344 objects, 8.11 KiB
B  b.trace
   live after GC 400 (full), at 41.00 ms: 7,943 objects, 186 KiB
noise: of what is live, less than 64.0 KiB or half of the row

1 of 4 rows above noise

    Live A   Live B  Live B - A  Ratio  Live objects A  Live objects B  Class     Site
  7.03 KiB  185 KiB    +178 KiB  26.33             300           7,900  app.Node  app.List.add(List.java:12)
)out");
  const auto json = nlohmann::json::parse(diff({"diff", a.path(), b.path(), "--json"}).out);
  CHECK((!json["a"].contains("bytes") && json["a"]["live"]["objects"] == 344));
  CHECK((!json["rows"][0].contains("bytes") && json["rows"][0]["live_bytes"]["difference"] == 7600 * 24));
  const CommandResult mixed = diff({"diff", a.path(), full.path()});
  CHECK(mixed.code == 2);
  CHECK(
      mixed.err ==
      "anttracks: A holds censuses, of which only what is live can be compared, with another trace of them\n");
  CHECK(diff({"diff", a.path(), b.path(), "--by", "thread"}).code == 2);
}

TEST_CASE("verify finds what is wrong with a census") {
  const auto check = [](TraceBuilder b, const std::string& kind, const std::string& text) {
    const CommandResult result = Anttracks(b.Flush().file(), {"verify"});
    CAPTURE(result.out);
    CHECK(result.code == 1);
    CHECK(result.out.find(kind) != std::string::npos);
    CHECK(result.out.find(text) != std::string::npos);
  };
  const auto with = [](const TestCensus& census) {
    TraceBuilder b = CensusStart();
    AddCensus(&b, census);
    return b;
  };
  check(with({0, 1, 1, 5, 1, 0, {{7, 1, 3}}}), "undefined",
        "census of site-class pair 7, which is not defined");
  check(with({0, 1, 1, 5, 1, 0, {{1, 0, 3}}}), "malformed", "a census has 0 objects with 3 words of one pair");
  check(with({0, 1, 1, 5, 1, 0, {{1, 4, 3}}}), "malformed", "4 objects with 3 words");
  check(with({0, 1, 1, 5, 1, 0, {{1, 1, uint64_t{1} << 40}}}), "malformed", "of one pair");
  check(with({0, 1, 1, 5, 1, 0, {{2, 1, 3}, {2, 1, 3}}}), "malformed", "not in the order");
  check(with({0, 2, 1, 5, 1, 0, {{2, 1, 3}}}), "malformed", "collection of unknown kind");
  check(with({0, 1, 2, 5, 1, 0, {{2, 1, 3}}}), "malformed", "collection of unknown kind");

  TraceBuilder totals = CensusStart();
  totals.Segment(SegmentKind::kCensusRows, 0, CensusRows({{1, 1, 3}}));
  totals.Numbers(SegmentKind::kCensus, 0, {0, 1, 1, 5, 500, 1, 0, 0, 0, 0, 0, 0, 2, 3});
  check(totals, "totals", "census after GC 0 has 2 objects with 3 words, its rows 1 with 3");
  TraceBuilder older = with({0, 1, 1, 500, 2, 0, {{1, 1, 3}}});
  AddCensus(&older, {1, 1, 1, 400, 3, 0, {{1, 1, 3}}});
  check(older, "wrong place", "census after GC 1 is older than the one before");
  TraceBuilder cut = CensusStart();
  ByteBuffer half = CensusRows({{1, 1, 3}});
  half.Uv(1);
  check(cut.Segment(SegmentKind::kCensusRows, 0, half), "malformed", "row of a census is cut short");
}

TEST_CASE("censuses and events of objects do not go together") {
  TraceBuilder b = CensusStart();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(2000).Tlab(kEden).Fixed(1)).Flush();
  CHECK(Anttracks(b.file(), {"verify"}).out.find("ALLOC in a trace of censuses") != std::string::npos);
  TraceBuilder full = SmallStart();
  full.Segment(SegmentKind::kCensusRows, 0, CensusRows({{1, 1, 3}})).Flush();
  CHECK(Anttracks(full.file(), {"verify"}).out.find("CENSUS_ROWS in a trace of every object") !=
        std::string::npos);
}

TEST_CASE("a census whose beginning was damaged is left out, and those after it are there") {
  TraceBuilder b = CensusStart();
  AddCensus(&b, {0, 1, 1, 100, 1, 0, {{1, 1, 3}}});
  b.Segment(SegmentKind::kCensusRows, 0, CensusRows({{1, 1, 3}})).Flush();
  b.SkipSequence();
  b.Segment(SegmentKind::kCensusRows, 0, CensusRows({{2, 1, 3}}));
  b.Numbers(SegmentKind::kCensus, 0, {1, 1, 1, 200, 500, 2, 0, 0, 0, 0, 0, 0, 2, 6});
  AddCensus(&b, {2, 1, 1, 300, 3, 0, {{1, 5, 15}}});
  b.Flush();
  const CommandResult verify = Anttracks(b.file(), {"verify"});
  CHECK(verify.out.find("3 chunks and 2 censuses checked: 1 error\n") != std::string::npos);
}

TEST_CASE("rows without their census are of one that was not completed") {
  TraceBuilder b = CensusTraceFile(8);
  TraceBuilder cut = CensusStart();
  AddCensus(&cut, {0, 1, 1, 100, 1, 0, {{1, 1, 3}}});
  cut.Segment(SegmentKind::kCensusRows, 0, CensusRows({{1, 9, 27}})).Flush();
  CHECK(Anttracks(cut.file(), {"verify"}).code == 0);
  CHECK(Json(cut.file(), {"heap"})["objects"] == 1);
}

}  // namespace
}  // namespace anttracks::testing
