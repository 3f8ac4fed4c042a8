// SPDX-License-Identifier: Apache-2.0
// Provenance files: what `fold` writes before a data file is deleted, and what a reader makes of it.
#include "analyzer/passes/fold.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analyzer/passes/pass.h"
#include "tests/unit/analyzer/cost.h"
#include "tests/unit/analyzer/rotated_trace.h"
#include "trace/reader.h"
#include "trace/segments.h"

namespace anttracks::testing {
namespace {
bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Who allocated what is live and when, from GC 1 on: all that a deleted file 0 could take along.
std::string Known(const Folder& folder, const std::vector<std::string>& gcs = {"1", "2", "3"}) {
  std::string text;
  for (const std::string& gc : gcs) {
    for (const char* by : {"thread", "age"}) {
      const CommandResult heap = folder.Run("heap", {"app.trace"}, {"--gc", gc, "--by", by});
      CHECK_MESSAGE(heap.err == "", "--gc ", gc, " --by ", by);
      CHECK(heap.code == 0);
      text += heap.out;
    }
  }
  return text;
}

std::vector<nlohmann::json> QualityOfGcs(const Folder& folder, uint64_t first) {
  const auto json = nlohmann::json::parse(folder.Run("quality", {"app.trace"}, {"--json"}).out);
  std::vector<nlohmann::json> rows;
  for (const nlohmann::json& row : json["rows"]) {
    if (!row["gc"].is_null() && row["gc"].get<uint64_t>() >= first) rows.push_back(row);
  }
  REQUIRE(!rows.empty());
  return rows;
}

CommandResult FoldFile(const Folder& folder, const std::string& name,
                       const std::vector<std::string>& options = {}) {
  return folder.Run("fold", {name}, options);
}

bool Exists(const Folder& folder, const std::string& name) {
  return std::filesystem::exists(folder.path(name));
}

TraceBuilder ProvenanceFile(uint32_t index, std::initializer_list<uint64_t> records, uint64_t id = kRotatedId) {
  TraceBuilder b(index, id, trace::kFileProvenance);
  b.Meta(kEden * 8, kHeapEnd * 8);
  b.Numbers(SegmentKind::kProvenance, 0, records);
  return std::move(b.Flush());
}
// What DataFile0 knows of the sync point of DataFile1: a Node and an Object in a survivor space, int[10] in the
// old one.
const std::initializer_list<uint64_t> kProvenance0 = {kTo, 3, 1, 1, 0, 2, 2, 1, kOld + 17 - (kTo + 5), 7, 1, 1};

TEST_CASE("a fold keeps thread and time of what is live when its file goes") {
  Folder folder;
  WriteRotated(&folder);
  const std::string known = Known(folder);
  const std::vector<nlohmann::json> quality = QualityOfGcs(folder, 1);
  Folder lossy;
  WriteRotated(&lossy);
  lossy.Remove("app.trace.0");
  REQUIRE(Known(lossy) != known);  // otherwise there is nothing to keep
  const CommandResult fold = FoldFile(folder, "app.trace.0");
  CHECK(fold.code == 0);
  CHECK(fold.err == "");
  CHECK(Has(fold.out, "app.trace.1.origins: thread and time of 96 B of 264 B live, 3 runs, "));
  folder.Remove("app.trace.0");
  CHECK(Known(folder) == known);
  CHECK(QualityOfGcs(folder, 1) == quality);
  const CommandResult verify = folder.Run("verify", {"app.trace"});
  CHECK(verify.code == 0);
  CHECK(Has(verify.out, "1 compared with the heap, 1 taken as the heap"));
}

TEST_CASE("a fold writes a file for its owner alone, and through no link") {
  namespace fs = std::filesystem;
  Folder folder;
  WriteRotated(&folder);
  const std::string out = folder.path("app.trace.1.origins"), precious = folder.path("precious");
  { std::ofstream(precious) << "precious"; }
  fs::create_symlink(precious, out + ".tmp");
  const mode_t mask = umask(0);
  CHECK(FoldFile(folder, "app.trace.0").code == 0);
  umask(mask);
  CHECK(fs::file_size(precious) == 8);
  CHECK(fs::status(out).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("a fold replaces nothing but provenance files, whatever it is told") {
  namespace fs = std::filesystem;
  Folder folder;
  WriteRotated(&folder);
  const std::string out = folder.path("app.trace.1.origins");
  { std::ofstream(out) << "my diary"; }
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"-f"}}) {
    const CommandResult fold = FoldFile(folder, "app.trace.0", options);
    CHECK(fold.code == 2);
    CHECK(Has(fold.err, "app.trace.1.origins is something else, not a provenance file"));
  }
  CHECK(fs::file_size(out) == 8);
}

TEST_CASE("a fold gives the first sync point the quality of the collection before it") {
  Folder folder;
  WriteRotated(&folder);
  const nlohmann::json before = QualityOfGcs(folder, 0).at(0);
  REQUIRE(FoldFile(folder, "app.trace.0").code == 0);
  folder.Remove("app.trace.0");
  const auto json = nlohmann::json::parse(folder.Run("quality", {"app.trace"}, {"--json"}).out);
  const nlohmann::json& sync = json["rows"][0];
  CHECK(sync["kind"] == "sync point");
  for (const char* field :
       {"objects", "complete", "with_class", "with_size", "with_site", "with_thread", "with_time"}) {
    CHECK_MESSAGE(sync.at(field) == before.at(field), field);
  }
  CHECK(sync["with_thread"] == 3);
}

TEST_CASE("a fold of what was folded before knows what both files knew") {
  Folder folder;
  WriteRotated(&folder);
  const std::string known = Known(folder, {"3"});
  REQUIRE(FoldFile(folder, "app.trace.0").code == 0);
  folder.Remove("app.trace.0");
  REQUIRE(FoldFile(folder, "app.trace.1").code == 0);
  folder.Remove("app.trace.1");
  CHECK(Exists(folder, "app.trace.1.origins"));
  CHECK(Known(folder, {"3"}) == known);
  CHECK(folder.Run("verify", {"app.trace"}).code == 0);
  folder.Remove("app.trace.2.origins");
  CHECK(Known(folder, {"3"}) != known);
}

// G1: the int[10] in the old space is dead, and was not yet collected.
TEST_CASE("a fold has nothing of what a sync point leaves out") {
  Folder folder;
  WriteRotated(&folder);
  std::vector<TestSpace> spaces = Spaces(0, 0, 9, 24);
  for (TestSpace& space : spaces) space.collected = 2;
  const Listing listing;
  TraceBuilder b = DataFile(1, kChunks0);
  b.SyncBegin(2, 9500, spaces);
  b.Segment(SegmentKind::kSyncObjects, 2, listing.to);
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(3, 14).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {5, listing.bytes - 7UL * 8});
  folder.Write("app.trace.1", b.Flush().file()).Remove("app.trace.2");
  const CommandResult fold = FoldFile(folder, "app.trace.0");
  CHECK(fold.code == 0);
  CHECK(Has(fold.out, "thread and time of 40 B of "));
  CHECK(Has(fold.out, " 2 runs, "));
  folder.Remove("app.trace.0");
  CHECK(folder.Run("verify", {"app.trace"}).code == 0);
}

