// SPDX-License-Identifier: Apache-2.0
// Rotated traces: which files are read, from which one on the heap is known, what a killed process leaves.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/analyzer/rotated_trace.h"
#include "trace/reader.h"

namespace anttracks::testing {
namespace {

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string HeapObjects(const Folder& folder, const std::vector<std::string>& names) {
  return folder.Run("heap", names, {"--objects"}).out;
}

TEST_CASE("a sync point whose end comes within a collection is not counted as its survivors") {
  Folder folder;
  folder.Write("app.trace", DefinitionsFile().file());
  TraceBuilder b = DataFile(2, kChunks1);
  b.SyncBegin(2, 12000, SpacesOf(0, 3, 0, 27));
  b.Segment(SegmentKind::kSyncObjects, 1, Objects().Tlab(kFrom).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 2, 0, "x", 14000, SpacesOf(0, 3, 0, 27));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kFrom, kTo, 0, 3}}));
  b.Segment(SegmentKind::kSyncObjects, 3,
            Objects().Tlab(kOld).WithLength(3, 14).Fixed(1).WithLength(2, 10).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {5, 240});
  b.Gc(SegmentKind::kGcEnd, 2, 0, "x", 15000, SpacesOf(0, 0, 3, 27));
  folder.Write("app.trace.2", b.Flush().file());
  const CommandResult result = folder.Run("verify", {"app.trace"});
  CHECK(result.code == 0);
  CHECK(result.err == "");
}

TEST_CASE("a young collection may come before the old space of an attached program is listed, a full one not") {
  for (const bool full : {false, true}) {
    CAPTURE(full);
    TraceBuilder b;
    b.Meta(kEden * 8, kHeapEnd * 8);
    b.Segment(SegmentKind::kDefinitions, 0, SmallDefinitions().bytes());
    b.SyncBegin(1, 1000, SpacesOf(0, 3, 0, 27));
    b.Segment(SegmentKind::kSyncObjects, 1, Objects().Tlab(kFrom).Fixed(1));
    b.Gc(SegmentKind::kGcBegin, 0, full, "x", 2000, SpacesOf(0, 3, 0, 27));
    b.Segment(SegmentKind::kMoves, 0, Moves({{kFrom, kTo, 0, 3}}));
    b.Gc(SegmentKind::kGcEnd, 0, full, "x", 3000, SpacesOf(0, 0, 3, 27));
    b.Segment(SegmentKind::kSyncObjects, 3,
              Objects().Tlab(kOld).WithLength(3, 14).Fixed(1).WithLength(2, 10).Fixed(1));
    b.Numbers(SegmentKind::kSyncEnd, 0, {5, 240});
    b.Gc(SegmentKind::kGcBegin, 1, 0, "x", 4000, SpacesOf(0, 0, 3, 27));
    b.Segment(SegmentKind::kMoves, 0, Moves({{kTo, kFrom, 0, 3}}));
    b.Gc(SegmentKind::kGcEnd, 1, 0, "x", 5000, SpacesOf(0, 3, 0, 27));
    b.End(6000, "VM death", "{}");
    Folder folder;
    folder.Write("attached.trace", b.Flush().file());
    const CommandResult verify = folder.Run("verify", {"attached.trace"});
    CHECK(verify.code == (full ? 1 : 0));
    CAPTURE(verify.err);
    CHECK(Has(verify.out + verify.err, "collection 0 within a sync point") == full);
    if (!full) CHECK(Has(folder.Run("heap", {"attached.trace"}).out, "5 objects"));
  }
}

TEST_CASE("a whole trace is checked at each rotation") {
  Folder folder;
  WriteRotated(&folder);
  const CommandResult result = folder.Run("verify", {"app.trace"});
  CHECK(result.out ==
        "sync points: 2 compared with the heap, 1 taken as the heap, 0 abandoned\n"
        "13 chunks, 4 collections and 2 sync points checked, 6 objects live at the end: no errors\n");
  CHECK(result.err == "");
  CHECK(result.code == 0);
  CHECK(HeapObjects(folder, {"app.trace"}) ==
        "0x10100000\tapp.Node\t24\tapp.List.add(List.java:12)\n"
        "0x10200000\tjava.lang.Class\t112\t<unknown>\n"
        "0x10200070\tapp.Node\t24\tapp.List.add(List.java:12)\n"
        "0x10200088\tint[]\t56\tapp.Main.run(Main.java:30)\n"
        "0x102000c0\tapp.Node\t24\tapp.List.add(List.java:12)\n"
        "0x102000d8\tapp.Node\t24\tapp.List.add(List.java:12)\n");
}

