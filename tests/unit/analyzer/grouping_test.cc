// SPDX-License-Identifier: Apache-2.0
// --group-by, --where, --from and --to of the commands about live objects, lifetimes and collections.
#include <doctest/doctest.h>

#include "tests/unit/analyzer/json_output.h"
#include "tests/unit/analyzer/rotated_trace.h"
#include "tests/unit/analyzer/sampled_trace.h"
#include "tests/unit/analyzer/skipped_trace.h"

namespace anttracks::testing {
namespace {

using nlohmann::json;

const std::vector<std::string> kOfHeap{"class", "site",   "app-site", "package",
                                       "tier",  "thread", "age",      "space"};
const std::vector<std::string> kOfLifetimes{"class", "site", "app-site", "package", "tier"};

// Each field alone, and each pair of them.
std::vector<std::string> Groupings(const std::vector<std::string>& fields) {
  std::vector<std::string> all;
  for (const std::string& first : fields) {
    all.push_back(first);
    for (const std::string& second : fields) {
      if (second != first) all.push_back(first + "," + second);
    }
  }
  return all;
}

// Of what the rows have under that key, dots in it being members.
uint64_t Sum(const json& rows, const std::string& key) {
  uint64_t sum = 0;
  for (const json& row : rows) {
    const size_t dot = key.find('.');
    const json& value = dot == std::string::npos ? row[key] : row[key.substr(0, dot)][key.substr(dot + 1)];
    if (value.is_number()) sum += value.get<uint64_t>();
  }
  return sum;
}

json Rotated(const Words& words) {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0");
  Words options(words.begin() + 1, words.end());
  options.push_back("--json");
  const CommandResult result = folder.Run(words[0], {"app.trace"}, options);
  INFO(result.err);
  REQUIRE(result.code == 0);
  return json::parse(result.out);
}

TEST_CASE("every grouping of a heap adds up to the same total, as the JVM's own spaces do") {
  const auto reports = {
      std::function<json(const Words&)>([](const Words& words) { return Json(SmallTrace().file(), words); }),
      std::function<json(const Words&)>([](const Words& words) { return Json(SkippedTrace().file(), words); }),
      std::function<json(const Words&)>(Rotated)};
  for (const auto& report : reports) {
    for (const Words& more : {Words{}, Words{"--end"}, Words{"--where", "class=Node"}}) {
      Words plain{"heap"};
      plain.insert(plain.end(), more.begin(), more.end());
      const json whole = report(plain);
      for (const std::string& grouping : Groupings(kOfHeap)) {
        Words words = plain;
        words.insert(words.end(), {"--group-by", grouping});
        const json grouped = report(words);
        CAPTURE(grouping);
        CHECK(grouped["by"] == grouping);
        CHECK(Sum(grouped["rows"], "objects") == whole["objects"]);
        CHECK(Sum(grouped["rows"], "bytes") == whole["bytes"]);
      }
    }
  }
}

TEST_CASE("every grouping of lifetimes adds up to the same total, and a window and its rest to the whole") {
  const std::string trace = SmallTrace().file();
  const std::vector<std::string> sums{"objects",        "bytes",        "died_young.objects",
                                      "died_old.bytes", "live.objects", "copied.bytes",
                                      "promoted.bytes", "survived.0",   "survived.mean"};
  const json whole = Json(trace, {"lifetimes"});
  for (const std::string& grouping : Groupings(kOfLifetimes)) {
    CAPTURE(grouping);
    const json grouped = Json(trace, {"lifetimes", "--group-by", grouping});
    for (const std::string& key : sums) {
      CAPTURE(key);
      if (key != "survived.mean") CHECK(Sum(grouped["rows"], key) == Sum(whole["rows"], key));
    }
    CHECK(grouped["ledger"] == whole["ledger"]);
  }
  const json before = Json(trace, {"lifetimes", "--to", "0"}),
             behind = Json(trace, {"lifetimes", "--from", "0"});
  CHECK(before["allocated"]["objects"] == 7);
  CHECK(behind["allocated"]["objects"] == 5);
  for (const std::string& key : sums) {
    CAPTURE(key);
    CHECK(Sum(before["rows"], key) + Sum(behind["rows"], key) == Sum(whole["rows"], key));
  }
  CHECK(before["ledger"]["balances"] == true);
}

TEST_CASE("lifetimes --by has the rows of --group-by") {
  const std::string trace = SmallTrace().file();
  CHECK(Json(trace, {"lifetimes", "--by", "class"}) == Json(trace, {"lifetimes", "--group-by", "class"}));
  CHECK(Json(trace, {"lifetimes", "--by", "site"}) == Json(trace, {"lifetimes"}));
  CHECK(Json(trace, {"heap", "--by", "age"}) == Json(trace, {"heap", "--group-by", "age"}));
}

TEST_CASE("a field that a command cannot group by is refused with the reason") {
  const std::pair<Words, const char*> kCases[] = {
      {{"sites", "--group-by", "age"}, "only live objects have an age and a space, see 'anttracks heap'"},
      {{"sites", "--group-by", "class,space"}, "only live objects have an age and a space"},
      {{"lifetimes", "--group-by", "thread"}, "lifetimes tell apart where objects are allocated"},
      {{"heap", "--group-by", "clas"}, "did you mean 'class'?"},
      {{"heap", "--group-by", "class", "--by", "class"}, "excludes"},
      {{"heap", "--by", "tier"}, "it is one of class, site, thread, space, age"}};
  for (const auto& [words, what_] : kCases) {
    const auto& what = what_;  // clang 14 captures no binding
    CAPTURE(what);
    const CommandResult result = Anttracks(SmallTrace().file(), words);
    CHECK(result.code == 2);
    CHECK(result.err.find(what) != std::string::npos);
  }
  for (const char* field : {"space", "tier"}) {
    const CommandResult result = Anttracks(SampledTrace().file(), {"heap", "--group-by", field});
    CHECK(result.code == 2);
    CHECK(result.err.find("this trace holds samples") != std::string::npos);
  }
}

TEST_CASE("a heap is grouped by the fields, in their order") {
  CHECK(Anttracks(SmallTrace().file(), {"heap", "--group-by", "thread,class", "--csv"}).out ==
        "thread,class,objects,bytes\n"
        "<before trace>,java.lang.Class,1,112\n"
        "main (1),app.Node,3,72\n"
        "main (1),int[],1,56\n");
}

TEST_CASE("sites are grouped by the application's lines") {
  const json report = Json(SmallTrace().file(), {"sites", "--group-by", "app-site"});
  CHECK(Sum(report["sites"], "objects") == 12);
  for (const json& row : report["sites"]) CHECK(row["app-site"].get<std::string>().starts_with("app."));
  const json only = Json(SmallTrace().file(), {"sites", "--group-by", "app-site", "--app", "java.lang."});
  CHECK(only["sites"][0]["app-site"] == "no application frame is known");
}

TEST_CASE("collections are chosen by number or time") {
  const auto ids = [](const Words& window) {
    Words words{"gcs"};
    words.insert(words.end(), window.begin(), window.end());
    std::string text;
    const json report = Json(SmallTrace().file(), words);
    for (const json& gc : report["gcs"]) text += gc["id"].dump();
    return text;
  };
  CHECK(ids({}) == "01");
  CHECK(ids({"--from", "0"}) == "1");
  CHECK(ids({"--to", "0"}) == "0");
  CHECK(ids({"--from", "1"}) == "");
  CHECK(ids({"--from", "0.00001s"}) == "1");
  CHECK(ids({"--to", "0.00001s"}) == "0");
  CHECK(Anttracks(SmallTrace().file(), {"gcs", "--from", "1"}).out ==
        "only from GC 1\nno collection in the window\n");
  CHECK(Anttracks(SmallTrace().file(), {"gcs", "--from", "7"}).code == 2);
}

TEST_CASE("a summary is of what is selected") {
  const auto summary = [](const Words& selection) {
    Words words{"summary"};
    words.insert(words.end(), selection.begin(), selection.end());
    return Json(SmallTrace().file(), words);
  };
  const json nodes = summary({"--where", "class=Node"});
  CHECK(nodes["selection"] == "class=Node");
  CHECK(Sum(nodes["allocates"]["sites"], "objects") == 9);
  CHECK(Sum(nodes["stays"]["sites"], "objects") == 3);
  const json later = summary({"--from", "0"});
  CHECK(Sum(later["allocates"]["sites"], "objects") == 5);
  CHECK(Sum(later["stays"]["sites"], "objects") == 2);
  CHECK(later["collections"]["count"] == 1);
  CHECK(later["collections"]["longest_gc"] == 1);
  const json earlier = summary({"--to", "0"});
  CHECK(Sum(earlier["allocates"]["sites"], "objects") == 7);
  CHECK(Sum(earlier["stays"]["sites"], "objects") == 3);
  CHECK(earlier["collections"]["longest_gc"] == 0);
}

}  // namespace
}  // namespace anttracks::testing
