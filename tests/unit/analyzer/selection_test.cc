// SPDX-License-Identifier: Apache-2.0
// --where, --from, --to and --group-by: their language, and what reports make of them.
#include "analyzer/cli/selection.h"

#include <doctest/doctest.h>

#include "tests/unit/analyzer/json_output.h"
#include "tests/unit/analyzer/sampled_trace.h"
#include "tests/unit/analyzer/skipped_trace.h"
#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {
namespace {

using namespace analyzer;

// Collections 7, 5 and 8: the second one is a remark, which has the id of its marking. One Node is allocated
// before the first, 2, 4 and 8 after each.
TraceBuilder RemarkTrace() {
  TraceBuilder b = SmallStart();
  const auto nodes = [&](uint64_t time, uint64_t word, int count) {
    Objects objects = Objects().Head(time).Tlab(static_cast<int64_t>(word));
    for (int i = 0; i < count; i++) objects.Fixed(1);
    b.Segment(SegmentKind::kAlloc, 1, objects);
  };
  std::vector<TestSpace> at_remark = Spaces(6, 0, 3, 17);
  for (TestSpace& space : at_remark) space.collected = 0;
  nodes(2000, kEden, 1);
  b.Gc(SegmentKind::kGcBegin, 7, 0, "x", 5000, Spaces(3, 0, 0, 17));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}}));
  b.Gc(SegmentKind::kGcEnd, 7, 0, "x", 6000, Spaces(0, 0, 3, 17));
  nodes(7000, kEden, 2);
  b.Gc(SegmentKind::kGcBegin, 5, 3, "x", 8000, at_remark).Gc(SegmentKind::kGcEnd, 5, 3, "x", 9000, at_remark);
  nodes(10000, kEden + 6, 4);
  b.Gc(SegmentKind::kGcBegin, 8, 0, "x", 11000, Spaces(18, 0, 3, 17));
  b.Gc(SegmentKind::kGcEnd, 8, 0, "x", 12000, Spaces(0, 0, 3, 17));
  nodes(13000, kEden, 8);
  b.End(14000, "VM death", "{}");
  return b.Flush();
}

// Objects of all rows of sites of the small trace.
uint64_t Objects(Words conditions) {
  conditions.insert(conditions.begin(), "sites");
  return Json(SmallTrace().file(), conditions)["objects"];
}

TEST_CASE("a condition has a field and a pattern") {
  Wrong why;
  CHECK(*ParseCondition("class=app.Node", &why) == Condition{Field::kClass, "app.Node"});
  CHECK(*ParseCondition("site=a=b", &why) == Condition{Field::kSite, "a=b"});
  const std::tuple<const char*, size_t, const char*> kCases[] = {{"", 0, "FIELD=PATTERN"},
                                                                 {"class", 0, "FIELD=PATTERN"},
                                                                 {"=Foo", 0, "FIELD=PATTERN"},
                                                                 {"clas=Foo", 0, "did you mean 'class'?"},
                                                                 {"colour=red", 0, "it is one of class, site"},
                                                                 {"class=", 6, "a pattern is missing"}};
  for (const auto& [text_, column, what] : kCases) {
    const auto& text = text_;  // clang 14 captures no binding
    CAPTURE(text);
    CHECK(!ParseCondition(text, &why));
    CHECK(why.column == column);
    CHECK(why.text.find(what) != std::string::npos);
  }
}

