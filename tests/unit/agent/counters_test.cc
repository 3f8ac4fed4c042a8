// SPDX-License-Identifier: Apache-2.0
#include "agent/base/counters.h"

#include <doctest/doctest.h>

#include <set>

namespace anttracks::core {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("each counter has a row of its own") {
  std::set<std::string_view> keys;
  CounterValues values;
  for (const CounterRow& row : CounterRows()) {
    CAPTURE(row.key);
    CHECK(keys.insert(row.key).second);
    CHECK(values.*row.value == 0);
    values.*row.value = 1;  // no other row has this value
  }
  CHECK(keys.size() == sizeof(CounterValues) / sizeof(uint64_t));
}

TEST_CASE("the JSON has the counters of its mode, in the order in which programs have found them") {
  CounterValues values;
  values.samples = 3;
  values.objects = 7;
  values.lost_bytes = uint64_t{1} << 63;
  CHECK(
      CountersJson(values, ValidIn::kFull) ==
      R"({"objects":7,"bytes":0,"tlabs":0,"outside_objects":0,"sync_objects":0,"stacks":0,)"
      R"("cut_stacks":0,"stack_bytes":0,"stack_ns":0,"collections":0,"moves":0,"slides":0,)"
      R"("fillers":0,"skipped_bytes":0,"found_objects":0,"share_ppm":0,"budget_ppm":0,"spent_ppm":0,"raw_bytes":0,)"
      R"("stored_bytes":0,"chunks":0,"files":0,"sync_points":0,"abandoned_sync_points":0,"requested_collections":0,)"
      R"("sync_pause_ns":0,"compressed_chunks":0,"compress_ns":0,"write_ns":0,"waits":0,"blocked_ns":0,"walk_ns":0,)"
      R"("batches_read":0,"batches_refused":0,"walker_rests":0,"provenance_files":0,"lost_provenance":0,"provenance_ns":0,)"
      R"("queue_high_water_bytes":0,"dropped_chunks":0,"dropped_bytes":0,"lost_segments":0,)"
      R"("lost_bytes":9223372036854775808,"threads":0,"site_classes":0,"sites":0,"unknown_sites":0,"methods":0,)"
      R"("classes":0,"distinct_stacks":0,"live_site_classes":0,"table_bytes":0})");
  CHECK(
      CountersJson(values, ValidIn::kSample) ==
      R"({"samples":3,"sample_bytes":0,"sample_deaths":0,"untracked_samples":0,"collections":0,"raw_bytes":0,)"
      R"("stored_bytes":0,"chunks":0,"files":0,"compressed_chunks":0,"compress_ns":0,"write_ns":0,"waits":0,)"
      R"("blocked_ns":0,"queue_high_water_bytes":0,"dropped_chunks":0,"dropped_bytes":0,"lost_segments":0,)"
      R"("lost_bytes":9223372036854775808,"threads":0,"site_classes":0,"sites":0,"unknown_frames":0,"methods":0,)"
      R"("classes":0})");
}

TEST_CASE("a census has counters of its own, and none of allocations") {
  CounterValues values;
  values.censuses = 3;
  values.objects = 7;
  const std::string json = CountersJson(values, ValidIn::kCensus);
  CHECK(json.find("\"censuses\":3,") != std::string::npos);
  CHECK(json.find("\"unknown_sites\":0,") != std::string::npos);
  for (const char* key : {"\"objects\"", "\"sync_points\"", "\"samples\"", "\"share_ppm\""}) {
    CAPTURE(key);
    CHECK(json.find(key) == std::string::npos);
  }
}

TEST_CASE("a loss is reported once, with what to do") {
  CounterValues values;
  CHECK(CounterLines(values, ValidIn::kFull, Severity::kLoss).empty());
  values.lost_segments = 2;
  values.lost_bytes = 300;
  values.objects = 5;
  values.waits = 1;
  for (const ValidIn mode : {ValidIn::kFull, ValidIn::kSample}) {
    CHECK(CounterLines(values, mode, Severity::kLoss) ==
          Lines{"2 segments: dropped because the file could not be written fast enough; give a larger queue= "
                "or a faster disk"});
    CHECK(CounterLines(values, mode, Severity::kNotice).size() == 1);
  }
  values.untracked_samples = 1;
  CHECK(CounterLines(values, ValidIn::kFull, Severity::kNotice).size() == 1);
  CHECK(CounterLines(values, ValidIn::kSample, Severity::kNotice).size() == 2);
}

TEST_CASE("each value is under its own key") {
  CounterValues values;
  values.moves = 1;
  values.slides = 2;
  values.waits = 3;
  values.blocked_ns = 4;
  values.lost_segments = 5;
  values.dropped_chunks = 6;
  const std::string json = CountersJson(values, ValidIn::kFull);
  for (const char* pair : {"\"moves\":1,", "\"slides\":2,", "\"waits\":3,", "\"blocked_ns\":4,",
                           "\"lost_segments\":5,", "\"dropped_chunks\":6,"}) {
    CAPTURE(pair);
    CHECK(json.find(pair) != std::string::npos);
  }
  CHECK(CounterLines(values, ValidIn::kFull, Severity::kLoss).size() == 2);
}

TEST_CASE("whatever is more than information says what to do, or belongs to the row before") {
  Severity before = Severity::kInformation;
  for (const CounterRow& row : CounterRows()) {
    CAPTURE(row.key);
    if (row.severity == Severity::kInformation) CHECK(row.remedy.empty());
    if (row.severity != Severity::kInformation && row.remedy.empty()) CHECK(row.severity == before);
    before = row.severity;
  }
}

}  // namespace
}  // namespace anttracks::core
