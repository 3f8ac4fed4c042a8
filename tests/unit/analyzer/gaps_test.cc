// SPDX-License-Identifier: Apache-2.0
// What is not in a trace though it was there: lost events, files that are cut or gone. Nothing counts as whole
// or exact then.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/analyzer/rotated_trace.h"

namespace anttracks::testing {
namespace {

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A whole rotated trace that says in its end record how many data files it had.
void WriteEnded(Folder* folder) {
  WriteRotated(folder);
  folder->Write("app.trace", DefinitionsFile(SmallDefinitions(), true, "{\"files\":3}").file());
}

bool EndedCleanly(const Folder& folder, const std::vector<std::string>& names) {
  return nlohmann::json::parse(folder.Run("info", names, {"--json"}).out)["ended_cleanly"];
}

TEST_CASE("a rotated trace with an end record and all of its newest file is whole") {
  Folder folder;
  WriteEnded(&folder);
  const CommandResult verify = folder.Run("verify", {"app.trace"});
  CHECK(verify.code == 0);
  CHECK((!Has(verify.out, "note: ") && verify.err == ""));
  CHECK(EndedCleanly(folder, {"app.trace"}));
  // As the oldest files go.
  folder.Remove("app.trace.0").Remove("app.trace.1");
  CHECK(folder.Run("verify", {"app.trace"}).code == 0);
  CHECK(folder.Run("heap", {"app.trace"}).err == "");
  CHECK(EndedCleanly(folder, {"app.trace"}));
}

TEST_CASE("a rotated trace with an end record whose newest file is cut is damaged") {
  Folder folder;
  WriteEnded(&folder);
  const std::string newest = folder.Read("app.trace.2");
  folder.Write("app.trace.2", newest.substr(0, newest.size() - 1));
  const CommandResult verify = folder.Run("verify", {"app.trace"});
  CHECK(verify.code == 1);
  CHECK(Has(verify.out, "damaged chunk: the file ends in the middle of a chunk, but the trace goes on"));
  CHECK(Has(folder.Run("verify", {"app.trace"}, {"--json"}).out, "\"ended_cleanly\": false"));
  CHECK(!EndedCleanly(folder, {"app.trace"}));
  CHECK(Has(folder.Run("info", {"app.trace"}).out, "\nended           damaged: app.trace.2, offset "));
  const CommandResult heap = folder.Run("heap", {"app.trace"});
  CHECK(heap.code == 4);
  CHECK(Has(heap.out, "heap after GC 2 (young, Allocation Failure), at 15.0 us: 6 objects"));
  CHECK(!Has(heap.out, "not exact"));
}

TEST_CASE("a rotated trace with an end record whose newest file is gone is damaged") {
  Folder folder;
  WriteEnded(&folder);
  for (const size_t left : {size_t{20}, size_t{0}}) {  // or has not even its header
    if (left == 0) {
      folder.Remove("app.trace.2");
    } else {
      folder.Write("app.trace.2", folder.Read("app.trace.2").substr(0, left));
    }
    const CommandResult verify = folder.Run("verify", {"app.trace"});
    CHECK(verify.code == 1);
    CHECK(Has(verify.out, "gap in the sequence of chunks: data file 2 is missing behind this one"));
    CHECK(folder.Run("sites", {"app.trace"}).code == 4);
    CHECK(!EndedCleanly(folder, {"app.trace"}));
  }
}

TEST_CASE("files of a trace that were named, or one that was copied with the definitions, are a part of it") {
  Folder folder;
  WriteEnded(&folder);
  const auto check = [&](const std::vector<std::string>& names, const std::string& later) {
    CAPTURE(names[0]);
    const CommandResult verify = folder.Run("verify", names), heap = folder.Run("heap", names);
    CHECK(verify.code == 0);
    CHECK(Has(verify.out, "note: the trace went on in " + later));
    CHECK(heap.code == 0);
    CHECK(heap.err == "note: the trace went on in " + later + ", which this is without\n");
    CHECK(!EndedCleanly(folder, names));
    CHECK(Has(folder.Run("info", names).out, "\nended           not known: the trace went on in " + later));
  };
  check({"app.trace.0"}, "data files 1 to 2");
  check({"app.trace.1"}, "data file 2");
  check({"app.trace.0", "app.trace.1"}, "data file 2");
  CHECK(EndedCleanly(folder, {"app.trace.1", "app.trace.2"}));
  folder.Remove("app.trace.0").Remove("app.trace.2");
  check({"app.trace"}, "data file 2");
}

// A rotated trace in which events were lost just ahead of a sync point: each collection is exact.
void WriteWithLoss(Folder* folder) {
  WriteEnded(folder);
  TraceBuilder b = DataFile(1, kChunks0);
  b.Loss(9400, 1, 100, "queue full");
  AddSyncPoint1(&b);
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(10000).Tlab(kEden).Fixed(1).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 1, 0, "Allocation Failure", 11000, SpacesOf(6, 0, 9, 24));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kFrom, 0, 3}, {kTo, kOld + 24, 1, 3}}));
  b.Gc(SegmentKind::kGcEnd, 1, 0, "Allocation Failure", 11500, SpacesOf(0, 3, 0, 27));
  folder->Write("app.trace.1", b.Flush().file());
  folder->Write("app.trace", DefinitionsFile(SmallDefinitions(), true, "{\"files\":2}").file());
  folder->Remove("app.trace.2");
}

