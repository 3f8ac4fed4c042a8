// SPDX-License-Identifier: Apache-2.0
// One description of columns gives the table, JSON and CSV.
#include "analyzer/cli/report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "analyzer/cli/amount.h"
#include "tests/unit/analyzer/sampled_trace.h"
#include "tests/unit/analyzer/skipped_trace.h"
#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {
namespace {

using namespace analyzer;  // NOLINT: the report's vocabulary

Report Mixed() {
  Report report;
  report.head["gc"] = 7;
  report.columns = {
      {.key = "name", .title = "Name"},
      {.key = "callers", .unit = Unit::kTexts},
      {.key = "live.bytes", .title = "Bytes", .unit = Unit::kBytes, .with_share = true},
      {.key = "live.objects", .title = "Objects", .unit = Unit::kCount, .accuracy = Accuracy::kInterval},
      {.key = "time_ns", .title = "Time", .unit = Unit::kNs},
      {.key = "quality", .unit = Unit::kShare, .where = Where::kInData},
      {.key = "known", .unit = Unit::kFlag, .where = Where::kInData},
      {.key = "size", .title = "Size", .where = Where::kInText, .right_aligned = true}};
  report.text_order = {"live.bytes", "live.objects", "time_ns", "size", "name"};
  report.rows = {{"a", std::vector<std::string>{"b", "c,d"}, uint64_t{3000}, Estimated{10.4, 8.5, 2000},
                  uint64_t{1500}, 0.5, true, "16 + 4 n"},
                 {"x \"y\"", std::vector<std::string>{}, uint64_t{1000}, Estimated{1, 0, 2}, nullptr, Value(),
                  false, Cell("24", "?")}};
  report.sum_label = "2 rows";
  return report;
}

TEST_CASE("of amounts with the same bytes the one of more objects is larger") {
  CHECK(Amount(HeapTotals{2, 3}) > Amount(HeapTotals{1, 3}));
  CHECK(Amount(HeapTotals{2, 3}) < Amount(HeapTotals{1, 4}));
}

TEST_CASE("a table has its own order, shares, intervals, lines under a row, and sums") {
  CHECK(TableText(Mixed(), 0) == 1 + R"out(
  Bytes    Share  Est. objects        95 %    Time      Size  Name
  3,000   75.0 %           ~10  9 to 2,000  1.5 us  16 + 4 n  a
                                                                <- b
                                                                <- c,d
  1,000   25.0 %            ~1      0 to 2       -         ?  x "y"
  --------------------------------------------------------------------
  4,000  100.0 %           ~11  9 to 2,002                    2 rows
)out");
}

TEST_CASE("JSON has the columns' order and keys, objects for dotted ones, and full numbers") {
  CHECK(ReportJson(Mixed(), 0).dump() ==
        R"({"gc":7,"rows":[{"name":"a","callers":["b","c,d"],"live":{"bytes":3000,"objects":10,)"
        R"("objects_low":9,"objects_high":2000},"time_ns":1500,"quality":0.5,"known":true},)"
        R"({"name":"x \"y\"","callers":[],"live":{"bytes":1000,"objects":1,"objects_low":0,"objects_high":2},)"
        R"("time_ns":null,"known":false}]})");
}

TEST_CASE("CSV has a line of keys and quotes what has commas or quotation marks") {
  CHECK(CsvText(Mixed(), 0) ==
        "name,callers,live.bytes,live.objects,live.objects_low,live.objects_high,time_ns,quality,known\n"
        "a,\"b <- c,d\",3000,10,9,2000,1500,0.5,true\n"
        "\"x \"\"y\"\"\",,1000,1,0,2,,,false\n");
}

TEST_CASE("fields of CSV are quoted only if they must be, and cannot break a line") {
  CHECK(CsvField("") == "");
  CHECK(CsvField("a b") == "a b");
  CHECK(CsvField("a,b") == "\"a,b\"");
  CHECK(CsvField("\"") == "\"\"\"\"");
  CHECK(CsvField("a\"b\"") == "\"a\"\"b\"\"\"");
  CHECK(CsvField("a\r\nb\x1B") == "a??b?");
}

TEST_CASE("a report without rows prints its keys") {
  Report report = Mixed();
  report.rows.clear();
  CHECK(ReportJson(report, 0).dump() == R"({"gc":7,"rows":[]})");
  CHECK(CsvText(report, 0).find('\n') == CsvText(report, 0).size() - 1);
}

TEST_CASE("only the first rows are printed if so many are wanted, and sums are those of all") {
  CHECK(ReportJson(Mixed(), 1)["rows"].size() == 1);
  const std::string csv = CsvText(Mixed(), 1);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 2);
  const std::string table = TableText(Mixed(), 1);
  CHECK(table.find("75.0 %") != std::string::npos);
  CHECK(table.find("4,000") != std::string::npos);
  CHECK(table.find("... and 1 more (--top 0 shows all)") != std::string::npos);
}

