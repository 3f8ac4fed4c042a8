// SPDX-License-Identifier: Apache-2.0
// The language of `anttracks assert`, and what it says about traces.
#include "analyzer/cli/expectation.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/unit/analyzer/rotated_trace.h"
#include "tests/unit/analyzer/sampled_trace.h"
#include "tests/unit/analyzer/skipped_trace.h"
#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {
namespace {

using namespace analyzer;

Expectation Parsed(const std::string& text) {
  Wrong why;
  const auto expectation = ParseExpectation(text, &why);
  CAPTURE(text);
  CAPTURE(why.text);
  REQUIRE(expectation);
  return *expectation;
}

CommandResult Assert(const std::string& trace, std::vector<std::string> expectations) {
  expectations.insert(expectations.begin(), "assert");
  return Anttracks(trace, expectations);
}
CommandResult Assert(const std::string& expectation) { return Assert(SmallTrace().file(), {expectation}); }

TEST_CASE("an expectation has a measure, conditions, a comparison, a limit, and a moment") {
  const Expectation all =
      Parsed("live_bytes( site = x , class=app.Node,thread=main )<=10MB after 3 gcs at end");
  CHECK(all.measure == Measure::kLiveBytes);
  CHECK(all.comparison == Operator::kAtMost);
  CHECK(all.limit == 10 << 20);
  CHECK(all.after_gcs == 3);
  CHECK(all.live == LiveAt::kEnd);
  const Expectation few = Parsed("objects() == 7");
  CHECK(few.where.empty());
  CHECK(few.limit == 7);
  CHECK(!few.after_gcs);
  CHECK(few.live == LiveAt::kNever);
  CHECK(Parsed("live(class=Foo)==0").live == LiveAt::kLastGc);
  CHECK(Parsed("live(class=Foo)==0 at last gc").live == LiveAt::kLastGc);
  CHECK(Parsed("live(class=Foo)==0 at end after 1 gc").after_gcs == 1);
}

TEST_CASE("all operators are read") {
  const std::pair<const char*, Operator> kCases[] = {{"<", Operator::kLess},   {"<=", Operator::kAtMost},
                                                     {">", Operator::kMore},   {">=", Operator::kAtLeast},
                                                     {"==", Operator::kEqual}, {"!=", Operator::kUnequal}};
  for (const auto& [text, comparison] : kCases) {
    CHECK(Parsed("objects(class=A)" + std::string(text) + "1").comparison == comparison);
  }
}

TEST_CASE("units are those of the agent's options") {
  const std::pair<const char*, uint64_t> kCases[] = {{"7", 7},           {"7K", 7 << 10}, {"7KB", 7 << 10},
                                                     {"7mb", 7 << 20},   {"7M", 7 << 20}, {"7g", 7ull << 30},
                                                     {"7GB", 7ull << 30}};
  for (const auto& [text, limit] : kCases) CHECK(Parsed("bytes() < " + std::string(text)).limit == limit);
}

TEST_CASE("patterns keep parentheses that have a partner, and whatever is in quotes") {
  const auto pattern = [](const std::string& text) {
    return Parsed("objects(" + text + ") == 0").where[0].pattern;
  };
  CHECK(pattern("site=app.A.b(A.java:12)") == "app.A.b(A.java:12)");
  CHECK(pattern("thread=\"a, b) c\"") == "a, b) c");
  CHECK(pattern("thread=\"pool 1\"") == "pool 1");
  CHECK(pattern("class=int[] ") == "int[]");
}

TEST_CASE("what is wrong is told with its column") {
  const std::tuple<const char*, size_t, const char*> kCases[] = {
      {"", 0, "measure: no ''"},
      {"byte(class=A) < 1", 0, "measure: no 'byte'; did you mean 'bytes'?"},
      {"bytes class=A < 1", 6, "( is missing after bytes"},
      {"bytes(sit=A) < 1", 6, "field: no 'sit'; did you mean 'site'?"},
      {"bytes(class=A,  sit=A) < 1", 16, "did you mean 'site'?"},
      {"bytes(class) < 1", 6, "FIELD=PATTERN"},
      {"bytes(class=) < 1", 12, "a pattern is missing"},
      {"bytes(class=A < 1", 17, ") is missing"},
      {"bytes(class=A) 1", 15, "one of < <= > >= == != is missing"},
      {"bytes(class=A) = 1", 15, "one of < <= > >= == != is missing"},
      {"bytes(class=A) <", 16, "a number is missing"},
      {"bytes(class=A) < -1", 17, "a number is missing"},
      {"bytes(class=A) < 1.5MB", 18, "no fractions"},
      {"bytes(class=A) < 1TB", 18, "the units of bytes are KB, MB and GB"},
      {"objects(class=A) < 1KB", 20, "a number of objects has no unit"},
      {"bytes(class=A) < 99999999999999999999", 17, "too large"},
      {"bytes(class=A) < 99999999999999999GB", 34, "too large"},
      {"bytes(class=A) < 1 after gcs", 25, "a number of collections is missing"},
      {"bytes(class=A) < 1 after 3", 26, "expected 'gcs'"},
      {"bytes(class=A) < 1 after 3 gcs after 4 gcs", 31, "or nothing more"},
      {"bytes(class=A) < 1 at end", 19, "only live and live_bytes are at a moment"},
      {"live(class=A) < 1 at ende", 21, "expected 'end' or 'last gc'"},
      {"live(class=A) < 1 at last", 21, "expected 'end' or 'last gc'"},
      {"live(class=A) < 1 x", 18, "or nothing more"},
  };
  for (const auto& [text_, column, what] : kCases) {
    const auto& text = text_;  // clang 14 captures no binding
    CAPTURE(text);
    Wrong why;
    CHECK(!ParseExpectation(text, &why));
    CHECK(why.column == column);
    CHECK(why.text.find(what) != std::string::npos);
  }
}

TEST_CASE("a number within bounds holds, fails, or is not known") {
  const std::tuple<Operator, Verdict, Verdict, Verdict> kCases[] = {
      // limit 10; the number is 5 to 9, 10, or 11 to 20
      {Operator::kLess, Verdict::kHolds, Verdict::kFails, Verdict::kFails},
      {Operator::kAtMost, Verdict::kHolds, Verdict::kHolds, Verdict::kFails},
      {Operator::kMore, Verdict::kFails, Verdict::kFails, Verdict::kHolds},
      {Operator::kAtLeast, Verdict::kFails, Verdict::kHolds, Verdict::kHolds},
      {Operator::kEqual, Verdict::kFails, Verdict::kHolds, Verdict::kFails},
      {Operator::kUnequal, Verdict::kHolds, Verdict::kFails, Verdict::kHolds}};
  for (const auto& [comparison, below, equal, above] : kCases) {
    CHECK(Compare({7, 5, 9}, comparison, 10) == below);
    CHECK(Compare({10, 10, 10}, comparison, 10) == equal);
    CHECK(Compare({15, 11, 20}, comparison, 10) == above);
    CHECK(Compare({10, 5, 20}, comparison, 10) == Verdict::kNotKnown);
  }
  CHECK(Compare({7, 5, 10}, Operator::kLess, 10) == Verdict::kNotKnown);
  CHECK(Compare({7, 5, 10}, Operator::kAtMost, 10) == Verdict::kHolds);
}

TEST_CASE("what holds has exit code 0, what does not has 1") {
  const std::pair<const char*, int> kCases[] = {{"objects(class=app.Node) == 9", 0},
                                                {"objects(class=Node) < 9", 1},
                                                {"bytes(class=Node) <= 216", 0},
                                                {"bytes(site=app.List.add) == 216", 0},
                                                {"bytes(site=List.add) == 216", 0},
                                                {"bytes(site=List.java:12) == 216", 0},
                                                {"bytes(package=app) == 288", 0},
                                                {"bytes() == 304", 0},
                                                {"objects(thread=worker) == 2", 0},
                                                {"objects(thread=worker,class=int[]) == 1", 0},
                                                {"objects(thread=worker,thread=main) == 12", 0},
                                                {"objects(tier=C2) == 1", 0},
                                                {"objects(class=app.*) == 9", 0},
                                                {"objects(class=Node) == 5 after 1 gcs", 0},
                                                {"objects(class=Node) == 1 after 2 gcs", 0},
                                                {"objects(class=Node) == 9 after 0 gcs", 0},
                                                {"live(class=Node) == 3", 0},
                                                {"live(class=Node) == 4 at end", 0},
                                                {"live_bytes(class=int[]) == 56 at last gc", 0},
                                                {"live(class=Node) == 2 after 1 gcs", 0},
                                                {"live(class=Node) == 1 after 2 gcs at end", 0}};
  for (const auto& [expectation_, code] : kCases) {
    const auto& expectation = expectation_;  // clang 14 captures no binding
    CAPTURE(expectation);
    const CommandResult result = Assert(expectation);
    CAPTURE(result.out);
    CHECK(result.code == code);
    CHECK(result.err == "");
  }
}

TEST_CASE("the table has what fails first, and the largest parts of that") {
  const CommandResult result =
      Assert(SmallTrace().file(), {"objects() > 1", "live(class=Node) == 4 at end", "bytes(package=app) < 1KB",
                                   "bytes(package=app) < 200"});
  CHECK(result.code == 1);
  CHECK(result.out ==
        "3 of 4 expectations hold\n"
        "\n"
        "  Result  Value  Expected\n"
        "  FAILS   288 B  bytes(package=app) < 200\n"
        "  holds      12  objects() > 1\n"
        "  holds       4  live(class=Node) == 4 at end\n"
        "  holds   288 B  bytes(package=app) < 1KB\n"
        "\n"
        "largest parts of the first one:\n"
        "  216 B  app.Node  app.List.add(List.java:12)\n"
        "  72 B  int[]  app.Main.run(Main.java:30)\n");
}

TEST_CASE("no more than twenty lines are printed") {
  const CommandResult result = Assert(SmallTrace().file(), std::vector<std::string>(40, "bytes() < 1"));
  CHECK(result.code == 1);
  CHECK(std::count(result.out.begin(), result.out.end(), '\n') <= 20);
  CHECK(result.out.find("and 32 more") != std::string::npos);
}

TEST_CASE("a name that the trace does not have is an error, unless none is expected") {
  const CommandResult typo = Assert("objects(class=app.Nod) < 10");
  CHECK(typo.code == 2);
  CHECK(typo.out == "");
  CHECK(typo.err ==
        "anttracks: objects(class=app.Nod) < 10: no class is 'app.Nod'; did you mean 'app.Node'?\n");
  CHECK(Assert("objects(class=Nod) < 10").err.find("did you mean 'app.Node'?") != std::string::npos);
  CHECK(Assert("objects(site=List.ad) < 10").err.find("'app.List.add'") != std::string::npos);
  CHECK(Assert("objects(class=Nod) == 0").code == 0);
  CHECK(Assert("objects(class=Nod) == 1").code == 2);
  // Defined and never allocated is known.
  CHECK(Assert("objects(class=java.lang.Class) < 1").code == 0);
  CHECK(Assert("live(class=java.lang.Class) < 1").code == 1);
}

TEST_CASE("more collections than there were leave nothing to compare") {
  const CommandResult result = Assert("objects(class=Node) < 100 after 3 gcs");
  CHECK(result.code == 1);
  CHECK(result.out.find("not known") != std::string::npos);
  CHECK(result.out.find("the trace has only 2 collections") != std::string::npos);
}

TEST_CASE("an expectation that cannot be read is shown with the place") {
  const CommandResult result = Assert("bytes(sit=Foo) < 10");
  CHECK(result.code == 2);
  CHECK(result.err ==
        "anttracks: column 7: field: no 'sit'; did you mean 'site'?\n"
        "  bytes(sit=Foo) < 10\n"
        "        ^\n");
  CHECK(Assert(SmallTrace().file(), {}).code == 2);
}

TEST_CASE("on samples the interval decides") {
  const auto on_samples = [](const char* text) { return Assert(SampledTrace().file(), {text}); };
  CHECK(on_samples("objects(class=Node) > 1000").code == 0);
  CHECK(on_samples("objects(class=Node) < 10000000").code == 0);
  CHECK(on_samples("objects(class=Node) < 1000").code == 1);
  const CommandResult unknown = on_samples("objects(class=Node) < 70000");
  CHECK(unknown.code == 1);
  CHECK(unknown.out.find("not known") != std::string::npos);
  CHECK(unknown.out.find("the limit lies within the interval of the estimate") != std::string::npos);
  // No sample is not none.
  CHECK(on_samples("objects(class=Other) == 0").out.find("not known") != std::string::npos);
}

TEST_CASE("on samples of a JVM that may have compact headers twice as many small objects may have no sample") {
  const auto on = [](const char* vm, const char* text) {
    TraceBuilder b = SampledStart(kHalfMegabyte, vm);
    b.End(30'000, "VM death", "{\"samples\":0}");
    return Assert(b.Flush(true).file(), {text}).code;
  };
  // No sample in half a megabyte: at most 3.7 times as many bytes.
  const char* const text = "objects(class=app.Node) < 200000";
  CHECK(on("OpenJDK 64-Bit Server VM 17.0.19+10", text) == 0);
  CHECK(on("OpenJDK 64-Bit Server VM 23.0.1+11", text) == 0);
  CHECK(on("OpenJDK 64-Bit Server VM 24+36", text) == 1);
  CHECK(on("OpenJDK 64-Bit Server VM 25.0.4+7", text) == 1);
  CHECK(on("OpenJDK 64-Bit Server VM 25.0.4+7", "objects(class=app.Node) < 300000") == 0);
}

TEST_CASE("where a share was read the interval decides, and live objects are exact") {
  const auto on_share = [](const char* text) { return Assert(SkippedTrace().file(), {text}); };
  CHECK(on_share("objects(class=Node) < 10000").code == 0);
  CHECK(on_share("objects(class=Node) == 6").out.find("not known") != std::string::npos);
  CHECK(on_share("live(class=app.Node) > 0").code == 0);
}

TEST_CASE("a file has one expectation a line, and says which it is if it has none") {
  const Folder folder;
  const auto with_file = [&](const std::string& name) {
    return Anttracks(SmallTrace().file(), {"assert", "--file", folder.path(name)});
  };
  std::ofstream(folder.path("two")) << "# a comment\n\n  objects(class=Node) == 9 \nobjects() > 0\n";
  std::ofstream(folder.path("none")) << "# a comment\n";
  CHECK(with_file("two").code == 0);
  CHECK(with_file("two").out.find("2 of 2 expectations hold") == 0);
  const CommandResult none = with_file("none");
  CHECK(none.code == 2);
  CHECK(none.err == "anttracks: " + folder.path("none") + ": there are no expectations in it\n");
  const CommandResult missing = with_file("missing");
  CHECK(missing.code == 3);
  CHECK(missing.err == "anttracks: " + folder.path("missing") + ": No such file or directory\n");
}

TEST_CASE("JSON and CSV have the bounds") {
  const CommandResult json = Assert(SmallTrace().file(), {"bytes(class=Node) < 1KB", "--json"});
  CHECK(json.code == 0);
  CHECK(json.out.find("\"holding\": 1") != std::string::npos);
  CHECK(json.out.find("\"value\": 216") != std::string::npos);
  const CommandResult csv = Assert(SmallTrace().file(), {"bytes(class=Node) < 1KB", "--csv"});
  CHECK(csv.out == "result,value,low,high,expectation,why\nholds,216,216,216,bytes(class=Node) < 1KB,\n");
}

}  // namespace
}  // namespace anttracks::testing