TEST_CASE("the heap is the same wherever reading starts") {
  Folder folder;
  WriteRotated(&folder);
  const std::string objects = HeapObjects(folder, {"app.trace"});
  folder.Remove("app.trace.0");
  CHECK(HeapObjects(folder, {"app.trace"}) == objects);
  const CommandResult cut = folder.Run("verify", {"app.trace"});
  CHECK(cut.code == 0);
  CHECK(Has(cut.out, "1 compared with the heap, 1 taken as the heap"));
  folder.Remove("app.trace.1");
  CHECK(HeapObjects(folder, {"app.trace"}) == objects);
  const CommandResult last = folder.Run("verify", {"app.trace"});
  CHECK(last.code == 0);
  CHECK(Has(last.out, "0 compared with the heap, 1 taken as the heap"));
}

TEST_CASE("files that are named are taken as named") {
  Folder folder;
  WriteRotated(&folder);
  CHECK(Has(folder.Run("verify", {"app.trace.2"}).out, "2 collections and 0 sync points checked"));
  CHECK(
      Has(folder.Run("verify", {"app.trace.2", "app.trace.1"}).out, "3 collections and 1 sync point checked"));
  CHECK(Has(folder.Run("verify", {"app.trace.2", "app.trace", "app.trace.1", "app.trace.0"}).out,
            "4 collections and 2 sync points checked"));
}

TEST_CASE("names of more digits are ordered by number") {
  Folder folder;
  folder.Write("app.trace", DefinitionsFile().file());
  TraceBuilder b(10, kRotatedId, trace::kFileData);
  folder.Write("app.trace.9", TraceBuilder(9, kRotatedId, trace::kFileData).file())
      .Write("app.trace.10", b.file());
  folder.Write("app.trace.x", "no number")
      .Write("app.trace.10.bak", "no number")
      .Write("other.3", "another name");
  auto reader = trace::TraceReader::Open({folder.path("app.trace")});
  REQUIRE_MESSAGE(reader.ok(), reader.message());
  REQUIRE((*reader)->files().size() == 3);
  CHECK((*reader)->files()[1].index == 9);
  CHECK((*reader)->files()[2].index == 10);
  CHECK((*reader)->warnings().empty());
}

TEST_CASE("a missing definitions file is named") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace");
  const CommandResult result = folder.Run("info", {"app.trace.1"});
  CHECK(result.code == 3);
  CHECK(result.err ==
        "anttracks: app.trace.1: is a data file of a rotated trace and needs its definitions file; app.trace: "
        "No such file "
        "or directory. It holds the classes, sites and threads of all data files: keep it beside them\n");
  folder.Write("renamed", folder.Read("app.trace.1"));
  CHECK(Has(folder.Run("info", {"renamed"}).err, "or name it too"));
  folder.Write("app.trace", DataFile0().file());
  CHECK(Has(folder.Run("info", {"app.trace.1"}).err, "app.trace is none"));
}

TEST_CASE("a definitions file of another trace is refused") {
  Folder folder;
  WriteRotated(&folder);
  folder.Write("app.trace", TraceBuilder(trace::kDefinitionsFileIndex, 77, trace::kFileDefinitions).file());
  const CommandResult result = folder.Run("info", {"app.trace.1"});
  CHECK(result.code == 3);
  CHECK(Has(result.err, "app.trace.1: belongs to another trace than app.trace"));
}

TEST_CASE("a definitions file without data files is an error") {
  Folder folder;
  folder.Write("app.trace", DefinitionsFile().file());
  CHECK(Has(folder.Run("info", {"app.trace"}).err,
            "there is no data file beside it (app.trace.0, app.trace.1, ...)"));
  folder.Write("app.trace.0", "");
  const CommandResult result = folder.Run("info", {"app.trace"});
  CHECK(result.code == 3);
  CHECK(Has(result.err, "app.trace.0: ends within its header"));
}