// Fields of a CSV line without quotes.
std::vector<std::string> Split(const std::string& line) {
  std::vector<std::string> fields{""};
  for (const char c : line) {
    if (c == ',') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

TEST_CASE("CSV of an exact trace has the keys of JSON, all rows, and nothing on stderr") {
  const std::pair<const char*, const char*> kCases[] = {{"heap", "rows"},       {"sites", "sites"},
                                                        {"classes", "classes"}, {"threads", "threads"},
                                                        {"gcs", "gcs"},         {"quality", "rows"}};
  for (const auto& [command_, key] : kCases) {
    const auto& command = command_;  // clang 14 captures no binding
    CAPTURE(command);
    const CommandResult csv = Anttracks(SmallTrace().file(), {command, "--csv"});
    CHECK(csv.code == 0);
    CHECK(csv.err == "");
    std::istringstream lines(csv.out);
    std::string line;
    REQUIRE(std::getline(lines, line));
    const std::vector<std::string> keys = Split(line);
    const auto rows =
        nlohmann::ordered_json::parse(Anttracks(SmallTrace().file(), {command, "--json"}).out)[key];
    for (const auto& row : rows) {
      REQUIRE(std::getline(lines, line));
      const std::vector<std::string> fields = Split(line);
      REQUIRE(fields.size() == keys.size());
      for (size_t i = 0; i < keys.size(); i++) {
        const auto at = nlohmann::ordered_json::json_pointer("/" + Replace(keys[i], ".", "/"));
        if (!row.contains(at) || row[at].is_null()) {
          CHECK(fields[i] == "");
        } else {
          CHECK(fields[i] == (row[at].is_string() ? row[at].get<std::string>() : row[at].dump()));
        }
      }
    }
    CHECK_FALSE(std::getline(lines, line));
  }
}

TEST_CASE("CSV of heaps and sites") {
  CHECK(Anttracks(SmallTrace().file(), {"heap", "--csv", "--by", "site", "--top", "2"}).out ==
        "site,application,application_share,objects,bytes\n<unknown>,,0.0,1,112\n"
        "app.List.add(List.java:12),app.List.add(List.java:12),1.0,3,72\n");
  CHECK(
      Anttracks(SmallTrace().file(), {"sites", "--csv", "--tiers", "--callers", "--live", "--top", "1"}).out ==
      "site,class,tier,callers,objects,bytes,live_objects,live_bytes\n"
      "app.List.add(List.java:12),app.Node,interpreter,,8,192,4,96\n");
  CHECK(Anttracks(SmallTrace().file(), {"heap", "--csv", "--objects", "--gc", "0", "--top", "1"})
            .out.find("address,class,bytes,site\n0x10180000,app.Node,24,app.List.add(List.java:12)\n") == 0);
}

TEST_CASE("CSV of estimates has their intervals, and stderr says that they are estimates") {
  const CommandResult sites = Anttracks(SkippedTrace().file(), {"sites", "--csv"});
  CHECK(sites.out.find(
            "site,class,application,application_share,objects,objects_low,objects_high,bytes,bytes_low,"
            "bytes_high\n") == 0);
  CHECK(sites.err.find("note: estimates: ") == 0);
  const auto json =
      nlohmann::json::parse(Anttracks(SkippedTrace().file(), {"sites", "--json"}).out)["sites"][0];
  std::istringstream lines(sites.out);
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  const std::vector<std::string> fields = Split(line);
  REQUIRE(fields.size() == 10);
  const char* const kKeys[] = {"objects", "objects_low", "objects_high", "bytes", "bytes_low", "bytes_high"};
  for (size_t i = 0; i < 6; i++) CHECK(fields[i + 4] == json[kKeys[i]].dump());
  CHECK(Anttracks(SkippedTrace().file(), {"threads", "--csv"})
            .out.find("id,java_id,os_id,name,objects,objects_low,objects_high,bytes,skipped_bytes,outside_tlab_"
                      "objects,outside_tlab_bytes\n") == 0);
}

TEST_CASE("CSV of samples has how many there are, and stderr says that numbers are estimates") {
  const CommandResult heap = Anttracks(SampledTrace().file(), {"heap", "--csv", "--gc", "0"});
  CHECK(heap.out == "class,objects,bytes,samples\nint[],1,1212697,1\napp.Node,21846,524300,1\n");
  CHECK(heap.err == "note: estimates from 5 samples, one per 512 KiB on average\n");
  CHECK(Anttracks(SampledTrace().file(), {"gcs", "--csv"})
            .out.find("id,kind,cause,start_ns,duration_ns,live.objects,live.bytes,live.samples,died.objects,"
                      "died.bytes,died.samples\n0,,,5000,4000,") == 0);
}

TEST_CASE("CSV of verify is the number of errors by kind") {
  CHECK(Anttracks(SmallTrace().file(), {"verify", "--csv"}).out == "kind,errors\n");
  TraceBuilder b = SmallStart();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(2000).Tlab(kHeapEnd).Fixed(1)).Flush();
  const CommandResult bad = Anttracks(b.file(), {"verify", "--csv"});
  CHECK(bad.code == 1);
  CHECK(bad.out == "kind,errors\nobject outside the heap,1\n");
  CHECK(bad.err.find("object outside the heap") != std::string::npos);
}

}  // namespace
}  // namespace anttracks::testing