struct Found {
  bool takes_all = false, known = false;
  std::string problem;  // the first
  std::vector<std::array<uint64_t, 4>> runs;
};

Found FoldWith(const Folder& folder, uint32_t index, analyzer::Fold::Effort effort) {
  const std::string data = "app.trace." + std::to_string(index),
                    next = "app.trace." + std::to_string(index + 1);
  auto reader = trace::TraceReader::Open({folder.path("app.trace"), folder.path(data), folder.path(next)});
  REQUIRE(reader.ok());
  analyzer::Problems problems;
  analyzer::Definitions definitions(problems);
  analyzer::Fold fold(definitions, problems, static_cast<uint32_t>((*reader)->files().size() - 1), effort);
  analyzer::Pass<analyzer::Fold>(**reader, definitions, problems, fold).Run();
  Found found{fold.takes_all(), fold.known(), problems.total() == 0 ? "" : problems.first()->text, {}};
  for (const analyzer::ProvenanceRun& run : fold.runs())
    found.runs.push_back({run.begin, run.end, run.thread, run.age});
  return found;
}

void CheckLittleEffortIsEnough(const Folder& folder, uint32_t index, size_t runs) {
  const Found little = FoldWith(folder, index, analyzer::Fold::Effort::kLittle);
  const Found all = FoldWith(folder, index, analyzer::Fold::Effort::kAll);
  CHECK(little.known);
  CHECK(all.known);
  CHECK(little.problem == "");
  CHECK_FALSE(little.takes_all);
  CHECK(little.runs == all.runs);
  CHECK(little.runs.size() == runs);
}