TEST_CASE("a moment is the number of a GC or seconds") {
  std::string why;
  const auto gc = ParseMark("7", &why);
  REQUIRE(gc);
  CHECK(gc->kind == Mark::Kind::kGc);
  CHECK(gc->number == 7);
  const auto time = ParseMark("12.5s", &why);
  REQUIRE(time);
  CHECK(time->kind == Mark::Kind::kTime);
  CHECK(time->number == 12'500'000'000);
  for (const char* wrong : {"", "s", "-1", "1.5", "1m", "1e3s", "x7", "7 s", "99999999999999999999", "1e99s"}) {
    CAPTURE(wrong);
    CHECK(!ParseMark(wrong, &why));
    CHECK(why.find("neither the number of a GC (7) nor seconds since the start (12.5s)") != std::string::npos);
  }
}

TEST_CASE("a pattern matches a whole name, its last parts, or with stars any text") {
  const std::pair<const char*, uint64_t> kCases[] = {
      {"class=app.Node", 9},    {"class=Node", 9},
      {"class=ode", 0},         {"class=app.*", 9},
      {"class=*ode", 9},        {"class=*[]", 2},
      {"class=*", 12},          {"class=app", 0},
      {"site=app.List.add", 9}, {"site=List.add", 9},
      {"site=add", 9},          {"site=List.java:12", 9},
      {"site=List.java:13", 0}, {"site=app.List.add(List.java:12)", 9},
      {"site=app.Main.*", 2},   {"package=app", 11},
      {"package=java", 1},      {"package=java.lang", 1},
      {"package=java.la", 0},   {"package=ja*", 1},
      {"thread=main", 10},      {"thread=main (1)", 10},
      {"thread=worker", 2},     {"tier=C2", 1},
      {"tier=interpreter", 8}};
  for (const auto& [condition_, objects] : kCases) {
    const auto& condition = condition_;  // clang 14 captures no binding
    CAPTURE(condition);
    CHECK(Objects({"--where", condition}) == objects);
  }
}

TEST_CASE("conditions on one field are alternatives, conditions on several must all hold") {
  CHECK(Objects({"--where", "class=Node", "--where", "class=int[]"}) == 11);
  CHECK(Objects({"--where", "class=Node", "--where", "thread=worker"}) == 0);
  CHECK(Objects({"--where", "class=int[]", "--where", "thread=worker"}) == 1);
}

TEST_CASE("windows between collections add up to the whole") {
  CHECK(Objects({"--to", "0"}) == 7);
  CHECK(Objects({"--from", "0", "--to", "1"}) == 4);
  CHECK(Objects({"--from", "1"}) == 1);
  CHECK(Objects({"--from", "0"}) == 5);
  CHECK(Objects({"--from", "0.0015s"}) == 1);
  CHECK(Objects({"--to", "0.0015s"}) == 11);
  CHECK(Objects({"--from", "0", "--to", "0.0015s"}) == 4);
}

TEST_CASE("collections are before one another as they come, whatever their ids") {
  const std::string trace = RemarkTrace().file();
  const auto objects = [&](Words words) -> uint64_t { return Json(trace, words)["objects"]; };
  CHECK(objects({"sites", "--to", "7"}) == 1);
  CHECK(objects({"sites", "--from", "7", "--to", "5"}) == 2);
  CHECK(objects({"sites", "--from", "5", "--to", "8"}) == 4);
  CHECK(objects({"sites", "--to", "5"}) == 3);
  CHECK(objects({"sites", "--from", "7"}) == 14);
  CHECK(objects({"heap", "--gc", "5", "--from", "7", "--to", "5"}) == 2);
  CHECK(objects({"heap", "--gc", "5", "--to", "7"}) == 1 + 2);  // and what was there before the trace
  const auto ids = [&](const Words& words) {
    std::vector<uint64_t> found;
    const nlohmann::json json = Json(trace, words);
    for (const auto& gc : json["gcs"]) found.push_back(gc["id"]);
    return found;
  };
  CHECK(ids({"gcs", "--from", "7"}) == std::vector<uint64_t>{5, 8});
  CHECK(ids({"gcs", "--to", "5"}) == std::vector<uint64_t>{7, 5});
  const CommandResult wrong = Anttracks(trace, {"sites", "--from", "5", "--to", "7"});
  CHECK(wrong.code == 2);
  CHECK(wrong.err == "anttracks: --from has to be before --to\n");
}

TEST_CASE("a window that makes no sense is refused") {
  const std::pair<Words, const char*> kCases[] = {
      {{"sites", "--from", "9"}, "there is no collection 9 in the trace"},
      {{"classes", "--to", "9"}, "there is no collection 9 in the trace"},
      {{"threads", "--to", "9"}, "there is no collection 9 in the trace"},
      {{"heap", "--from", "9"}, "there is no collection 9 in the trace"},
      {{"sites", "--from", "1", "--to", "1"}, "--from has to be before --to"},
      {{"sites", "--live", "--from", "1s"}, "known by collections only"},
      {{"heap", "--from", "1s"}, "known by collections only"},
      {{"sites", "--where", "clas=Node"}, "--where: field: no 'clas'; did you mean 'class'?"},
      {{"sites", "--group-by", "class,sites"}, "--group-by: no 'sites'; did you mean 'site'?"},
      {{"sites", "--group-by", "class,class"}, "class is there twice"},
      {{"sites", "--group-by", "class", "--callers"}, "--group-by has to have site"}};
  for (const auto& [words, what_] : kCases) {
    const auto& what = what_;  // clang 14 captures no binding
    CAPTURE(what);
    const CommandResult result = Anttracks(SmallTrace().file(), words);
    CHECK(result.code == 2);
    CHECK(result.out == "");
    CHECK(result.err.find(what) != std::string::npos);
  }
}

TEST_CASE("a name that the trace does not have is told") {
  const CommandResult result = Anttracks(SmallTrace().file(), {"sites", "--where", "class=app.Nodes"});
  CHECK(result.code == 0);
  CHECK(result.err == "note: no class is 'app.Nodes'; did you mean 'app.Node'?\n");
  CHECK(Anttracks(SmallTrace().file(), {"sites", "--where", "class=java.lang.Class"}).err == "");
}

TEST_CASE("every grouping adds up to the same total") {
  const std::vector<std::string> fields{"class", "site", "package", "thread", "tier"};
  const std::pair<std::string, Words> kTraces[] = {
      {SmallTrace().file(), {}},
      {SmallTrace().file(), {"--live"}},
      {SmallTrace().file(), {"--live", "--gc", "0"}},
      {SmallTrace().file(), {"--where", "package=app", "--from", "0", "--live"}}};
  for (const auto& [trace, more] : kTraces) {
    Words plain{"sites"};
    plain.insert(plain.end(), more.begin(), more.end());
    const nlohmann::json whole = Json(trace, plain);
    for (const std::string& first : fields) {
      for (const std::string& second : fields) {
        for (const std::string& third : fields) {
          if (second == third || first == third) continue;
          Words words = plain;
          words.insert(words.end(), {"--group-by", first == second ? first + "," + third
                                                                   : first + "," + second + "," + third});
          const nlohmann::json grouped = Json(trace, words);
          CAPTURE(words.back());
          CHECK(grouped["objects"] == whole["objects"]);
          CHECK(grouped["bytes"] == whole["bytes"]);
          CHECK(grouped.value("live", nlohmann::json()) == whole.value("live", nlohmann::json()));
          uint64_t objects = 0, live = 0;
          for (const nlohmann::json& row : grouped["sites"]) {
            objects += row["objects"].get<uint64_t>();
            live += row.value("live_bytes", uint64_t{0});
          }
          CHECK(objects == whole["objects"]);
          if (whole.contains("live")) CHECK(live == whole["live"]["bytes"]);
        }
      }
    }
  }
}

TEST_CASE("rows are grouped by the fields, in their order") {
  const CommandResult result =
      Anttracks(SmallTrace().file(), {"sites", "--group-by", "thread,package", "--where", "thread=*"});
  CHECK(result.out ==
        "only thread=*\n"
        "allocated: 12 objects, 304 B, 3 rows\n"
        "\n"
        "  Objects   Share  Bytes   Share  Thread      Package\n"
        "       10  83.3 %    272  89.5 %  main (1)    app\n"
        "        1   8.3 %     16   5.3 %  worker (2)  app\n"
        "        1   8.3 %     16   5.3 %  worker (2)  java.lang\n");
  CHECK(Anttracks(SmallTrace().file(), {"sites", "--group-by", "package,thread", "--csv"}).out ==
        "package,thread,objects,bytes\n"
        "app,main (1),10,272\n"
        "app,worker (2),1,16\n"
        "java.lang,worker (2),1,16\n");
}

TEST_CASE("live objects are chosen by thread and by when they were allocated") {
  const auto live = [](Words words) {
    words.insert(words.begin(), {"heap"});
    return Json(SmallTrace().file(), words)["objects"].get<uint64_t>();
  };
  CHECK(live({}) == 5);
  CHECK(live({"--where", "thread=main"}) == 4);
  CHECK(live({"--where", "class=Node"}) == 3);
  CHECK(live({"--from", "0"}) == 2);
  CHECK(live({"--to", "0"}) == 3);
  CHECK(live({"--gc", "0", "--where", "thread=worker"}) == 1);
  CHECK(live({"--where", "thread=<before trace>", "--by", "site"}) == 1);
}

TEST_CASE("a name that no object of the heap has is told, and one that only others have is not") {
  const auto err = [](const char* condition) {
    return Anttracks(SmallTrace().file(), {"heap", "--where", condition}).err;
  };
  CHECK(err("class=Nod") == "note: no class is 'Nod'; did you mean 'app.Node'?\n");
  CHECK(err("class=Node") == "");
  CHECK(err("thread=mian") == "note: no thread is 'mian'; did you mean 'main'?\n");
}

TEST_CASE("classes and threads have the rows of what is selected only") {
  const nlohmann::json classes = Json(SmallTrace().file(), {"classes", "--where", "thread=worker"});
  CHECK(classes["classes"].size() == 2);
  CHECK(classes["objects"] == 2);
  const nlohmann::json threads = Json(SmallTrace().file(), {"threads", "--where", "class=Node"});
  REQUIRE(threads["threads"].size() == 1);
  CHECK(threads["threads"][0]["objects"] == 9);
  CHECK(threads["threads"][0]["name"] == "main");
}

TEST_CASE("lifetimes are those of what is selected, but not by thread") {
  const auto lifetimes = [](Words words) {
    words.insert(words.begin(), "lifetimes");
    return Json(SmallTrace().file(), words);
  };
  const auto objects = [](const nlohmann::json& report) {
    std::map<std::string, uint64_t> sums;
    for (const nlohmann::json& row : report["rows"]) {
      if (row["class"].is_string()) sums[row["class"]] += row["objects"].get<uint64_t>();
    }
    return sums;
  };
  const auto all = objects(lifetimes({}));
  const nlohmann::json nodes = lifetimes({"--where", "class=Node"});
  const auto of_nodes = objects(nodes);
  REQUIRE(of_nodes.count("app.Node") == 1);
  CHECK(of_nodes.at("app.Node") == all.at("app.Node"));
  CHECK(of_nodes.count("int[]") == 0);
  CHECK(all.count("int[]") == 1);
  CHECK(nodes["allocated"]["objects"] == of_nodes.at("app.Node"));
  CHECK(nodes["selection"] == "class=Node");
  const CommandResult none = Anttracks(SmallTrace().file(), {"lifetimes", "--where", "class=Nod"});
  CHECK(none.code == 0);
  CHECK(none.err.find("no class is 'Nod'; did you mean 'app.Node'?") != std::string::npos);
  for (const char* command : {"lifetimes", "leaks"}) {
    const CommandResult refused = Anttracks(SmallTrace().file(), {command, "--where", "thread=main"});
    CHECK(refused.code == 2);
    CHECK(refused.err.find("threads are not told apart here") != std::string::npos);
  }
}

TEST_CASE("samples are selected in the same way") {
  const auto samples = [](Words words) {
    words.insert(words.begin(), "sites");
    uint64_t sum = 0;
    const nlohmann::json report = Json(SampledTrace().file(), words);
    for (const nlohmann::json& row : report["sites"]) sum += row["samples"].get<uint64_t>();
    return sum;
  };
  CHECK(samples({}) == 5);
  CHECK(samples({"--where", "class=Node"}) == 3);
  CHECK(samples({"--where", "thread=worker"}) == 2);
  CHECK(samples({"--from", "0"}) == 2);
  CHECK(samples({"--from", "0", "--to", "1"}) == 1);
  CHECK(samples({"--to", "0.0000015s"}) == 1);
  CHECK(samples({"--group-by", "thread"}) == 5);
}

TEST_CASE("where a share was read, parts are estimates that contain what is known") {
  const nlohmann::json by_thread = Json(SkippedTrace().file(), {"sites", "--group-by", "thread"});
  REQUIRE(by_thread["sites"].size() == 2);
  CHECK(by_thread["estimated"] == true);
  CHECK(by_thread["sites"][0]["thread"] == "main (1)");
  CHECK(by_thread["sites"][0]["objects_low"] <= by_thread["sites"][0]["objects"]);
}

}  // namespace
}  // namespace anttracks::testing