TEST_CASE("files that are no data files of the trace are left out, and that is told") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0");
  folder.Write("app.trace.0", TraceBuilder(0, 77, trace::kFileData).file());
  folder.Write("app.trace.7", SmallTrace().file());
  folder.Write("app.trace.8",
               "PK\x03\x04 an archive that has such a name, longer than a file header would be: 64");
  const CommandResult result = folder.Run("verify", {"app.trace"});
  CHECK_MESSAGE(result.code == 0, result.err);
  CHECK(Has(result.out, "1 compared with the heap"));
  CHECK(Has(result.err, "warning: app.trace.0: is no data file of the trace of app.trace (file left out)"));
  CHECK(Has(result.err, "warning: app.trace.7: is no data file of the trace of app.trace (file left out)"));
  CHECK(Has(result.err, "warning: app.trace.8: not an AntTracks trace (it is a zip or jar archive)"));
}

TEST_CASE("a file that vanishes after the listing is not part of the trace") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0");
  std::filesystem::create_symlink(folder.path("gone"),
                                  folder.path("app.trace.0"));  // listed, but not to be opened
  const CommandResult result = folder.Run("verify", {"app.trace"});
  CHECK(result.code == 0);
  CHECK(result.err == "");
  CHECK(Has(result.out, "3 collections and 1 sync point checked"));
}

TEST_CASE("a file that is missing in the middle is a gap") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.1");
  const CommandResult verify = folder.Run("verify", {"app.trace"});
  CHECK(verify.code == 1);
  CHECK(Has(verify.out, "gap in the sequence of chunks: data file 1 is missing before this one"));
  CHECK(Has(verify.out, "0 compared with the heap, 2 taken as the heap"));
  CHECK(Has(verify.out, ": 1 error\n"));
  const CommandResult heap = folder.Run("heap", {"app.trace"});
  CHECK(heap.code == 4);
  CHECK(Has(heap.out, "heap after GC 0"));
  CHECK(Has(heap.err, "data file 1 is missing before this one"));
}

TEST_CASE("damage in a file in the middle ends at the next sync point") {
  Folder folder;
  WriteRotated(&folder);
  std::string bad = folder.Read("app.trace.1");
  bad[bad.size() - 3] ^= 1;  // its last chunk: the allocations and GC 1
  folder.Write("app.trace.1", bad);
  const CommandResult verify = folder.Run("verify", {"app.trace"});
  CHECK(verify.code == 1);
  CHECK(Has(verify.out, "damaged chunk: checksum of a chunk is wrong"));
  CHECK(Has(verify.out, "1 compared with the heap, 2 taken as the heap"));
  CHECK(Has(verify.out, ": 2 errors\n"));  // and the gap that it makes
  CHECK(folder.Run("heap", {"app.trace"}).code == 4);
}

TEST_CASE("damage in the definitions file does not hide the events") {
  Folder folder;
  WriteRotated(&folder);
  std::string bad = folder.Read("app.trace");
  bad[bad.size() - 3] ^= 1;  // END
  folder.Write("app.trace", bad);
  const CommandResult heap = folder.Run("heap", {"app.trace"}, {"--objects"});
  CHECK(heap.code == 4);
  CHECK(Has(heap.out, "0x102000d8\tapp.Node"));
  CHECK(Has(heap.err, "classes, sites or threads may be missing"));
}

TEST_CASE("a trace of a program that was killed anywhere in the newest file is read up to there") {
  Folder folder;
  WriteRotated(&folder);
  folder.Write("app.trace", DefinitionsFile(SmallDefinitions(), false).file());
  const std::string whole = folder.Read("app.trace.2");
  for (const bool cold : {false, true}) {
    if (cold) folder.Remove("app.trace.0").Remove("app.trace.1");
    // A cold reader has nothing at all before the header is complete.
    for (size_t length = cold ? 64 : 0; length <= whole.size(); length++) {
      folder.Write("app.trace.2", whole.substr(0, length));
      for (const char* command : {"verify", "info", "heap", "gcs", "quality"}) {
        const CommandResult result = folder.Run(command, {"app.trace"});
        CHECK_MESSAGE(result.code == 0, command, " of length ", length, ": ", result.err, result.out);
      }
    }
  }
}