TEST_CASE("a fold finds the same whether it decodes what lists old objects or not") {
  Folder folder;
  WriteRotated(&folder);
  CheckLittleEffortIsEnough(folder, 0, 3);
  REQUIRE(FoldFile(folder, "app.trace.0").code == 0);
  CheckLittleEffortIsEnough(folder, 1, 2);
}

// File 0 knows the int[10], which is old in file 1; a Node moves into the old space.
TEST_CASE(
    "a fold with little effort has of optional spaces what the sync point lists, and nothing of what it leaves "
    "out") {
  for (const bool dead : {false, true}) {
    Folder folder;
    WriteRotated(&folder);
    REQUIRE(FoldFile(folder, "app.trace.0").code == 0);
    std::vector<TestSpace> spaces = SpacesOf(0, 3, 0, 27);
    for (TestSpace& space : spaces) space.collected = 2;
    Objects old = Objects().Tlab(kOld).WithLength(3, 14).Fixed(1);
    old = dead ? old.Tlab(7).Fixed(1) : old.WithLength(2, 10).Fixed(1);
    TraceBuilder b = DataFile(2, kChunks1);
    b.SyncBegin(2, 12000, spaces);
    b.Segment(SegmentKind::kSyncObjects, 1, Objects().Tlab(kFrom).Fixed(1));
    b.Segment(SegmentKind::kSyncObjects, 3, old);
    b.Numbers(SegmentKind::kSyncEnd, 0, {dead ? 4u : 5u, dead ? 184u : 240u});
    folder.Write("app.trace.2", b.Flush().file());
    CheckLittleEffortIsEnough(folder, 1, 2);
  }
}

TEST_CASE("a fold takes all effort when a collection may have moved old objects") {
  for (const uint64_t kind : {1, 4}) {
    Folder folder;
    WriteRotated(&folder);
    TraceBuilder b = DataFile(1, kChunks0);
    AddSyncPoint1(&b);
    b.Gc(SegmentKind::kGcBegin, 1, kind, "test", 11000, SpacesOf(0, 0, 9, 24, kind == 1));
    folder.Write("app.trace.1", b.Flush().file());
    CHECK(FoldWith(folder, 1, analyzer::Fold::Effort::kLittle).takes_all);
    CHECK_FALSE(FoldWith(folder, 1, analyzer::Fold::Effort::kAll).takes_all);
  }
}

// The second sync point of file 1 begins anew: what the provenance beside it says is of the first one.
TEST_CASE("provenance beside a file is of its first complete sync point, whatever effort a fold takes") {
  Folder folder;
  WriteRotated(&folder);
  REQUIRE(FoldFile(folder, "app.trace.0").code == 0);
  TraceBuilder b = DataFile(1, kChunks0), next = DataFile(2, kChunks0 + 3);
  for (const uint64_t reason : {2, 0}) AddSyncPoint1(&b, {}, reason);
  AddSyncPoint1(&next);
  folder.Write("app.trace.1", b.file());
  folder.Write("app.trace.2", next.file());
  CheckLittleEffortIsEnough(folder, 1, 0);
}

TEST_CASE("a fold takes all effort when provenance and events give one place to two objects") {
  Folder folder;
  WriteRotated(&folder);
  folder.Write("app.trace.1.origins", ProvenanceFile(1, {kOld, 24, 1, 1}).file());
  TraceBuilder b = DataFile(1, kChunks0);
  AddSyncPoint1(&b);
  b.Segment(SegmentKind::kAlloc, 1,
            Objects().Head(10000).Tlab(kOld + 14).Fixed(1));  // where the sync point has a Node
  b.Gc(SegmentKind::kGcBegin, 1, 0, "Allocation Failure", 11000, SpacesOf(0, 0, 9, 24));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kTo, kFrom, 0, 3}}));
  b.Gc(SegmentKind::kGcEnd, 1, 0, "Allocation Failure", 11500, SpacesOf(0, 3, 0, 27)).Flush();
  folder.Write("app.trace.1", b.file());
  CHECK(FoldWith(folder, 1, analyzer::Fold::Effort::kLittle).takes_all);
  CHECK(FoldFile(folder, "app.trace.1").code == 4);
}