CommandResult Export(const Folder& folder, const std::string& format) {
  std::ostringstream out, err;
  const std::vector<std::string> words{"export", format, folder.path("app.trace"), folder.path("out"), "-f"};
  const int code = analyzer::Main(words, out, err, false);
  return {code, out.str(), err.str()};
}

std::string CoverageOf(const Folder& folder) {
  const std::string page = folder.Run("report", {"app.trace"}, {"-o", "-"}).out;
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  const auto data = nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
  for (const auto& line : data["head"])
    if (line[0] == "Coverage") return line[1];
  return "";
}

TEST_CASE("totals are not exact after a loss, though each collection is") {
  Folder folder;
  WriteWithLoss(&folder);
  const std::string gcs = folder.Run("gcs", {"app.trace"}, {"--json"}).out;
  CHECK((Has(gcs, "\"exact\": true") && !Has(gcs, "\"exact\": false")));
  const std::string lost = "the agent lost events 1 time; totals of what was allocated are without them";
  CHECK(Has(folder.Run("sites", {"app.trace"}).err, "note: " + lost));
  const std::string coverage = CoverageOf(folder);
  CHECK((Has(coverage, lost) && !Has(coverage, "every object was recorded")));
  const CommandResult csv = Export(folder, "csv");
  CHECK(csv.code == 0);
  CHECK(csv.err.find(lost) == csv.err.rfind(lost));  // once
  CHECK((Has(folder.Read("out"), ",incomplete,") && !Has(folder.Read("out"), ",exact,")));
  CHECK(Export(folder, "sqlite").code == 0);
  CHECK(Has(folder.Read("out"), lost));
  CHECK(Export(folder, "perfetto").code == 0);
  CHECK(Has(folder.Read("out"), lost));
}

TEST_CASE("an export says that files are gone, whose numbers are those of the files that are there") {
  Folder folder;
  WriteEnded(&folder);
  CHECK(Has(CoverageOf(folder), "exact: every object was recorded"));
  CHECK(Export(folder, "csv").err == "");
  folder.Remove("app.trace.0");
  const std::string without = "without the first data file, which is not there";
  CHECK(Has(CoverageOf(folder), "exact: every object was recorded; " + without));
  CHECK(Export(folder, "csv").err == "note: " + without + "\n");
  CHECK(Has(folder.Read("out"), ",exact,"));
  CHECK(Export(folder, "sqlite").code == 0);
  CHECK(Has(folder.Read("out"), without));
}

TEST_CASE("what an export has of a damaged trace is not called exact") {
  Folder folder;
  WriteEnded(&folder);
  folder.Remove("app.trace.1");
  CHECK(Export(folder, "csv").code == 4);
  CHECK(Has(folder.Read("out"), ",incomplete,"));
  CHECK(Has(CoverageOf(folder), "the trace is damaged, what precedes the damage is covered"));
  CHECK(!Has(CoverageOf(folder), "every object was recorded"));
}

CommandResult Assert(const Folder& folder, const std::string& expectation) {
  return folder.Run("assert", {"app.trace"}, {expectation});
}

TEST_CASE("live objects of a thread, or of a time, are known where their allocations are") {
  Folder folder;
  WriteEnded(&folder);
  CHECK(Assert(folder, "live(thread=main) < 5").code == 0);
  CHECK(Assert(folder, "live() < 7 after 1 gcs").code == 0);
  CHECK(Has(folder.Run("heap", {"app.trace"}, {"--from", "1", "--json"}).out, "\"exact\": true"));
}

TEST_CASE("live objects of a thread, or of a time, are not known where a sync point alone lists them") {
  for (const bool loss : {false, true}) {
    CAPTURE(loss);
    Folder folder;
    if (loss) {
      WriteWithLoss(&folder);
    } else {
      WriteEnded(&folder);
      folder.Remove("app.trace.0");
    }
    const std::string why = "(not exact: of what a sync point listed it is not known which thread allocated it";
    const CommandResult thread = Assert(folder, "live(thread=main) < 5");
    CHECK(thread.code == 1);
    CHECK((Has(thread.out, "not known") && Has(thread.out, "the heap is " + why)));
    CHECK(Assert(folder, "live() < 7 after 1 gcs").code == 1);
    CHECK(Assert(folder, "live() < 100").code == 0);
    // What was found is there, whatever else is.
    CHECK(Has(Assert(folder, "live(thread=main) < 1").out, "FAILS"));
    CHECK(Has(folder.Run("heap", {"app.trace"}, {"--from", "1", "--json"}).out, "\"exact\": false"));
    CHECK(Has(folder.Run("heap", {"app.trace"}, {"--from", "1"}).out, why));
    CHECK(Has(folder.Run("heap", {"app.trace"}, {"--json"}).out, "\"exact\": true"));
    CHECK(Has(folder.Run("sites", {"app.trace"}, {"--live", "--from", "1"}).out, why));
    CHECK(!Has(folder.Run("sites", {"app.trace"}, {"--live"}).out, why));
  }
}

}  // namespace
}  // namespace anttracks::testing
