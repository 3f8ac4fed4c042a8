// SPDX-License-Identifier: Apache-2.0
// `anttracks diff` of two traces: two traces in, text out.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/analyzer/sampled_trace.h"
#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {
namespace {

// Two Nodes, and an int[20000] if it is wanted.
std::string Nodes(bool array) {
  TraceBuilder b = SmallStart();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(2000).Tlab(kEden).Fixed(1).Fixed(1));
  if (array) {
    b.Segment(SegmentKind::kAlloc, 1, Objects().Head(3000).Tlab(kEden + 100).WithLength(2, 20'000));
  }
  b.End(2'000'000, "VM death", "{\"dropped\":0}");
  b.Flush(true);
  return b.file();
}

CommandResult Diff(const std::string& a, const std::string& b, std::vector<std::string> words = {}) {
  TempFile file_a(a), file_b(b);
  words.insert(words.begin(), {"diff", file_a.path(), file_b.path()});
  std::ostringstream out, err;
  const int code = analyzer::Main(words, out, err, false);
  const auto named = [&](const std::string& text) {
    return Replace(Replace(text, file_a.path(), "a.trace"), file_b.path(), "b.trace");
  };
  return {code, named(out.str()), named(err.str())};
}

TEST_CASE("a trace does not differ from itself") {
  const CommandResult result = Diff(SmallTrace().file(), SmallTrace().file());
  CHECK(result.code == 0);
  CHECK(result.err == "");
  CHECK(result.out ==
        "A  a.trace: allocated 12 objects, 304 B\n"
        "   live after GC 1 (full, System.gc()), at 1.52 ms: 5 objects, 240 B\n"
        "B  b.trace: allocated 12 objects, 304 B\n"
        "   live after GC 1 (full, System.gc()), at 1.52 ms: 5 objects, 240 B\n"
        "noise: less than 64.0 KiB (1 % of the bytes) or 5 % of the row; of rows that one side lacks, 64.0 KiB "
        "(0.01 %);\n"
        "       of what is live, less than 64.0 KiB or half\n"
        "\n"
        "nothing above noise; 4 rows\n");
}

TEST_CASE("an allocation that was added is the row above noise") {
  const CommandResult result = Diff(Nodes(false), Nodes(true));
  CHECK(result.code == 0);
  CHECK(result.out.substr(result.out.find("1 of")) ==
        "1 of 3 rows above noise\n"
        "\n"
        "  Bytes A   Bytes B  Bytes B - A  Ratio  Objects A  Objects B  Live A    Live B  Class  Site\n"
        "      0 B  78.1 KiB    +78.1 KiB    new          0          1     0 B  78.1 KiB  int[]  "
        "app.Main.run(Main.java:30)\n");
  const CommandResult back = Diff(Nodes(true), Nodes(false), {"--csv"});
  CHECK(back.err == "note: 1 of 3 rows above noise\n");
  CHECK(back.out ==
        "site,line_a,application,application_share,class,above_noise,objects.a,objects.b,objects.difference,"
        "objects.ratio,bytes.a,bytes.b,"
        "bytes.difference,bytes.ratio,live_objects.a,live_objects.b,live_objects.difference,live_objects.ratio,"
        "live_bytes.a,live_bytes.b,live_bytes.difference,live_bytes.ratio\n"
        "app.Main.run(Main.java:30),30,app.Main.run(Main.java:30),1.0,int[],allocated,1,0,-1,0.0,80016,0,-"
        "80016,0.0,1,0,-1,0.0,80016,0,-80016,"
        "0.0\n");
}

TEST_CASE("all rows are shown on demand, and add up to both sides") {
  for (const char* by : {"site", "class", "thread"}) {
    const CommandResult result = Diff(Nodes(false), Nodes(true), {"--all", "--json", "--by", by});
    const auto json = nlohmann::json::parse(result.out);
    CHECK(json["above_noise"] == 1);
    uint64_t a = 0, b = 0;
    for (const nlohmann::json& row : json["rows"]) {
      a += row["bytes"]["a"].get<uint64_t>();
      b += row["bytes"]["b"].get<uint64_t>();
    }
    CHECK(a == json["a"]["bytes"]);
    CHECK(b == json["b"]["bytes"]);
    CHECK(a == 48);
    CHECK(b == 48 + 80'016);
  }
}

TEST_CASE("conditions and windows hold on both sides") {
  const CommandResult nodes = Diff(Nodes(false), Nodes(true), {"--where", "class=Node"});
  CHECK(nodes.out.find("only class=Node\n") != std::string::npos);
  CHECK(nodes.out.find("nothing above noise; 1 row\n") != std::string::npos);
  const CommandResult late = Diff(Nodes(false), Nodes(true), {"--from", "0.0000025s"});
  CHECK(late.out.find("A  a.trace: allocated 0 objects, 0 B\n") != std::string::npos);
  CHECK(late.out.find("live") == std::string::npos);
  const CommandResult gc = Diff(SmallTrace().file(), Nodes(true), {"--from", "0"});
  CHECK(gc.code == 2);
  CHECK(gc.err.find("B: anttracks: there is no collection 0 in the trace") == 0);
}

TEST_CASE("samples and every object are compared by class, not by site") {
  const CommandResult by_site = Diff(SampledTrace().file(), SmallTrace().file());
  CHECK(by_site.code == 2);
  CHECK(by_site.err ==
        "anttracks: A holds samples and B every object, which name a site differently; compare --by class or "
        "--by "
        "thread\n");
  CHECK(Diff(SampledTrace().file(), SmallTrace().file(), {"--by", "class"}).code == 0);
  const CommandResult samples = Diff(SampledTrace().file(), SampledTrace().file());
  CHECK(samples.code == 0);
  CHECK(samples.out.find("nothing above noise") != std::string::npos);
}

TEST_CASE("what cannot be read, or only in part, is told with the trace's letter") {
  const CommandResult none = Diff(SmallTrace().file(), "no trace");
  CHECK(none.code == 3);
  CHECK(none.err.find("B: anttracks: b.trace") == 0);
  CHECK(none.out == "");
  const std::string whole = SmallTrace().file();
  const CommandResult part = Diff(whole, whole.substr(0, whole.size() - 10));
  CHECK(part.code == 0);
  CHECK(part.err.find("B: note: trace ends in the middle of a chunk") == 0);
}

}  // namespace
}  // namespace anttracks::testing