TEST_CASE("it is told that a program was killed before the newest file had its header") {
  Folder folder;
  WriteRotated(&folder);
  for (size_t length : {0, 20}) {
    folder.Write("app.trace.3", DataFile(3, 99).file().substr(0, length));
    const CommandResult result = folder.Run("verify", {"app.trace"});
    CHECK(result.code == 0);
    CHECK(result.err == "warning: app.trace.3: ends within its header (process killed?), it holds no events\n");
  }
}

TEST_CASE("a definitions file that a kill has cut is read up to there") {
  Folder folder;
  WriteRotated(&folder);
  const std::string whole = folder.Read("app.trace");
  const size_t end_chunk = DefinitionsFile(SmallDefinitions(), false).file().size();
  folder.Write("app.trace", whole.substr(0, end_chunk - 1));
  CHECK(folder.Run("verify", {"app.trace"}).code == 0);
  CHECK(Has(folder.Run("info", {"app.trace"}).out, "trace ends in the middle of a chunk (process killed?)"));
}

TEST_CASE("the heap after a collection is read from the file that has it, and is the one that all files give") {
  Folder folder;
  WriteRotated(&folder);
  const auto heap = [&](const char* gc, const char* by) {
    return nlohmann::json::parse(folder.Run("heap", {"app.trace"}, {"--gc", gc, "--by", by, "--json"}).out);
  };
  for (const char* gc : {"0", "1", "2", "3"}) {
    CAPTURE(gc);
    const auto one = heap(gc, "class"), all = heap(gc, "thread");
    for (const char* same : {"gc", "exact", "complete", "objects", "bytes"}) CHECK(one[same] == all[same]);
  }
  // Damage elsewhere does not matter then.
  folder.Write("app.trace.1", std::string(DataFile1().file()).replace(200, 8, "damaged!"));
  const CommandResult last = folder.Run("heap", {"app.trace"}, {"--gc", "3"});
  CHECK(last.code == 0);
  CHECK(Has(last.out, "after GC 3"));
  CHECK(folder.Run("heap", {"app.trace"}, {"--gc", "3", "--by", "age"}).code != 0);
  // The sync point of the file with collection 2 is complete only after it.
  CHECK(folder.Run("heap", {"app.trace"}, {"--gc", "2"}).code != 0);
}

TEST_CASE("the heap before the end of its sync point is said to be not complete") {
  Folder folder;
  WriteRotated(&folder);
  CHECK(Has(folder.Run("heap", {"app.trace"}, {"--gc", "2"}).out,
            "GC 2 (young, Allocation Failure), at 15.0 us: 6 objects"));
  CHECK(!Has(folder.Run("heap", {"app.trace"}, {"--gc", "2"}).out, "not complete"));
  const CommandResult cold = folder.Run("heap", {"app.trace.2"}, {"--gc", "2"});
  CHECK(cold.code == 0);
  CHECK(Has(cold.out, "(not complete yet: the sync point that lists the old space has not ended here)"));
  CHECK(Has(folder.Run("heap", {"app.trace.2"}, {"--gc", "2", "--json"}).out, "\"complete\": false"));
  CHECK(!Has(folder.Run("heap", {"app.trace.2"}, {"--gc", "3"}).out, "not complete"));
  CHECK(Has(folder.Run("heap", {"app.trace.2"}, {"--gc", "2", "--objects", "--json"}).out,
            "\"complete\": false"));
  CHECK(Has(folder.Run("heap", {"app.trace.2"}, {"--gc", "2", "--objects", "--csv"}).err,
            "note: heap after GC 2 (young, Allocation Failure), at 15.0 us (not complete yet: "));
  CHECK(Has(folder.Run("sites", {"app.trace.2"}, {"--live", "--gc", "2"}).out,
            "(not complete yet: the sync point"));
  CHECK(!Has(folder.Run("sites", {"app.trace.2"}, {"--live", "--gc", "3"}).out, "not complete"));
}

