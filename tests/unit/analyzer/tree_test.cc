// SPDX-License-Identifier: Apache-2.0
// Sampled call stacks: the tree of calls, flame graphs, and the application's line of a site.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "analyzer/cli/application_sites.h"
#include "analyzer/cli/callers.h"
#include "analyzer/cli/flame_graph.h"
#include "tests/unit/analyzer/json_output.h"
#include "tests/unit/analyzer/sampled_trace.h"
#include "tests/unit/analyzer/skipped_trace.h"
#include "tests/unit/analyzer/stacks_trace.h"

namespace anttracks::testing {
namespace {

using namespace analyzer;
// "depth call bytes objects stacks" of each row; a class has no stacks.
Words Rows(const nlohmann::json& tree) {
  Words rows;
  for (const auto& row : tree["calls"]) {
    rows.push_back(row["depth"].dump() + " " + row["call"].get<std::string>() + " " + row["bytes"].dump() +
                   " " + row["objects"].dump() + " " + (row.contains("stacks") ? row["stacks"].dump() : "-"));
  }
  return rows;
}

TEST_CASE("the tree splits what a site allocated among its callers, and adds up to all of it") {
  const nlohmann::json tree = Json(StacksTrace().file(), {"tree"});
  CHECK(tree["bytes"] == 208);
  CHECK(tree["objects"] == 8);
  CHECK(tree["stacks"] == 6);
  // 4 Nodes of List.add are split 3 to 1.
  CHECK(Rows(tree) == Words{"1 app.Main.main(Main.java:5) 96 4 5", "2 app.Main.run(Main.java:30) 96 4 5",
                            "3 app.List.add(List.java:12) 96 4 5", "4 app.Node 96 4 -",
                            "1 <no stack was sampled> 88 3 0", "2 app.Main.run(Main.java:30) 88 3 0",
                            "3 int[] 72 2 -", "3 java.lang.Object.clone(Native Method) 16 1 0",
                            "4 java.lang.Object 16 1 -", "1 app.Worker.work(Worker.java:7) 24 1 1",
                            "2 app.List.add(List.java:12) 24 1 1", "3 app.Node 24 1 -"});
}

TEST_CASE("a stack that was taken at a larger distance stands for more bytes") {
  const nlohmann::json tree = Json(StacksTrace(3UL * 4096).file(), {"tree"});
  CHECK(tree["bytes"] == 208);
  // 4 Nodes of List.add: 3 stacks from Main.run, and 1 of three times the distance from Worker.work.
  const Words rows = Rows(tree);
  CHECK(std::find(rows.begin(), rows.end(), "1 app.Worker.work(Worker.java:7) 48 2 1") != rows.end());
}

TEST_CASE("stacks with more bytes than can be counted do no harm") {
  std::vector<Callers::Sampled> among = {{1, 1, UINT64_MAX}, {2, 1, UINT64_MAX}};
  uint64_t sum = 0;
  Split(1000, among, [&](const auto&, uint64_t part) { sum += part; });
  CHECK(sum == 1000);
  StackSamples::Count count;
  count.Add(1, UINT64_MAX);
  count.Add(1, 1);
  CHECK(count.bytes == UINT64_MAX);
}

TEST_CASE("the table indents where calls part, and leaves out small ones") {
  const CommandResult result = Anttracks(StacksTrace().file(), {"tree", "--min", "20"});
  CHECK(result.code == 0);
  CHECK(result.err == "");
  CHECK(
      result.out ==
      R"(how the bytes of a site split among its callers is estimated from 6 stacks, one per 4.00 KiB on average
allocated: 8 objects, 208 B

  Bytes       %  Objects  Stacks  Call
   96 B  46.2 %        4       5    app.Main.main(Main.java:5)
   96 B  46.2 %        4       5    app.Main.run(Main.java:30)
   96 B  46.2 %        4       5    app.List.add(List.java:12)
   96 B  46.2 %        4            app.Node
   88 B  42.3 %        3       0    <no stack was sampled>
   88 B  42.3 %        3       0    app.Main.run(Main.java:30)
   72 B  34.6 %        2            int[]

5 calls are below 20 % and not shown: give --min, such as --min 0.1
)");
}

TEST_CASE("the reverse tree leads from the code that allocates to its callers") {
  CHECK(Rows(Json(StacksTrace().file(), {"tree", "--reverse"})) ==
        Words{"1 app.List.add(List.java:12) 120 5 6", "2 app.Main.run(Main.java:30) 96 4 5",
              "3 app.Main.main(Main.java:5) 96 4 5", "2 app.Worker.work(Worker.java:7) 24 1 1",
              "1 app.Main.run(Main.java:30) 72 2 0", "2 <no stack was sampled> 72 2 0",
              "1 java.lang.Object.clone(Native Method) 16 1 0", "2 app.Main.run(Main.java:30) 16 1 0",
              "3 <no stack was sampled> 16 1 0"});
}

TEST_CASE("calls are told apart by methods on demand") {
  const nlohmann::json tree = Json(StacksTrace().file(), {"tree", "--methods"});
  CHECK(tree["calls"][0]["call"] == "app.Main.main");
  CHECK(tree["calls"][3]["call"] == "app.Node");
}

TEST_CASE("a window and a thread choose stacks, too") {
  // After collection 0 the worker allocated one Node, and its stack was sampled.
  CHECK(Rows(Json(StacksTrace().file(), {"tree", "--from", "0"})) ==
        Words{"1 app.Worker.work(Worker.java:7) 24 1 1", "2 app.List.add(List.java:12) 24 1 1",
              "3 app.Node 24 1 -"});
  CHECK(Json(StacksTrace().file(), {"tree", "--where", "thread=main"})["stacks"] == 5);
  CHECK(Json(StacksTrace().file(), {"tree", "--where", "thread=worker"})["stacks"] == 1);
}

TEST_CASE("the tree of what is live splits it as what was allocated") {
  const nlohmann::json tree = Json(StacksTrace().file(), {"tree", "--live", "--gc", "0"});
  CHECK(tree["bytes"] == 80);
  CHECK(Rows(tree)[0] == "1 <no stack was sampled> 56 1 0");
  CHECK(Rows(tree)[3] == "1 app.Main.main(Main.java:5) 18 1 3");
}

TEST_CASE("collapsed stacks have a line for each path, and the exact sum") {
  const CommandResult result = Anttracks(StacksTrace().file(), {"tree", "--collapsed"});
  CHECK(result.code == 0);
  CHECK(result.out ==
        "app.Main.main(Main.java:5);app.Main.run(Main.java:30);app.List.add(List.java:12);app.Node 96\n"
        "app.Worker.work(Worker.java:7);app.List.add(List.java:12);app.Node 24\n"
        "<no stack was sampled>;app.Main.run(Main.java:30);int[] 72\n"
        "<no stack was sampled>;app.Main.run(Main.java:30);java.lang.Object.clone(Native "
        "Method);java.lang.Object 16\n");
  CHECK(result.err.find("estimated from 6 stacks") != std::string::npos);
}

TEST_CASE("the parts of a number add up to it, whatever the counts are") {
  const std::vector<Callers::Sampled> among = {{1, 1, 1}, {2, 1, 1'000'000'007}, {3, 1, 3}, {4, 1, 1}};
  for (const uint64_t whole : {uint64_t{0}, uint64_t{1}, uint64_t{7}, uint64_t{1} << 60}) {
    uint64_t sum = 0;
    size_t parts = 0;
    Split(whole, among, [&](const auto&, uint64_t part) {
      sum += part;
      parts++;
    });
    CHECK(sum == whole);
    CHECK(parts == 4);
  }
}

TEST_CASE("without stacks the tree knows the callers that were inlined, and says so") {
  const nlohmann::json tree = Json(SmallTrace().file(), {"tree"});
  CHECK(tree["stacks"] == 0);
  CHECK(tree["bytes"] == 304);
  const CommandResult result = Anttracks(SmallTrace().file(), {"tree"});
  CHECK(result.out.find("no call stacks are in the trace") == 0);
}

TEST_CASE("the tree of a trace of samples is made of their stacks") {
  const nlohmann::json tree = Json(SampledTrace().file(), {"tree"});
  CHECK(tree["estimated"] == true);
  CHECK(tree["calls"][0]["depth"] == 1);
  for (const std::string& row : Rows(tree)) CHECK(row.find("<no stack") == std::string::npos);
}

TEST_CASE("where a share was read, the tree is of estimates") {
  const CommandResult result = Anttracks(SkippedTrace().file(), {"tree"});
  CHECK(result.code == 0);
  CHECK(result.out.find("Est. bytes") != std::string::npos);
}

TEST_CASE("a flame graph is one page, whose names end no script") {
  CallTree tree;
  const uint32_t path[] = {tree.Name("app.Main.main"), tree.Name("</script><!--\xff")};
  tree.Add(path, {100'000, 2});
  tree.Add({path, 1}, {1, 1});
  const std::string page = FlameGraphHtml(tree, "allocated: <b>");
  CHECK(page.find("<!DOCTYPE html>") == 0);
  CHECK(page.find("\"nodes\":[0,0,100001,3,1,1,100001,3,2,2,100000,2]") != std::string::npos);
  CHECK(page.find("allocated: \\u003cb>") != std::string::npos);
  // The page's own two, and no more.
  size_t ends = 0;
  for (size_t at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1)) ends++;
  CHECK(ends == 2);
  CHECK(page.rfind("<!--") == page.find("<!-- AntTracks"));
  for (const char* outside : {"http:", "https:", "src=", "@import", "onclick"}) {
    CAPTURE(outside);
    CHECK(page.find(outside) == std::string::npos);
  }
}

TEST_CASE("a flame graph is written once, and replaced only with -f and only if it is one") {
  const std::string page =
      (std::filesystem::temp_directory_path() / ("flame-" + std::to_string(::getpid()))).string();
  std::filesystem::remove(page);
  const std::string trace = StacksTrace().file();
  CHECK(Anttracks(trace, {"tree", "--flame", page}).out == "wrote " + page + ": open it in a browser\n");
  const CommandResult again = Anttracks(trace, {"tree", "--flame", page});
  CHECK(again.code == 2);
  CHECK(again.err.find("exists already; -f replaces it") != std::string::npos);
  CHECK(Anttracks(trace, {"tree", "--flame", page, "-f"}).code == 0);
  std::ofstream(page) << "mine";
  const CommandResult foreign = Anttracks(trace, {"tree", "--flame", page, "-f"});
  CHECK(foreign.code == 2);
  CHECK(foreign.err.find("not a flame graph") != std::string::npos);
  std::stringstream kept;
  kept << std::ifstream(page).rdbuf();
  CHECK(kept.str() == "mine");
  std::filesystem::remove(page);
}

TEST_CASE("sites name the application's line beyond the callers that were inlined") {
  const auto application = [](const Words& prefixes) {
    Words words{"sites"};
    words.insert(words.end(), prefixes.begin(), prefixes.end());
    std::map<std::string, std::pair<nlohmann::json, double>> lines;
    const nlohmann::json report = Json(StacksTrace().file(), words);
    for (const auto& row : report["sites"])
      lines[row["site"]] = {row["application"], row["application_share"].get<double>()};
    return lines;
  };
  const auto own = application({});
  CHECK(own.at("app.List.add(List.java:12)").first == "app.List.add(List.java:12)");
  CHECK(own.at("java.lang.Object.clone(Native Method)").first == "app.Main.run(Main.java:30)");
  const auto main = application({"--library", "app.List"});
  CHECK(main.at("app.List.add(List.java:12)").first == "app.Main.run(Main.java:30)");
  // 3 of 4 of 96 bytes, and all of 24
  CHECK(main.at("app.List.add(List.java:12)").second == doctest::Approx(0.8));
  const auto none = application({"--app", "com."});
  CHECK(none.at("app.List.add(List.java:12)").first == nullptr);
  const CommandResult text = Anttracks(StacksTrace().file(), {"sites", "--library", "app.List"});
  CHECK(text.out.find("<- app.Main.run(Main.java:30) (~80 %)") != std::string::npos);
}

TEST_CASE("of what lives callers that were inlined count alone, as stacks tell where objects are allocated") {
  Problems problems;
  Definitions definitions(problems);
  definitions.Read(StackDefinitions().bytes().span(), {});
  StackSamples stacks;
  stacks.Add(0, 0, {.time = 0, .interval = 4096, .thread = 2, .stack = 5, .points = 1});
  const ApplicationFrames frames({}, {"app.List"});
  ApplicationSites sites(definitions, stacks, frames);
  // Site 16 was called by Worker.work, site 18 was inlined into Main.run.
  MainApplicationSite allocated, live(MainApplicationSite::Of::kLive), called(MainApplicationSite::Of::kLive);
  for (MainApplicationSite* each : {&allocated, &live}) {
    each->Add(sites, 16, 900);
    each->Add(sites, 18, 100);
  }
  called.Add(sites, 16, 900);
  CHECK(allocated.name() == "app.Worker.work(Worker.java:7)");
  CHECK(allocated.share() == doctest::Approx(0.9));
  CHECK(live.name() == "app.Main.run(Main.java:30)");
  CHECK(live.all());
  CHECK(called.name() == "app.Worker.work(Worker.java:7)");
}

TEST_CASE("damaged stacks are problems, and the rest is read") {
  const auto verify = [](const DefinitionsBuilder& more, const ByteBuffer& stacks) {
    TraceBuilder b;
    b.Meta(kEden * 8, kHeapEnd * 8);
    b.Segment(SegmentKind::kDefinitions, 0, StackDefinitions().bytes());
    b.Segment(SegmentKind::kDefinitions, 0, more.bytes());
    b.SyncBegin(0, 1000, Spaces(0, 0, 0, 0));
    b.Numbers(SegmentKind::kSyncEnd, 0, {0, 0});
    b.Segment(SegmentKind::kStacks, 0, stacks);
    b.End(2'000'000, "VM death", "{}");
    const CommandResult result = Anttracks(b.Flush().file(), {"verify"});
    CHECK(result.code == (result.out.find("no errors") == std::string::npos ? 1 : 0));
    return result.out;
  };
  const DefinitionsBuilder none;
  const ByteBuffer good = Stacks(2000, 4096, {{1, 3}});
  CHECK(verify(none, good).find("no errors") != std::string::npos);
  CHECK(verify(none, Stacks(2000, 4096, {{1, 7}})).find("stack 7, which is not defined") != std::string::npos);
  CHECK(verify(none, Stacks(2000, 4096, {{9, 3}})).find("stack of thread 9, which is not defined") !=
        std::string::npos);
  CHECK(verify(none, Stacks(2000, 0, {{1, 3}})).find("impossible interval") != std::string::npos);
  ByteBuffer nothing = Stacks(2000, 4096, {});
  for (uint64_t v : {1, 3, 0}) nothing.Uv(v);
  CHECK(verify(none, nothing).find("impossible number of sample points") != std::string::npos);
  ByteBuffer cut = good;
  cut.U8(0x80);
  CHECK(verify(none, cut).find("stack is cut short") != std::string::npos);
  CHECK(verify(DefinitionsBuilder().Stack(7, 8, 16), good).find("has the caller 8, which is not defined") !=
        std::string::npos);
  CHECK(verify(DefinitionsBuilder().Stack(7, 7, 16), good).find("has the caller 7, which is not defined") !=
        std::string::npos);
  CHECK(verify(DefinitionsBuilder().Stack(7, 1, 99), good).find("has the site 99, which is not defined") !=
        std::string::npos);
  CHECK(verify(DefinitionsBuilder().Stack(6, 2, 18), good).find("stack 6 is defined again") !=
        std::string::npos);
  DefinitionsBuilder deep;
  for (uint64_t id = 7; id < 1100; id++) deep.Stack(id, id - 1, 16);
  CHECK(verify(deep, good).find("more than 1024 callers") != std::string::npos);
}

}  // namespace
}  // namespace anttracks::testing
