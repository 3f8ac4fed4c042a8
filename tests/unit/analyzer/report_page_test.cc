// SPDX-License-Identifier: Apache-2.0
// The page of `report`: its data, its size, and that no text of a trace becomes a part of the page.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/report/rate_over_time.h"
#include "tests/unit/analyzer/census_trace.h"
#include "tests/unit/analyzer/sampled_trace.h"
#include "tests/unit/analyzer/skipped_trace.h"
#include "tests/unit/analyzer/small_trace.h"
#include "tests/unit/analyzer/stacks_trace.h"

namespace anttracks::testing {
namespace {

std::string PageOf(const std::string& trace, int code = 0) {
  const CommandResult result = Anttracks(trace, {"report", "-o", "-"});
  CHECK(result.code == code);
  return result.out;
}

nlohmann::json DataIn(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
}
nlohmann::json DataOf(const std::string& trace) { return DataIn(PageOf(trace)); }

uint64_t Sum(const nlohmann::json& numbers) {
  uint64_t sum = 0;
  for (const auto& number : numbers) sum += number.get<uint64_t>();
  return sum;
}
// Of what was live at a moment: row, objects, bytes, ...
uint64_t LiveSum(const nlohmann::json& moment, size_t which) {
  uint64_t sum = 0;
  for (size_t i = which; i < moment["live"].size(); i += 3) sum += moment["live"][i].get<uint64_t>();
  return sum;
}

size_t CountOf(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) count++;
  return count;
}

TEST_CASE("the page has what was allocated, what survived, and what was live after each collection") {
  const nlohmann::json data = DataOf(SmallTrace().file());
  CHECK(Sum(data["rows"]["allocated"]["objects"]) == 12);
  CHECK(Sum(data["rows"]["allocated"]["bytes"]) == 304);
  // Collection 0 finds a Node, the int[10] and the Object alive, collection 1 two of the Nodes allocated since.
  CHECK(Sum(data["rows"]["survived"]["objects"]) == 5);
  CHECK(Sum(data["rows"]["survived"]["bytes"]) == 24 + 56 + 16 + 2 * 24);
  REQUIRE(data["moments"].size() == 2);
  // As `heap` says, but for the filler.
  CHECK(LiveSum(data["moments"][0], 1) == 5);
  CHECK(LiveSum(data["moments"][0], 2) == 232);
  CHECK(LiveSum(data["moments"][1], 1) == 5);
  CHECK(LiveSum(data["moments"][1], 2) == 240);
  CHECK(data["moments"][1]["text"] == "after GC 1 (full, System.gc()), at 1.52 ms");
  CHECK(data["gcs"]["id"] == nlohmann::json{0, 1});
  CHECK(data["gcs"]["begin"] == nlohmann::json{5000, 20000});
  CHECK(data["gcs"]["spaces"][0]["name"] == "eden");
  CHECK(data["gcs"]["spaces"][0]["before"] == nlohmann::json{66 * 8, 12 * 8});
  CHECK(data["gcs"]["spaces"][0]["after"] == nlohmann::json{0, 0});
  CHECK(Sum(data["rate"]["bytes"]) == 304);
  CHECK(data["leaks"]["note"].get<std::string>().find("no verdict") == 0);
  CHECK(data["lifetimes"]["rows"].size() > 3);
  CHECK(data["allocated_estimated"] == false);
  CHECK(data["syncs"].size() == 1);
}

TEST_CASE("the calls of the page lead to its rows, in parts by the sampled stacks") {
  const nlohmann::json data = DataOf(StacksTrace().file());
  const auto& calls = data["calls"];
  CHECK(calls["rows"].size() == data["rows"]["site"].size());
  CHECK(calls["parent"].size() == calls["name"].size());
  CHECK(calls["note"].get<std::string>().find("is estimated from") != std::string::npos);
  size_t parts = 0;
  for (const auto& row : calls["rows"]) {
    parts = std::max(parts, row.size() / 2);
    for (size_t i = 0; i < row.size(); i += 2) CHECK(row[i] < calls["parent"].size());
  }
  CHECK(parts > 1);
  for (size_t i = 1; i < calls["parent"].size(); i++) CHECK(calls["parent"][i] < i);
}

TEST_CASE("the page of a trace of samples is of estimates, and says what samples cannot tell") {
  const nlohmann::json data = DataOf(SampledTrace().file());
  CHECK(data["allocated_estimated"] == true);
  CHECK(data["live_estimated"] == true);
  CHECK(Sum(data["rows"]["allocated"]["bytes"]) > 0);
  CHECK(data["rows"]["allocated"]["low"].size() == data["rows"]["site"].size());
  CHECK(data["notes"][0].get<std::string>().find("estimates from") == 0);
  CHECK(data["leaks"]["note"].get<std::string>().find("mode=sample") != std::string::npos);
  CHECK(data["lifetimes"]["note"].get<std::string>().find("mode=sample") != std::string::npos);
  CHECK(!data["moments"].empty());
}

TEST_CASE(
    "the page of censuses has what each counted, leaks with their histories, and nothing that was allocated") {
  const nlohmann::json data = DataOf(CensusTraceFile(9).file());
  CHECK(data["censuses"] == true);
  CHECK((!data["rows"].contains("allocated") && !data["rows"].contains("survived")));
  REQUIRE(data["moments"].size() == 11);
  CHECK(data["moments"][0]["text"] ==
        "after GC 3 (young), at 1.00 ms (with what is dead in the old space, which had not been looked into)");
  CHECK(data["moments"][9]["text"] == "after GC 90 (full), at 10.00 ms");
  // As `heap` says, but for the filler.
  CHECK(LiveSum(data["moments"][9], 1) == 1744);
  CHECK(LiveSum(data["moments"][9], 2) == 1700 * 24 + 400 + 84 * 8);
  CHECK(data["gcs"]["with_dead"] ==
        nlohmann::json{true, false, false, false, false, false, false, false, false, false, true});
  CHECK(data["gcs"]["begin"] == data["gcs"]["end"]);
  CHECK(data["gcs"]["spaces"][0]["name"] == "survivor");
  // Between the first census and the last one.
  CHECK(Sum(data["rate"]["bytes"]) == (115'000 - 10'000) * 8);
  CHECK(data["leaks"]["note"] ==
        "1 site piles up what is never freed; judged by 9 censuses after collections of the old space");
  REQUIRE(data["leaks"]["rows"].size() == 2);
  CHECK(data["leaks"]["rows"][0]["history"].size() == 11);
  CHECK(data["lifetimes"]["note"].get<std::string>().find("mode=census") != std::string::npos);
  CHECK(data["calls"]["note"].get<std::string>().find("no call stacks") != std::string::npos);
  const nlohmann::json none = DataOf(CensusStart().Flush().file());
  CHECK((none["moments"].empty() && none["rows"]["site"].empty()));
}

TEST_CASE("what was allocated between two censuses is spread evenly over the periods") {
  analyzer::RateOverTime rate;
  rate.AddEvenly(0, 1'000'000'000, 1e6);
  rate.AddEvenly(1'000'000'000, 1'000'000'001, 8);
  double sum = 0;
  for (const double bytes : rate.bytes()) sum += bytes;
  CHECK(sum == doctest::Approx(1'000'008));
  CHECK(rate.bytes().size() <= analyzer::RateOverTime::kMost);
  CHECK(rate.bytes()[3] == doctest::Approx(static_cast<double>(rate.period_ns()) / 1000));
  rate.AddEvenly(0, UINT64_MAX, 1e6);
  CHECK(rate.bytes().size() <= analyzer::RateOverTime::kMost);
}

TEST_CASE(
    "the page of a trace of which a share was read has intervals of what was allocated, and exact heaps") {
  const nlohmann::json data = DataOf(SkippedTrace().file());
  CHECK(data["allocated_estimated"] == true);
  CHECK(data["live_estimated"] == false);
  const auto& allocated = data["rows"]["allocated"];
  for (size_t i = 0; i < allocated["bytes"].size(); i++) {
    CHECK(allocated["low"][i] <= allocated["bytes"][i]);
    CHECK(allocated["bytes"][i] <= allocated["high"][i]);
  }
}

TEST_CASE("the page of a trace without a collection has what is live at the end") {
  TraceBuilder b = SmallStart();
  SmallAllocs(&b);
  const nlohmann::json data = DataOf(b.Flush().file());
  REQUIRE(data["moments"].size() == 1);
  CHECK(data["moments"][0]["gc"].is_null());
  CHECK(LiveSum(data["moments"][0], 1) == 9);
}

TEST_CASE("the page of a trace without events is a page, and a file that is no trace makes none") {
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8);
  const nlohmann::json data = DataOf(b.file());
  CHECK(data["rows"]["site"].empty());
  CHECK(PageOf("no trace", 3).empty());
}

// Names that would end the script, begin a comment or an element, or are not UTF-8.
TraceBuilder HostileTrace() {
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8);
  DefinitionsBuilder s;
  s.Class(1, "</script><img src=x onerror=alert(1)>", 0, 24).Class(2, "<!--<script>\xff", 0, 24);
  s.Method(1, "\"><svg onload=alert(1)>", "add", "</title>").Site(16, 1, 4, 12, 0, 0);
  s.Thread(1, "main", 1).SiteClass(1, 16, 1).SiteClass(2, 16, 2);
  b.Segment(SegmentKind::kDefinitions, 0, s.bytes());
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(2000).Tlab(kEden).Fixed(1).Fixed(2));
  b.End(3000, "VM death", "{}");
  return b.Flush();
}