TEST_CASE("sync points without end cannot ask for the provenance over and over") {
  Folder folder;
  WriteRotated(&folder);
  TraceBuilder provenance(1, kRotatedId, trace::kFileProvenance);
  provenance.Meta(kEden * 8, kHeapEnd * 8);
  ByteBuffer runs;
  for (uint64_t i = 0; i < 30'000; i++) {
    for (const uint64_t number : {i == 0 ? kOld : uint64_t{0}, uint64_t{1}, i % 2, i % 3}) runs.Uv(number);
  }
  provenance.Segment(SegmentKind::kProvenance, 0, runs);
  TraceBuilder first = DataFile(1, kChunks0), next = DataFile(2, kChunks0 + 2);
  first.SyncBegin(2, 9500, Spaces(0, 0, 0, 30'000)).Numbers(SegmentKind::kSyncEnd, 0, {0, 0});
  for (int i = 0; i < 100'000; i++) next.SyncBegin(2, 12000, Spaces(0, 0, 0, 30'000));
  folder.Write("app.trace.1.origins", provenance.Flush().file()).Write("app.trace.1", first.Flush().file());
  folder.Write("app.trace.2", next.Flush().file());
  const Cost cost;
  (void)FoldFile(folder, "app.trace.1");
  CHECK(cost.seconds() < 5 * kSlower);
}

TEST_CASE("a fold changes neither its file nor how it is read") {
  Folder folder;
  WriteRotated(&folder);
  const std::string known = Known(folder), bytes = folder.Read("app.trace.1");
  REQUIRE(FoldFile(folder, "app.trace.0").code == 0);
  CHECK(Known(folder) == known);  // file 0 is still there, the provenance of file 1 is not needed
  CHECK(folder.Read("app.trace.1") == bytes);
  CHECK(folder.Run("verify", {"app.trace"}).code == 0);
}

TEST_CASE("a fold writes runs as the format says") {
  Folder folder;
  WriteRotated(&folder);
  REQUIRE(FoldFile(folder, "app.trace.0").code == 0);
  folder.Remove("app.trace.0");
  auto reader = trace::TraceReader::Open({folder.path("app.trace.1")});
  REQUIRE(reader.ok());
  REQUIRE((*reader)->files().size() == 3);
  const trace::FileInfo& file = (*reader)->files()[1];
  CHECK(file.flags == 4);
  CHECK(file.index == 1);
  CHECK(file.trace_id == kRotatedId);
  ByteBuffer expected;
  for (const uint64_t number : kProvenance0) expected.Uv(number);
  size_t segments = 0;
  while ((*reader)->Next() == trace::TraceReader::Item::kChunk) {
    const trace::Chunk& chunk = (*reader)->chunk();
    if (chunk.file != 1 || chunk.type != 2) continue;
    trace::SegmentReader in(chunk.payload);
    trace::Segment segment;
    while (in.Next(&segment)) {
      segments++;
      CHECK(segment.kind == 16);
      CHECK(std::vector<uint8_t>(segment.payload.begin(), segment.payload.end()) ==
            std::vector<uint8_t>(expected.data(), expected.data() + expected.size()));
    }
  }
  CHECK(segments == 1);
}

TEST_CASE("a fold takes the sync point that follows one that was abandoned") {
  Folder folder;
  WriteRotated(&folder);
  folder.Write("app.trace.2", AbandonedDataFile2().file());
  const auto at_end = [&] {
    return folder.Run("heap", {"app.trace"}, {"--end", "--by", "thread"}).out +
           folder.Run("heap", {"app.trace"}, {"--end", "--by", "age"}).out;
  };
  const std::string known = at_end();
  for (const char* name : {"app.trace.0", "app.trace.1"}) {
    REQUIRE(FoldFile(folder, name).code == 0);
    folder.Remove(name);
  }
  CHECK(at_end() == known);
  CHECK(folder.Run("verify", {"app.trace"}).code == 0);
  CHECK(Has(folder.Run("heap", {"app.trace"}, {"--end", "--by", "age"}).out, "3 GCs"));
  folder.Remove("app.trace.2.origins");
  CHECK(at_end() != known);
}

TEST_CASE("a fold refuses a sync point that is not complete") {
  Folder folder;
  WriteRotated(&folder);
  TraceBuilder b = DataFile(2, kChunks1);
  b.SyncBegin(2, 12000, SpacesOf(0, 3, 0, 27));
  b.Segment(SegmentKind::kSyncObjects, 1, Objects().Tlab(kFrom).Fixed(1)).Flush();
  folder.Write("app.trace.2", b.file());
  const CommandResult result = FoldFile(folder, "app.trace.1");
  CHECK(result.code == 1);
  CHECK(Has(result.err,
            "the heap is not known at the sync point of app.trace.2 (it is not complete): nothing to keep"));
  CHECK_FALSE(Exists(folder, "app.trace.2.origins"));
}

TEST_CASE("a fold needs a data file and its successor") {
  Folder folder;
  WriteRotated(&folder);
  const CommandResult definitions = FoldFile(folder, "app.trace");
  CHECK(definitions.code == 2);
  CHECK(definitions.err == "anttracks: fold needs one data file of a rotated trace, such as app.trace.3\n");
  const CommandResult last = FoldFile(folder, "app.trace.2");
  CHECK(last.code == 3);
  CHECK(Has(last.err, "app.trace.3: No such file or directory"));
  const CommandResult missing = FoldFile(folder, "app.trace.7");
  CHECK(missing.code == 3);
  CHECK(Has(missing.err, "app.trace.7: No such file or directory"));
  CHECK(folder.Run("fold", {}).code == 2);
  CHECK(folder.Run("fold", {"app.trace.0", "app.trace.1"}).code == 2);
  folder.Write("app.trace.3", SmallTrace().file());
  const CommandResult foreign = FoldFile(folder, "app.trace.2");
  CHECK(foreign.code == 3);
  CHECK(Has(foreign.err, "app.trace.3"));
  for (const char* name : {"app.trace.1.origins", "app.trace.3.origins", "app.trace.8.origins"}) {
    CHECK_FALSE(Exists(folder, name));
  }
}

TEST_CASE("a fold replaces a provenance file only with -f") {
  Folder folder;
  WriteRotated(&folder);
  REQUIRE(FoldFile(folder, "app.trace.0").code == 0);
  const std::string provenance = folder.Read("app.trace.1.origins");
  folder.Write("app.trace.1.origins", provenance.substr(0, 64));
  const CommandResult refused = FoldFile(folder, "app.trace.0");
  CHECK(refused.code == 2);
  CHECK(refused.err == "anttracks: app.trace.1.origins exists already; -f replaces it\n");
  CHECK(folder.Read("app.trace.1.origins") == provenance.substr(0, 64));
  CHECK(FoldFile(folder, "app.trace.0", {"-f"}).code == 0);
  CHECK(folder.Read("app.trace.1.origins") == provenance);
}

TEST_CASE("a fold that would write too much writes nothing") {
  Folder folder;
  WriteRotated(&folder);
  REQUIRE(FoldFile(folder, "app.trace.0").code == 0);
  const size_t bytes = folder.Read("app.trace.1.origins").size();
  folder.Remove("app.trace.1.origins");
  const CommandResult refused = FoldFile(folder, "app.trace.0", {"--max-bytes=" + std::to_string(bytes - 1)});
  CHECK(refused.code == 1);
  CHECK(refused.err == "anttracks: app.trace.1.origins would have " + std::to_string(bytes) +
                           " bytes, more than --max-bytes allows\n");
  CHECK_FALSE(Exists(folder, "app.trace.1.origins"));
  CHECK_FALSE(Exists(folder, "app.trace.1.origins.tmp"));
  CHECK(FoldFile(folder, "app.trace.0", {"--max-bytes=" + std::to_string(bytes)}).code == 0);
  CHECK(folder.Read("app.trace.1.origins").size() == bytes);
}

TEST_CASE("a fold that cannot write leaves nothing") {
  Folder folder;
  WriteRotated(&folder);
  std::filesystem::create_directories(folder.path("app.trace.1.origins") + "/full");
  const CommandResult result = FoldFile(folder, "app.trace.0", {"-f"});
  CHECK(result.code == 2);
  CHECK(Has(result.err, "anttracks: app.trace.1.origins is a folder, not a provenance file; remove it\n"));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("."))) {
    CHECK_FALSE(entry.path().filename().string().starts_with("app.trace.1.origins."));
  }
}