TEST_CASE("another sync point takes the place of one that was abandoned") {
  Folder folder;
  WriteRotated(&folder);
  folder.Write("app.trace.2", AbandonedDataFile2().file());
  const CommandResult warm = folder.Run("verify", {"app.trace"});
  CHECK(warm.code == 0);
  CHECK(Has(warm.out, "2 compared with the heap, 1 taken as the heap, 1 abandoned"));
  const std::string objects = HeapObjects(folder, {"app.trace"});
  const CommandResult cold = folder.Run("verify", {"app.trace.2"});
  CHECK(cold.code == 0);
  CHECK(Has(cold.out, "0 compared with the heap, 1 taken as the heap, 1 abandoned"));
  CHECK(folder.Run("heap", {"app.trace.2"}, {"--end", "--objects"}).out == objects);
  CHECK(Has(folder.Run("heap", {"app.trace.2"}).out, "the sync point that lists the old space was abandoned"));
}

TEST_CASE("gcs marks the collections that are sync points") {
  Folder folder;
  WriteRotated(&folder);
  CHECK(folder.Run("gcs", {"app.trace"}).out == R"out(
  GC  Kind   Cause                 Start  Duration  Before  After  Moved  Stayed  Died  Live  Sync point
   0  young  Allocation Failure   5.0 us    4.0 us   664 B  264 B      3       0     4     6  complete
   1  young  Allocation Failure  11.0 us    500 ns   312 B  240 B      2       0     3     5  complete
   2  young  Allocation Failure  14.0 us    1.0 us   512 B  264 B      2       0     1     6
   3  young  Allocation Failure  17.0 us    1.0 us   288 B  264 B      1       0     1     6
)out" + 1);
  CHECK(folder.Run("gcs", {"app.trace.2"}).out == R"out(
  GC  Kind   Cause                 Start  Duration  Before  After  Moved  Stayed  Died  Live
   2  young  Allocation Failure  14.0 us    1.0 us   512 B  264 B      ?       ?     ?     ?
   3  young  Allocation Failure  17.0 us    1.0 us   288 B  264 B      1       0     1     6
)out" + 1);
  folder.Write("app.trace.2", AbandonedDataFile2().file());
  CHECK(Has(folder.Run("gcs", {"app.trace"}).out, "5  abandoned\n"));
  CHECK(Has(folder.Run("gcs", {"app.trace"}).out, "4  complete\n"));
}

TEST_CASE("info shows the files and the period that they cover") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0").Write("app.trace.2", AbandonedDataFile2().file());
  const std::string out = folder.Run("info", {"app.trace"}).out;
  CHECK(out.substr(0, out.find("trace  ")) == R"out(
definitions     app.trace, 676 B, format 2.0
file 1          app.trace.1, 612 B, format 2.0, GC 1, sync point complete
file 2          app.trace.2, 674 B, format 2.0, GC 2, sync point abandoned, sync point complete
)out" + 1);
  CHECK(Has(out, "\nperiod          9.5 us to 30.0 us, GC 1 to 2; file 0 is not there\n"));
  CHECK(Has(out, "\nsync points     3 with 12 objects, 616 B, 1 abandoned\n"));
  CHECK(Has(out, "\nended           cleanly (VM death)\n"));
  CHECK(Has(out, "\n  SYNC_ABANDONED"));
  const std::string json = folder.Run("info", {"app.trace"}, {"--json"}).out;
  CHECK(Has(json, "\"role\": \"definitions\""));
  CHECK(Has(json, "\"state\": \"abandoned\""));
}

TEST_CASE("info tells which data files are gone, one or several") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0").Remove("app.trace.1");
  CHECK(Has(folder.Run("info", {"app.trace"}).out, "; files 0 to 1 are not there\n"));
}

TEST_CASE("what was allocated is counted in the files that are there") {
  Folder folder;
  WriteRotated(&folder);
  CHECK(Has(folder.Run("sites", {"app.trace"}).out, "allocated: 12 objects"));
  CHECK(Has(folder.Run("sites", {"app.trace.2"}).out, "allocated: 3 objects"));
}

}  // namespace
}  // namespace anttracks::testing