TEST_CASE("no text of a trace becomes a part of the page") {
  const std::string page = PageOf(HostileTrace().file());
  CHECK(CountOf(page, "</script>") == 2);
  CHECK(CountOf(page, "<!--") == 1);
  for (const char* never :
       {"<img", "<svg onload", "http:", "https:", "@import", "onclick", "innerHTML", " style="}) {
    CAPTURE(never);
    CHECK(page.find(never) == std::string::npos);
  }
  const nlohmann::json data = DataIn(page);
  const auto texts = data["texts"].get<std::vector<std::string>>();
  CHECK(std::count(texts.begin(), texts.end(), "</script><img src=x onerror=alert(1)>") == 1);
}

TEST_CASE("the page allows its one script and style by their hashes, and nothing else") {
  const std::string page = PageOf(SmallTrace().file());
  const size_t at = page.find("http-equiv=\"Content-Security-Policy\" content=\"");
  REQUIRE(at != std::string::npos);
  const std::string policy = page.substr(at, page.find("\">", at) - at);
  CHECK(policy.find("default-src 'none'") != std::string::npos);
  CHECK(policy.find("script-src 'sha256-") != std::string::npos);
  CHECK(policy.find("style-src 'sha256-") != std::string::npos);
  CHECK(policy.find("unsafe") == std::string::npos);
}