TEST_CASE("a fold has nothing to keep behind a loss") {
  Folder folder;
  WriteRotated(&folder);
  TraceBuilder b = DataFile(0, 0);
  b.SyncBegin(0, 1000, Spaces(0, 0, 0, 17));
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(3, 14).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {2, 136}).Flush();
  folder.Write("app.trace.0", b.Loss(9100, 3, 100, "queue full").Flush().file());
  const CommandResult result = FoldFile(folder, "app.trace.0");
  CHECK(result.code == 1);
  CHECK(Has(result.err, "the agent lost events 1 time"));
  CHECK(Has(result.err,
            "the heap is not known at the sync point of app.trace.1 (events were lost): nothing to keep"));
  CHECK_FALSE(Exists(folder, "app.trace.1.origins"));
}

TEST_CASE("a fold of a damaged file writes nothing") {
  Folder folder;
  WriteRotated(&folder);
  std::string bad = folder.Read("app.trace.0");
  bad[bad.size() - 3] ^= 1;
  folder.Write("app.trace.0", bad);
  const CommandResult result = FoldFile(folder, "app.trace.0");
  CHECK(result.code == 4);
  CHECK(Has(result.err, "app.trace.0"));
  CHECK_FALSE(Exists(folder, "app.trace.1.origins"));
}

