// SPDX-License-Identifier: Apache-2.0
// The program over time, and the life of one object.
#include "analyzer/passes/timeline.h"

#include <doctest/doctest.h>

#include "tests/unit/analyzer/json_output.h"
#include "tests/unit/analyzer/skipped_trace.h"

namespace anttracks::testing {
namespace {

using analyzer::Timeline;
using nlohmann::json;

json Intervals(const Words& options, const std::string& trace = SmallTrace().file()) {
  Words words{"timeline"};
  words.insert(words.end(), options.begin(), options.end());
  return Json(trace, words)["intervals"];
}

uint64_t Sum(const json& rows, const char* key) {
  uint64_t sum = 0;
  for (const json& row : rows) sum += row[key].get<uint64_t>();
  return sum;
}

TEST_CASE("intervals add up to the whole trace, however many there are") {
  for (const char* count : {"1", "2", "7", "20", "1000"}) {
    CAPTURE(count);
    const json rows = Intervals({"--intervals", count});
    CHECK(rows.size() == std::stoul(count));
    CHECK(Sum(rows, "objects") == 12);
    CHECK(Sum(rows, "bytes") == 304);
    CHECK(Sum(rows, "gcs") == 2);
    CHECK(Sum(rows, "pauses_ns") == 4000 + 1'500'000);
    CHECK(rows.front()["begin_ns"] == 0);
    CHECK(rows.back()["end_ns"] == 2'000'000);
    CHECK(rows.back()["bytes_after"] == 240);
    CHECK(rows.back()["after"]["old"] == 240);
    for (size_t i = 1; i < rows.size(); i++) CHECK(rows[i]["begin_ns"] == rows[i - 1]["end_ns"]);
  }
}

TEST_CASE(
    "an interval has the allocations and pauses that began in it, and the heap after its last collection") {
  const json rows = Intervals({"--intervals", "2"});
  CHECK(rows[0]["objects"] == 11);
  CHECK(rows[1]["objects"] == 1);
  CHECK(rows[0]["gcs"] == 2);
  CHECK(rows[0]["longest_ns"] == 1'500'000);
  CHECK(rows[0]["bytes_before"] == 8 * (66 + 17));
  CHECK(rows[1]["gcs"] == 0);
  CHECK(rows[1]["bytes_before"].is_null());
  CHECK(rows[1]["bytes_after"] == 240);
}

TEST_CASE("a timeline is of the objects and the time that are selected") {
  CHECK(Sum(Intervals({"--where", "class=Node"}), "objects") == 9);
  CHECK(Sum(Intervals({"--from", "1"}), "objects") == 1);
  CHECK(Sum(Intervals({"--from", "0.001s"}), "gcs") == 0);
  CHECK(Sum(Intervals({"--to", "0.001s"}), "objects") == 11);
  const CommandResult none = Anttracks(SmallTrace().file(), {"timeline", "--from", "9"});
  CHECK(none.code == 2);
  CHECK(Anttracks(SmallTrace().file(), {"timeline", "--intervals", "0"}).code == 2);
}

TEST_CASE("of stretches that were not read a timeline has the bytes, and says so") {
  const CommandResult text = Anttracks(SkippedTrace().file(), {"timeline"});
  CHECK(text.out.find("some stretches were not read: their bytes count, their objects do not") !=
        std::string::npos);
  const json rows = Intervals({"--intervals", "1"}, SkippedTrace().file());
  CHECK(rows[0]["bytes"].get<uint64_t>() > 20 * 8);
  CHECK(!rows[0].contains("objects"));
}

TEST_CASE("slots grow with the trace, and lose nothing") {
  analyzer::Problems problems;
  analyzer::Definitions definitions(problems);
  Timeline timeline(definitions);
  uint64_t words = 0;
  for (uint64_t time = 1; time < UINT64_MAX / 3; time *= 3) {
    timeline.AllocBegin(1, time, 0);
    timeline.Skipped(0, 10);
    words += 10;
  }
  timeline.Finish(UINT64_MAX);
  CHECK(timeline.slots().size() <= Timeline::kMostSlots);
  uint64_t sum = 0;
  for (const Timeline::Slot& slot : timeline.slots()) sum += slot.skipped_words;
  CHECK(sum == words);
}

std::vector<std::string> EventsOf(const json& report) {
  std::vector<std::string> events;
  for (const json& row : report["events"]) events.push_back(row["event"]);
  return events;
}
using Names = std::vector<std::string>;

TEST_CASE("the life of an object is followed from its allocation, whichever of its addresses is given") {
  const std::string trace = SmallTrace().file();
  const json report = Json(trace, {"object", "0x102000a8@1"});
  CHECK(report["class"] == "app.Node");
  CHECK(report["thread"] == "main (1)");
  CHECK(report["site"] == "app.List.add(List.java:12)");
  CHECK(EventsOf(report) == Names{"allocated", "moved", "moved", "alive at the end"});
  const json& events = report["events"];
  CHECK(events[0]["to"] == "0x10000000");
  CHECK(events[0]["to_space"] == "eden");
  CHECK(events[0]["time_ns"] == 2000);
  CHECK(events[1]["gc"] == 0);
  CHECK(events[1]["to_space"] == "survivor");
  CHECK(events[2]["from"] == "0x10180000");
  CHECK(events[2]["to"] == "0x102000a8");
  CHECK(events[2]["to_space"] == "old");
  CHECK(events[2]["kind"] == "full");
  CHECK(Json(trace, {"object", "0x10180000@0"})["events"] == events);
  CHECK(Json(trace, {"object", "0x102000a8"})["events"] == events);
}

TEST_CASE("an object's life as text") {
  const CommandResult result = Anttracks(SmallTrace().file(), {"object", "0x102000a8@1"});
  CHECK(result.err == "");
  CHECK(result.out == R"out(
0x102000a8 after GC 1 (full, System.gc()), at 1.52 ms
  class       app.Node, 24 B
  site        app.List.add(List.java:12)
  thread      main (1)

  Event             GC  Kind        At  From        Space     To          Space
  allocated                     2.0 us                        0x10000000  eden
  moved              0  young   5.0 us  0x10000000  eden      0x10180000  survivor
  moved              1  full   20.0 us  0x10180000  survivor  0x102000a8  old
  alive at the end             2.00 ms  0x102000a8  old
)out" + 1);
}

TEST_CASE("an object dies at the collection that finds it dead, and one from before the trace was listed") {
  const std::string trace = SmallTrace().file();
  const json dead = Json(trace, {"object", "0x10180018@0"});  // the Object of worker
  CHECK(dead["thread"] == "worker (2)");
  CHECK(EventsOf(dead) == Names{"allocated", "moved", "died"});
  CHECK(dead["events"][2]["gc"] == 1);
  CHECK(dead["events"][2]["from_space"] == "survivor");
  const json mirror = Json(trace, {"object", "0x10200000@1"});
  CHECK(mirror["thread"] == "<before trace>");
  CHECK(EventsOf(mirror) == Names{"listed by a sync point", "stayed", "alive at the end"});
}

TEST_CASE("what a collection found in a stretch that was not read is found again") {
  const json found = Json(SkippedTrace().file(), {"object", "0x10200088@0"});  // int[10] at kOld + 17
  CHECK(EventsOf(found) == Names{"found and moved", "moved", "alive at the end"});
  CHECK(found["events"][0]["from_space"] == "eden");
}

TEST_CASE("an address at which no object begins is an error, with the one that reaches over it") {
  const auto err = [](const char* object) {
    const CommandResult result = Anttracks(SmallTrace().file(), {"object", object});
    CHECK(result.code == 2);
    CHECK(result.out == "");
    return result.err;
  };
  CHECK(err("0x10200008@1")
            .find("no object begins at 0x10200008 after GC 1 (full, System.gc()), at 1.52 ms; the "
                  "one at 0x10200000 reaches over it") != std::string::npos);
  CHECK(err("0x10000000@1").find("no object begins at 0x10000000") != std::string::npos);
  CHECK(err("0x10200000@9").find("there is no collection 9") != std::string::npos);
  for (const char* wrong : {"", "@1", "0x", "12345", "0x10200001", "0x10200000@", "0x10200000@x", "-8"}) {
    CAPTURE(wrong);
    CHECK(err(wrong).find("no address of an object") != std::string::npos);
  }
  CHECK(Anttracks(SmallTrace().file(), {"object"}).err.find("which object?") != std::string::npos);
}

}  // namespace
}  // namespace anttracks::testing