// So many sites, each with an object of a class with a long name, half of them found by a collection.
TraceBuilder ManySites(uint32_t sites) {
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8);
  constexpr uint32_t kRun = 250;
  for (uint32_t i = 0, run = 0; run < sites; run += kRun) {
    DefinitionsBuilder s;
    if (run == 0) s.Thread(1, "main", 1);
    for (; i < std::min(sites, run + kRun); i++) {
      s.Class(i + 1, "app." + std::string(900, 'L') + std::to_string(i), 0, 16);
      s.Method(i + 1, "app." + std::string(900, 'M'), std::string(900, 'm') + std::to_string(i),
               std::string(900, 'f'))
          .Site(16 + i, i + 1, 4, 12, 0, 0);
      s.SiteClass(i + 1, 16 + i, i + 1);
    }
    b.Segment(SegmentKind::kDefinitions, 0, s.bytes()).Flush(true);
  }
  b.SyncBegin(0, 1000, Spaces(0, 0, 0, 0));
  b.Numbers(SegmentKind::kSyncEnd, 0, {0, 0});
  b.Flush();
  for (uint32_t i = 0; i < sites; i += kRun) {
    Objects objects;
    objects.Head(2000 + i).Tlab(static_cast<int64_t>(i == 0 ? kEden : kEden + uint64_t{i} * 2));
    for (uint32_t k = i; k < std::min(sites, i + kRun); k++) objects.Fixed(k + 1);
    b.Segment(SegmentKind::kAlloc, 1, objects);
  }
  b.End(1'000'000'000, "VM death", "{}");
  return b.Flush();
}