TEST_CASE("provenance that was made by hand is taken") {
  Folder folder;
  WriteRotated(&folder);
  const std::string known = Known(folder);
  folder.Remove("app.trace.0").Write("app.trace.1.origins", ProvenanceFile(1, kProvenance0).file());
  CHECK(Known(folder) == known);
  CHECK(folder.Run("verify", {"app.trace"}).code == 0);
  const std::string info = folder.Run("info", {"app.trace"}).out;
  CHECK(Has(info, "\nprovenance      app.trace.1.origins, "));
  CHECK(Has(info, "\nfile 1          app.trace.1, "));
  CHECK(Has(info, "period          9.5 us to 30.0 us, GC 1 to 3; file 0 is not there\n"));
  CHECK(Has(folder.Run("info", {"app.trace"}, {"--json"}).out, "\"role\": \"origins\""));
}

TEST_CASE("provenance that is damaged leaves the events readable") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0");
  const std::string without = folder.Run("heap", {"app.trace"}, {"--objects"}).out;
  const std::string good = ProvenanceFile(1, kProvenance0).file();
  std::string bad = good;
  bad[bad.size() - 3] ^= 1;
  folder.Write("app.trace.1.origins", bad);
  const CommandResult heap = folder.Run("heap", {"app.trace"}, {"--objects"});
  CHECK(heap.code == 4);
  CHECK(heap.out == without);
  CHECK(Has(heap.err, "app.trace.1.origins"));
  CHECK(folder.Run("verify", {"app.trace"}).code == 1);
  for (size_t length = 0; length < good.size();
       length++) {  // of a process that was killed before it renamed, say
    folder.Write("app.trace.1.origins", good.substr(0, length));
    const CommandResult cut = folder.Run("heap", {"app.trace"}, {"--objects"});
    CHECK_MESSAGE(cut.out == without, "cut at ", length);
    CHECK(cut.code == 0);
  }
}

TEST_CASE("provenance of another trace or file is left out") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0");
  const std::string without = Known(folder);
  const std::string left_out = "warning: app.trace.1.origins: does not belong to app.trace.1 (file left out)\n";
  for (const std::string& bytes : {ProvenanceFile(1, kProvenance0, 77).file(),
                                   ProvenanceFile(2, kProvenance0).file(), DataFile1().file()}) {
    folder.Write("app.trace.1.origins", bytes);
    const CommandResult heap = folder.Run("heap", {"app.trace"}, {"--gc", "1", "--by", "thread"});
    CHECK(heap.code == 0);
    CHECK(heap.err == left_out);
    CHECK(Has(without, heap.out));
  }
  folder.Write("app.trace.1.origins",
               "no trace at all, but longer than the header of a trace file, which has 64 bytes");
  const CommandResult foreign = folder.Run("heap", {"app.trace"}, {"--gc", "1", "--by", "thread"});
  CHECK(foreign.code == 0);
  CHECK(Has(foreign.err, "app.trace.1.origins"));
  CHECK(Has(foreign.err, "(file left out)"));
}

TEST_CASE("provenance that does not fit the sync point is reported") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0");
  const uint64_t free = kOld + 100;
  for (const std::initializer_list<uint64_t>& records :
       {std::initializer_list<uint64_t>{free, 3, 1, 1}, std::initializer_list<uint64_t>{kTo, 2, 1, 1}}) {
    folder.Write("app.trace.1.origins", ProvenanceFile(1, records).file());
    const CommandResult verify = folder.Run("verify", {"app.trace"});
    CHECK(verify.code == 1);
    CHECK(Has(verify.out, "provenance is given for " + std::to_string(8 * *(records.begin() + 1)) +
                              " bytes in which the sync point has no such objects"));
    CHECK(Has(verify.out, ": 1 error\n"));
  }
}

