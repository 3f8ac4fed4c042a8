// SPDX-License-Identifier: Apache-2.0
// The program over time.
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

}  // namespace
}  // namespace anttracks::testing
