// SPDX-License-Identifier: Apache-2.0
// A heap dump joined with a trace: text, JSON, CSV, and what is said if they do not belong together.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "analyzer/hprof/hprof_reader.h"
#include "tests/unit/analyzer/hprof_dump.h"
#include "tests/unit/analyzer/sampled_trace.h"
#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {
namespace {

using Words = std::vector<std::string>;

CommandResult Join(const std::string& dump, const Words& words = {},
                   const std::string& trace = SmallTrace().file()) {
  const TempFile file(dump, "dump");
  Words all{"join", file.path()};
  all.insert(all.end(), words.begin(), words.end());
  CommandResult result = Anttracks(trace, all);
  result.out = Replace(result.out, file.path(), "DUMP");
  result.err = Replace(result.err, file.path(), "DUMP");
  return result;
}

void CheckOutput(const Words& words, const char* expected) {
  const CommandResult result = Join(SmallDump().file(), words);
  CHECK(result.out == expected + 1);  // without the line break behind the quotation mark
  CHECK(result.err == "");
  CHECK(result.code == 0);
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("join shows who allocated what a dump holds, by what is retained") {
  CheckOutput({}, R"out(
DUMP, of 2023-11-14 22:13:20 UTC: made after GC 1 (full, System.gc()), at 1.52 ms
5 of 5 objects are in the trace with address, class and size (100.0 %)
site, age and thread are known of 4 (80.0 %)
  1 were there before the trace began
roots hold 4 objects, 216 B; nothing in the dump holds 1, 24 B

  Retained  Of held  Objects  Bytes      GCs seen  Thread          Site
       112   51.9 %        1    112  before trace  <before trace>  <unknown>
       104   48.1 %        3     72        1 to 2  main (1)        app.List.add(List.java:12)
        56   25.9 %        1     56             2  main (1)        app.Main.run(Main.java:30)
)out");
}

TEST_CASE("join --path shows what holds an object, up to a root") {
  CheckOutput({"--path", "--where", "class=int[]"}, R"out(
only class=int[]
DUMP, of 2023-11-14 22:13:20 UTC: made after GC 1 (full, System.gc()), at 1.52 ms
5 of 5 objects are in the trace with address, class and size (100.0 %)
site, age and thread are known of 4 (80.0 %)
  1 were there before the trace began
a shortest path from a root, local variable; the object first

  Retained  GCs seen  Address     Thread    Held by  Class     Site
        56         2  0x10200070  main (1)           int[]     app.Main.run(Main.java:30)
        80         1  0x102000c0  main (1)  data     app.Node  app.List.add(List.java:12)
       104         2  0x102000a8  main (1)  next     app.Node  app.List.add(List.java:12)
)out");
}

TEST_CASE("join --path cuts the long name of a field") {
  constexpr uint64_t kNode = kOld * 8;
  const std::string name(1 << 20, 'f');
  DumpBuilder b(1'700'000'000'002);
  b.Load(0x10, "java/lang/Object").Load(0x20, "java/lang/Class").Load(kNode, "app/Node");
  b.Class(kNode, 0, {{name}, {"data"}}, {}).Root(kNode, 0x05).Root((kOld + 21) * 8, 0x03);
  b.Ints((kOld + 14) * 8, 10).Instance((kOld + 21) * 8, kNode, {(kOld + 24) * 8, 0});
  b.Instance((kOld + 24) * 8, kNode, {(kOld + 14) * 8, 0}).Instance((kOld + 27) * 8, kNode, {0, 0});
  const CommandResult result = Join(b.file(), {"--path", "--where", "class=int[]"});
  CHECK(result.code == 0);
  CHECK(Has(result.out, " " + name.substr(0, 1021) + "... "));
  CHECK(result.out.size() < 10 * 2048);
}

TEST_CASE("join --objects shows each object with its dominator") {
  CheckOutput({"--objects"}, R"out(
0x10200000	java.lang.Class	112	112	root	-	<before trace>	<unknown>
0x10200070	int[]	56	56	0x102000c0	2	main (1)	app.Main.run(Main.java:30)
0x102000a8	app.Node	24	104	root	2	main (1)	app.List.add(List.java:12)
0x102000c0	app.Node	24	80	0x102000a8	1	main (1)	app.List.add(List.java:12)
0x102000d8	app.Node	24	-	-	1	main (1)	app.List.add(List.java:12)
)out");
}

TEST_CASE("join finds the moment of a dump by itself, also without its time") {
  for (const uint64_t milliseconds : {uint64_t{0}, uint64_t{1'700'000'000'002}, UINT64_MAX}) {
    std::string dump = SmallDump().file();
    for (int i = 0; i < 8; i++) dump[23 + i] = static_cast<char>(milliseconds >> (56 - 8 * i));
    const auto json = nlohmann::json::parse(Join(dump, {"--json"}).out);
    CHECK(json["gc"] == 1);
    CHECK(json["agreeing"] == 5);
  }
}

TEST_CASE("join tells objects of another class or size, and gaps that the VM filled, from those that agree") {
  DumpBuilder b = SmallDump();
  b.Ints((kOld + 40) * 8, 3);                     // not in the trace, and nothing refers to it
  b.Instance((kOld + 50) * 8, kOld * 8, {0, 0});  // not in the trace
  const auto json = nlohmann::json::parse(Join(b.file(), {"--json"}).out);
  CHECK(json["agreeing"] == 5);
  CHECK(json["fillers"] == 1);
  CHECK(json["missing"] == 1);
  DumpBuilder other(1'700'000'000'002);
  other.Load(0x10, "java/lang/Object").Load(kOld * 8, "app/Node").Load(0x20, "app/Other");
  other.Class(kOld * 8, 0, {}).Class(0x20, 0, {}).Ints((kOld + 14) * 8, 9);
  other.Instance((kOld + 21) * 8, kOld * 8, {}).Instance((kOld + 24) * 8, kOld * 8, {});
  other.Instance((kOld + 27) * 8, 0x20, {}).Root((kOld + 14) * 8);
  const CommandResult result = Join(other.file());
  CHECK(Has(result.out, "  1 are there with another class\n"));
  CHECK(Has(result.out, "  1 are there with another size\n"));
  CHECK(Has(result.out, "first: 0x10200070 is int[] with length 9 in the dump, int[] with length 10"));
}

TEST_CASE("a dump of another process, or of another moment than --gc says, is refused") {
  DumpBuilder b;
  b.Load(0x10, "java/lang/Object").Class(0x10, 0, {});
  for (uint64_t i = 0; i < 20; i++) b.Instance(0x7000'0000 + 16 * i, 0x10, {});
  const CommandResult other = Join(b.file());
  CHECK(other.code == 2);
  CHECK(other.out == "");
  CHECK(other.err ==
        "anttracks: DUMP is no dump of the traced JVM: of 21 of its objects, 0 at most are in the heap of the "
        "trace at "
        "any time; another run of the program has other addresses\n");
  const CommandResult moment = Join(SmallDump().file(), {"--gc", "0"});
  CHECK(moment.code == 2);
  CHECK(Has(moment.err,
            "DUMP was not made after GC 0 (young, Allocation Failure), at 9.0 us: 1 of its 5 objects are "
            "in the heap then; without --gc the moment is found"));
  CHECK(Has(Join(SmallDump().file(), {"--gc", "7"}).err, "there is no collection 7 in the trace"));
}

TEST_CASE("join says what it cannot read, and that samples have no addresses") {
  CHECK(Join("nonsense").err == "anttracks: DUMP is something else, not a heap dump (hprof 1.0.2)\n");
  CHECK(Join("nonsense").code == 3);
  const CommandResult cut = Join(SmallDump().file().substr(0, 200));
  CHECK(cut.code == 3);
  CHECK(Has(cut.err, "the file ends in the middle of a record"));
  const CommandResult sampled = Join(SmallDump().file(), {}, SampledTrace().file());
  CHECK(sampled.code == 2);
  CHECK(Has(sampled.err, "join needs the address of every object"));
  CHECK(Has(Join(SmallDump().file(), {"--object", "12"}).err, "12 is no address"));
  CHECK(Has(Join(SmallDump().file(), {"--object", "0x12"}).err, "the dump has no object at 0x12"));
  CHECK(Has(Join(SmallDump().file(), {"--object", "0x102000d8"}).err, "no root holds 0x102000d8"));
}

TEST_CASE("join of a trace whose first chunk is damaged says so") {
  std::string trace = SmallTrace().file();
  trace[trace::kFileHeaderBytes + trace::kChunkHeaderBytes + 1] ^= 1;
  const CommandResult result = Join(SmallDump().file(), {}, trace);
  CHECK(result.code == 4);
  CHECK(Has(result.err, "checksum"));
}

TEST_CASE("join --export writes the dump again, with the stacks of its sites") {
  const TempPath out;
  const CommandResult written = Join(SmallDump().file(), {"--export", out.path()});
  CHECK(written.err == "");
  CHECK(Has(written.out, out.path() + ": 5 objects with their allocation stacks, of 3 sites\n"));
  CHECK(Has(Join(SmallDump().file(), {"--export", out.path()}).err, "exists already; -f replaces it"));
  CHECK(Join(SmallDump().file(), {"--export", out.path(), "-f"}).code == 0);
  const auto reader = hprof::HprofReader::Open(out.path());
  REQUIRE(reader.ok());
  int stacks = 0;
  (*reader)->ForEachRecord(
      [&](const hprof::HprofReader::Record& r) { stacks += r.tag == hprof::Tag::kStackTrace; });
  CHECK(stacks == 3);
  // The same report as of the dump before.
  const CommandResult again = Join(out.bytes());
  CHECK(again.out == Join(SmallDump().file()).out);
}

}  // namespace
}  // namespace anttracks::testing