TEST_CASE("provenance that is not in order is reported") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0");
  folder.Write("app.trace.1.origins", ProvenanceFile(1, {kTo, 3, 1, 1, 0, 0, 2, 1}).file());
  CHECK(Has(folder.Run("verify", {"app.trace"}).out, "provenance is not in the order of addresses"));
  folder.Write("app.trace.1.origins", ProvenanceFile(1, {kTo, 3, 1}).file());
  CHECK(Has(folder.Run("verify", {"app.trace"}).out, "provenance is cut short or overlong"));
  folder.Write("app.trace.1.origins", ProvenanceFile(1, {kTo, 3, 1, uint64_t{1} << 32}).file());
  CHECK(Has(folder.Run("verify", {"app.trace"}).out, "provenance of an impossible age"));
  TraceBuilder twice = ProvenanceFile(1, kProvenance0);
  twice.Numbers(SegmentKind::kProvenance, 0, kProvenance0).Flush();
  folder.Write("app.trace.1.origins", twice.file());
  CHECK(Has(folder.Run("verify", {"app.trace"}).out, "provenance is not in the order of addresses"));
}

TEST_CASE("provenance in a data file and events in a provenance file are out of place") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0");
  TraceBuilder data = DataFile(1, kChunks0);
  data.Numbers(SegmentKind::kProvenance, 0, kProvenance0);
  folder.Write("app.trace.1", data.Flush().file());
  CHECK(Has(folder.Run("verify", {"app.trace.1"}).out, "ORIGINS in a file of events"));
  folder.Write("app.trace.1", DataFile1().file());
  TraceBuilder provenance = ProvenanceFile(1, kProvenance0);
  provenance.Segment(SegmentKind::kAlloc, 1, Objects().Head(9600).Tlab(kEden).Fixed(1)).Flush();
  folder.Write("app.trace.1.origins", provenance.file());
  const CommandResult verify = folder.Run("verify", {"app.trace"});
  CHECK(verify.code == 1);
  CHECK(Has(verify.out, "ALLOC in a provenance file"));
}

TEST_CASE("a provenance file is not a trace by itself") {
  Folder folder;
  WriteRotated(&folder);
  REQUIRE(FoldFile(folder, "app.trace.0").code == 0);
  const CommandResult result = folder.Run("info", {"app.trace.1.origins"});
  CHECK(result.code == 3);
  CHECK(result.err ==
        "anttracks: app.trace.1.origins: holds provenance for a data file; name that one, or the definitions "
        "file\n");
}

TEST_CASE("a fold takes a filler for no object that the sync point lists") {
  // The filler stays in the old space, where the next sync point finds it.
  TraceBuilder first = DataFile0();
  Listing listing;
  TraceBuilder b = DataFile(1, kChunks0 + 1);
  first.Gc(SegmentKind::kGcBegin, 1, 0, "Allocation Failure", 9200, SpacesOf(0, 0, 9, 24));
  first.Segment(SegmentKind::kFillers, 1, Filler(kOld + 24, 4, 4));
  first.Gc(SegmentKind::kGcEnd, 1, 0, "Allocation Failure", 9300, SpacesOf(0, 0, 0, 28)).Flush();
  b.SyncBegin(2, 9500, SpacesOf(0, 0, 0, 28));
  b.Segment(SegmentKind::kSyncObjects, 3, listing.old.WithLength(4, 4));
  b.Numbers(SegmentKind::kSyncEnd, 0, {4, 224});
  Folder folder;
  folder.Write("app.trace", DefinitionsFile().file()).Write("app.trace.0", first.file());
  folder.Write("app.trace.1", b.Flush().file());
  const auto by_thread = [&] { return folder.Run("heap", {"app.trace"}, {"--end", "--by", "thread"}).out; };
  const std::string known = by_thread();
  CHECK(Has(known, "<filler>"));
  const CommandResult fold = FoldFile(folder, "app.trace.0");
  CHECK_MESSAGE(fold.code == 0, fold.err);
  folder.Remove("app.trace.0");
  CHECK(by_thread() == known);
}

}  // namespace
}  // namespace anttracks::testing