TEST_CASE(
    "the page is bounded however many sites there are and however long their names, and sums stay exact") {
  constexpr uint32_t kSites = 1'500;
  const std::string page = PageOf(ManySites(kSites).file());
  CHECK(page.size() <= 2'000'000);
  CHECK(page.size() > 500'000);  // as few rows as that takes, and no fewer
  const nlohmann::json data = DataIn(page);
  CHECK(Sum(data["rows"]["allocated"]["objects"]) == kSites);
  CHECK(Sum(data["rows"]["allocated"]["bytes"]) == kSites * 16);
  CHECK(LiveSum(data["moments"][0], 1) == kSites);
  CHECK(data["rows"]["others"].get<size_t>() + data["rows"]["site"].size() - 1 == kSites);
}

TEST_CASE("the smaller sites of a class are one row if together they are much, and sums stay exact") {
  constexpr uint32_t kSites = 700;
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8);
  DefinitionsBuilder s;
  s.Thread(1, "main", 1).Class(1, "app.Node", 0, 16).Method(1, "app.Main", "run", "Main.java");
  Objects objects;
  objects.Head(2000).Tlab(kEden);
  for (uint32_t i = 1; i <= kSites; i++) {
    s.Site(15 + i, 1, 4, i, 0, 0).SiteClass(i, 15 + i, 1);
    objects.Fixed(i);
  }
  b.Segment(SegmentKind::kDefinitions, 0, s.bytes());
  b.Segment(SegmentKind::kAlloc, 1, objects);
  b.End(3000, "VM death", "{}");
  const nlohmann::json data = DataOf(b.Flush().file()), rows = data["rows"];
  CHECK((rows["sites"] == 500 && rows["in_classes"] == 200 && rows["others"] == 0));
  REQUIRE(rows["site"].size() == 501);
  CHECK(data["texts"][rows["site"].back().get<size_t>()] == "200 smaller sites");
  CHECK(data["texts"][rows["class"].back().get<size_t>()] == "app.Node");
  CHECK(rows["allocated"]["objects"].back() == 200);
  CHECK(Sum(rows["allocated"]["objects"]) == kSites);
  CHECK(LiveSum(data["moments"][0], 1) == kSites);
}

TEST_CASE("a report is written once, and replaced only with -f and only if it is one") {
  const TempFile file("");
  const std::string page = file.path() + ".html", trace = SmallTrace().file();
  CHECK(Anttracks(trace, {"report", "-o", page}).out.find("wrote " + page + ", ") == 0);
  const CommandResult again = Anttracks(trace, {"report", "-o", page});
  CHECK(again.code == 2);
  CHECK(again.err.find("exists already; -f replaces it") != std::string::npos);
  CHECK(Anttracks(trace, {"report", "-o", page, "-f"}).code == 0);
  std::ofstream(page) << "mine";
  const CommandResult foreign = Anttracks(trace, {"report", "-o", page, "-f"});
  CHECK(foreign.code == 2);
  CHECK(foreign.err.find("not a report of a trace") != std::string::npos);
  std::stringstream kept;
  kept << std::ifstream(page).rdbuf();
  CHECK(kept.str() == "mine");
  std::filesystem::remove(page);
}

}  // namespace
}  // namespace anttracks::testing
