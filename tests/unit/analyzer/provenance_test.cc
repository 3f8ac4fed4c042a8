// SPDX-License-Identifier: Apache-2.0
// Provenance files: what a reader makes of them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/analyzer/rotated_trace.h"
#include "trace/file_writer.h"
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

TraceBuilder ProvenanceFile(uint32_t index, std::initializer_list<uint64_t> records, uint64_t id = kRotatedId,
                            uint32_t flags = 0) {
  TraceBuilder b(index, id, trace::kFileProvenance | flags);
  b.Meta(kEden * 8, kHeapEnd * 8);
  b.Numbers(SegmentKind::kProvenance, 0, records);
  return std::move(b.Flush());
}
// What DataFile0 knows of the sync point of DataFile1: a Node and an Object in a survivor space, int[10] in the
// old one.
const std::initializer_list<uint64_t> kProvenance0 = {kTo, 3, 1, 1, 0, 2, 2, 1, kOld + 17 - (kTo + 5), 7, 1, 1};

TEST_CASE("provenance that was made by hand is taken") {
  Folder folder;
  WriteRotated(&folder);
  const std::string known = Known(folder);
  const std::vector<nlohmann::json> quality = QualityOfGcs(folder, 1);
  folder.Remove("app.trace.0");
  REQUIRE(Known(folder) != known);  // otherwise there is nothing to keep
  folder.Write("app.trace.1.origins", ProvenanceFile(1, kProvenance0).file());
  CHECK(Known(folder) == known);
  CHECK(QualityOfGcs(folder, 1) == quality);
  CHECK(folder.Run("verify", {"app.trace"}).code == 0);
  const std::string info = folder.Run("info", {"app.trace"}).out;
  CHECK(Has(info, "\nprovenance      app.trace.1.origins, "));
  CHECK(Has(info, "\nfile 1          app.trace.1, "));
  CHECK(Has(info, "period          9.5 us to 30.0 us, GC 1 to 3; file 0 is not there\n"));
  CHECK(Has(folder.Run("info", {"app.trace"}, {"--json"}).out, "\"role\": \"origins\""));
}

TEST_CASE("where provenance was forgotten an object without it is not taken for one from before the trace") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0");
  for (const uint32_t flags : {uint32_t{0}, trace::kFileProvenanceInPart}) {
    CAPTURE(flags);
    folder.Write("app.trace.1.origins", ProvenanceFile(1, kProvenance0, kRotatedId, flags).file());
    const auto exact = [&](const char* option, const char* value) {
      const std::string text = folder.Run("heap", {"app.trace"}, {option, value, "--json"}).out;
      return nlohmann::json::parse(text)["exact"].get<bool>();
    };
    CHECK(exact("--from", "1") == (flags == 0));
    CHECK(exact("--where", "thread=main") == (flags == 0));
    CHECK(exact("--where", "class=app.Node"));
    CHECK(folder.Run("assert", {"app.trace"}, {"live(thread=main) < 5"}).code == (flags == 0 ? 0 : 1));
    CHECK(folder.Run("verify", {"app.trace"}).code == 0);
  }
}

TEST_CASE("provenance is of the sync point that follows it, not of one after a loss") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0").Remove("app.trace.2");
  folder.Write("app.trace.1.origins", ProvenanceFile(1, kProvenance0).file());
  for (const bool loss : {false, true}) {
    TraceBuilder b = DataFile(1, kChunks0);
    if (loss) b.Loss(9400, 1, 100, "queue full");
    AddSyncPoint1(&b);
    folder.Write("app.trace.1", b.file());
    const std::string threads = folder.Run("heap", {"app.trace"}, {"--end", "--by", "thread"}).out;
    CAPTURE(threads);
    CHECK(Has(threads, "6 objects, 264 B"));
    CHECK(Has(threads, "main (1)") == !loss);
  }
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

TEST_CASE("of damaged provenance births are not known, although some of it was read") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0");
  TraceBuilder b = ProvenanceFile(1, {kTo, 3, 1, 1});
  b.Numbers(SegmentKind::kProvenance, 0, {kOld + 17, 7, 1, 1});
  std::string bytes = std::move(b.Flush()).file();
  for (const bool damaged : {false, true}) {
    if (damaged) bytes[bytes.size() - 2] ^= 1;
    folder.Write("app.trace.1.origins", bytes);
    const CommandResult heap = folder.Run("heap", {"app.trace"}, {"--from", "1", "--json"});
    CHECK(heap.code == (damaged ? 4 : 0));
    CHECK(nlohmann::json::parse(heap.out)["exact"].get<bool>() == !damaged);
  }
}

// In copying, say: the agent renames a file that is whole.
TEST_CASE("provenance that was cut short is left out, wherever it was cut") {
  Folder folder;
  WriteRotated(&folder);
  folder.Remove("app.trace.0");
  const std::string chunks = ProvenanceFile(1, kProvenance0).file().substr(trace::kFileHeaderBytes);
  trace::FileHeader header;
  header.trace_id = kRotatedId;
  header.file_index = 1;
  header.flags = trace::kFileProvenance;
  header.file_bytes = trace::kFileHeaderBytes + chunks.size();
  const auto start = trace::EncodeFileHeader(header);
  const std::string whole = std::string(start.begin(), start.end()) + chunks;
  for (size_t length = trace::kFileHeaderBytes; length <= whole.size(); length++) {
    folder.Write("app.trace.1.origins", whole.substr(0, length));
    const CommandResult heap = folder.Run("heap", {"app.trace"}, {"--from", "1", "--json"});
    CAPTURE(length);
    CHECK(heap.code == 0);
    CHECK(nlohmann::json::parse(heap.out)["exact"].get<bool>() == (length == whole.size()));
    const std::string cut = "warning: app.trace.1.origins: was cut short, it has " + std::to_string(length) +
                            " of " + std::to_string(whole.size()) + " bytes (file left out)\n";
    CHECK(Has(heap.err, cut) == (length < whole.size()));
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

// G1: the int[10] in the old space is dead, and was not yet collected.
TEST_CASE("provenance may be of dead objects, where a sync point leaves them out") {
  for (const uint64_t collected : {0, 2}) {
    Folder folder;
    WriteRotated(&folder);
    std::vector<TestSpace> spaces = Spaces(0, 0, 9, 24);
    for (TestSpace& space : spaces) space.collected = collected;
    const Listing listing;
    TraceBuilder b = DataFile(1, kChunks0);
    b.SyncBegin(2, 9500, spaces);
    b.Segment(SegmentKind::kSyncObjects, 2, listing.to);
    b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(3, 14).Fixed(1));
    b.Numbers(SegmentKind::kSyncEnd, 0, {5, listing.bytes - 7UL * 8});
    folder.Write("app.trace.1", b.Flush().file()).Remove("app.trace.2").Remove("app.trace.0");
    folder.Write("app.trace.1.origins", ProvenanceFile(1, kProvenance0).file());
    const CommandResult verify = folder.Run("verify", {"app.trace"});
    CHECK(verify.code == (collected == 2 ? 0 : 1));
    CHECK(Has(verify.out, "provenance is given for 56 bytes") == (collected == 0));
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
  folder.Write("app.trace.1.origins", ProvenanceFile(1, kProvenance0).file());
  const CommandResult result = folder.Run("info", {"app.trace.1.origins"});
  CHECK(result.code == 3);
  CHECK(result.err ==
        "anttracks: app.trace.1.origins: holds provenance for a data file; name that one, or the definitions "
        "file\n");
}

}  // namespace
}  // namespace anttracks::testing
