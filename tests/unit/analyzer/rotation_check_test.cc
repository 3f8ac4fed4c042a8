// SPDX-License-Identifier: Apache-2.0
// What verify finds at a rotation: every kind of disagreement between a sync point and the heap, and events of
// a rotated trace that are in the wrong file or order.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/analyzer/rotated_trace.h"

namespace anttracks::testing {
namespace {

using Counts = std::map<std::string, uint64_t>;

constexpr const char* kMismatch = "sync point that disagrees with the heap";
constexpr const char* kOrder = "event in the wrong place";

struct Verdict {
  Counts counts;
  std::string first;  // text of the first problem
  std::string file;
};

Verdict Verify(const Folder& folder, const std::string& name = "app.trace") {
  const auto json = nlohmann::json::parse(folder.Run("verify", {name}, {"--json"}).out);
  Verdict verdict{json["by_kind"].get<Counts>(), "", ""};
  if (!json["first"].empty()) {
    verdict.first = json["first"][0]["text"];
    verdict.file = json["first"][0]["file"];
  }
  return verdict;
}

// With this sync point in data file 1.
Verdict Verify(const Listing& listing) {
  Folder folder;
  folder.Write("app.trace", DefinitionsFile().file()).Write("app.trace.0", DataFile0().file());
  folder.Write("app.trace.1", DataFile1(listing).file()).Write("app.trace.2", DataFile2().file());
  return Verify(folder);
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("verify finds nothing wrong with a sync point that lists the heap") {
  CHECK(Verify(Listing{}).counts.empty());
}

TEST_CASE("verify names an old object that a sync point does not list") {
  const Verdict v = Verify(
      {.old = Objects().Tlab(kOld).WithLength(3, 14).Tlab(3).WithLength(2, 10), .objects = 5, .bytes = 240});
  CHECK(v.counts == Counts{{kMismatch, 1}});
  CHECK(v.first ==
        "space 3 (old) has 3 objects, of which 2 are listed; the first one missing is app.Node (length 0, site "
        "16: "
        "app.List.add(List.java:12)) at 0x10200070");
  CHECK(v.file == "app.trace.1");
}

TEST_CASE("verify counts a filler that a sync point does not list") {
  const Verdict v = Verify({.to = Objects().Tlab(kTo).Fixed(1).Fixed(6), .objects = 5, .bytes = 232});
  CHECK(v.counts == Counts{{kMismatch, 1}});
  CHECK(v.first == "space 2 (survivor) has 3 objects, of which 2 are listed");
}

TEST_CASE("verify names an object that is listed where the heap has none") {
  const Verdict v =
      Verify({.old = Objects().Tlab(kOld).WithLength(3, 14).Tlab(1).Fixed(6).WithLength(2, 10), .bytes = 256});
  CHECK(v.counts == Counts{{kMismatch, 2}});  // the Node is missing too
  CHECK(Has(
      v.first,
      "java.lang.Object (length 0, site 19: java.lang.Object.clone(Native Method)) is listed at 0x10200078, "
      "where the heap has no object"));
}

TEST_CASE("verify names an object that is listed with another class") {
  const Verdict v =
      Verify({.to = Objects().Tlab(kTo).Fixed(1).Fixed(1).Tlab(-1).WithLength(4, 4), .bytes = 272});
  CHECK(v.counts == Counts{{kMismatch, 1}});
  CHECK(Has(v.first,
            "app.Node (length 0, site 16: app.List.add(List.java:12)) is listed at 0x10180018, where the heap "
            "has java.lang.Object (length 0, site 19"));
}

TEST_CASE("verify names an array that is listed with another length of the same size") {
  const Verdict v = Verify({.old = Objects().Tlab(kOld).WithLength(3, 14).Fixed(1).WithLength(2, 9)});
  CHECK(v.counts == Counts{{kMismatch, 1}});
  CHECK(Has(v.first, "int[] (length 9, site 17"));
}

TEST_CASE("verify names an object that is listed with another site") {
  const Verdict v = Verify({.old = Objects().Tlab(kOld).WithLength(3, 14).Fixed(5).WithLength(2, 10)});
  CHECK(v.counts == Counts{{kMismatch, 1}});
  CHECK(Has(v.first, "site 18"));
}

TEST_CASE("an object may be listed as another pair of the same site and class") {
  Folder folder;
  WriteRotated(&folder);
  folder.Write("app.trace", DefinitionsFile(SmallDefinitions().SiteClass(7, 16, 1)).file());
  folder.Write("app.trace.1",
               DataFile1({.old = Objects().Tlab(kOld).WithLength(3, 14).Fixed(7).WithLength(2, 10)}).file());
  CHECK(Verify(folder).counts.empty());
}

TEST_CASE("an object may be listed with the overflow as its site in scheme ash alone") {
  for (const uint32_t site : {trace::kSiteOverflow, trace::kSiteVm}) {
    for (const std::string scheme : {"ash", "hash", "mark", ""}) {
      CAPTURE(site);
      CAPTURE(scheme);
      Folder folder;
      WriteRotated(&folder);
      folder.Write("app.trace", DefinitionsFile(SmallDefinitions().SiteClass(7, site, 1)).file());
      const Objects old = Objects().Tlab(kOld).WithLength(3, 14).Fixed(7).WithLength(2, 10);
      folder.Write("app.trace.1", DataFile1({.old = old}, scheme).file());
      CHECK(Verify(folder).counts.empty() == (site == trace::kSiteOverflow && scheme == "ash"));
    }
  }
}

TEST_CASE("verify names an object that is listed twice") {
  const Verdict v = Verify(
      {.old = Objects().Tlab(kOld).WithLength(3, 14).Fixed(1).WithLength(2, 10).Tlab(-7).WithLength(2, 10),
       .objects = 7,
       .bytes = 320});
  CHECK(v.counts == Counts{{kMismatch, 1}});
  CHECK(Has(v.first, "is listed twice"));
}

TEST_CASE("an object that is listed twice does not stand for one that is missing") {
  const Verdict v = Verify(
      {.old = Objects().Tlab(kOld).WithLength(3, 14).Tlab(3).WithLength(2, 10).Tlab(-7).WithLength(2, 10),
       .bytes = 296});
  CHECK(v.counts == Counts{{kMismatch, 2}});
}

TEST_CASE("verify finds that totals of a sync point are not those of what it lists") {
  CHECK(Verify({.objects = 7}).counts == Counts{{"totals that disagree", 1}});
  CHECK(Verify({.bytes = 265}).counts == Counts{{"totals that disagree", 1}});
}

TEST_CASE("verify finds an object that is listed in another space") {
  const Verdict v = Verify(
      {.to = Objects().Tlab(kTo).Fixed(1).Fixed(6).WithLength(4, 4).Tlab(kOld - kTo - 9).WithLength(3, 14),
       .old = Objects().Tlab(kOld + 14).Fixed(1).WithLength(2, 10)});
  CHECK(v.counts == Counts{{"object outside every space", 1}, {kMismatch, 1}});
}

TEST_CASE("verify finds an object above the top that a sync point gives its space") {
  Folder folder;
  WriteRotated(&folder);
  TraceBuilder b = DataFile(1, kChunks0);
  b.SyncBegin(2, 9500, Spaces(0, 0, 9, 17));  // the int[] lies above
  b.Segment(SegmentKind::kSyncObjects, 2, Listing{}.to);
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(3, 14).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {5, 208}).Flush();
  folder.Write("app.trace.1", b.file()).Remove("app.trace.2");
  CHECK(Verify(folder).counts == Counts{{"object outside every space", 1}});
}

TEST_CASE("verify names an object that came into the old space before it was listed, and is left out") {
  Folder folder;
  WriteRotated(&folder);
  TraceBuilder b = DataFile(2, kChunks1);
  b.SyncBegin(2, 12000, SpacesOf(0, 3, 0, 27));
  b.Segment(SegmentKind::kSyncObjects, 1, Objects().Tlab(kFrom).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 2, 0, "x", 14000, SpacesOf(0, 3, 0, 27));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kFrom, kOld + 27, 1, 3}}));
  b.Gc(SegmentKind::kGcEnd, 2, 0, "x", 15000, SpacesOf(0, 0, 0, 30));
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(3, 14).Fixed(1).WithLength(2, 10));
  b.Numbers(SegmentKind::kSyncEnd, 0, {4, 216}).Flush();
  folder.Write("app.trace.2", b.file());
  const Verdict v = Verify(folder);
  CHECK(v.counts == Counts{{kMismatch, 1}});
  CHECK(Has(v.first, "space 3 (old) has 4 objects, of which 3 are listed; the first one missing is app.Node"));
  CHECK(Has(v.first, "at 0x102000c0"));
}

TEST_CASE("verify finds a young object that is listed after a collection") {
  Folder folder;
  WriteRotated(&folder);
  TraceBuilder b = DataFile(2, kChunks1);
  b.SyncBegin(2, 12000, SpacesOf(0, 3, 0, 27));
  b.Segment(SegmentKind::kSyncObjects, 3,
            Objects().Tlab(kOld).WithLength(3, 14).Fixed(1).WithLength(2, 10).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 2, 0, "x", 14000, SpacesOf(0, 3, 0, 27));
  b.Gc(SegmentKind::kGcEnd, 2, 0, "x", 15000, SpacesOf(0, 0, 0, 27));
  b.Segment(SegmentKind::kSyncObjects, 1, Objects().Tlab(kFrom).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {5, 240}).Flush();
  folder.Write("app.trace.2", b.file());
  CHECK(Verify(folder).counts == Counts{{kOrder, 1}, {kMismatch, 1}});
}

TEST_CASE("a sync point is compared with nothing after a loss, and the next one is taken as the heap") {
  Folder folder;
  WriteRotated(&folder);
  TraceBuilder b = DataFile(1, kChunks0);
  b.Loss(9400, 1, 10, "queue full");
  b.SyncBegin(2, 9500, Spaces(0, 0, 9, 24));
  b.Segment(SegmentKind::kSyncObjects, 2, Listing{}.to);
  b.Segment(SegmentKind::kSyncObjects, 3, Listing{}.old);
  b.Loss(9600, 1, 10, "queue full");
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(2, 1000));
  b.Numbers(SegmentKind::kSyncEnd, 0, {9, 999}).Flush().Flush().set_sequence(0);
  folder.Write("app.trace.1", b.file());
  CHECK(Verify(folder).counts == Counts{{"events lost by the agent", 2}});
  const CommandResult result = folder.Run("verify", {"app.trace"});
  CHECK(Has(result.out, "0 compared with the heap, 2 taken as the heap"));
}

TEST_CASE("verify finds a data file that does not begin with a sync point") {
  Folder folder;
  WriteRotated(&folder);
  TraceBuilder b = DataFile(2, kChunks1);
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(13000).Tlab(kEden).Fixed(1)).Flush();
  folder.Write("app.trace.2", b.file());
  for (const char* name : {"app.trace", "app.trace.2"})
    CHECK(Verify(folder, name).counts == Counts{{kOrder, 1}});
}

TEST_CASE("verify finds a full collection within a sync point") {
  Folder folder;
  WriteRotated(&folder);
  TraceBuilder b = DataFile(2, kChunks1);
  b.SyncBegin(2, 12000, SpacesOf(0, 3, 0, 27));
  b.Gc(SegmentKind::kGcBegin, 2, 1, "x", 14000, SpacesOf(0, 3, 0, 27, true)).Flush();
  folder.Write("app.trace.2", b.file());
  folder.Write("app.trace", DefinitionsFile(SmallDefinitions(), false).file());
  const Verdict v = Verify(folder);
  CHECK(v.counts == Counts{{kOrder, 1}});
  CHECK(v.first == "collection 2 within a sync point");
}

TEST_CASE("verify finds that a sync point is abandoned where there is none") {
  Folder folder;
  WriteRotated(&folder);
  ByteBuffer reason;
  reason.Str("x");
  TraceBuilder b = DataFile2();
  b.Segment(SegmentKind::kSyncAbandoned, 0, reason).Flush();
  folder.Write("app.trace.2", b.file());
  CHECK(Verify(folder).counts == Counts{{kOrder, 1}});
}

TEST_CASE("verify finds events in the definitions file") {
  Folder folder;
  WriteRotated(&folder);
  TraceBuilder b = DefinitionsFile(SmallDefinitions(), false);
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(1).Tlab(kEden).Fixed(1));
  b.End(30000, "VM death", "{}");
  b.Segment(SegmentKind::kThreadEnd, 1, ByteBuffer()).Flush();
  folder.Write("app.trace", b.file());
  const Verdict v = Verify(folder);
  CHECK(v.counts == Counts{{kOrder, 2}});
  CHECK(v.first == "ALLOC in the definitions file");
}

TEST_CASE("a program may end within a sync point") {
  Folder folder;
  WriteRotated(&folder);
  TraceBuilder b = DataFile(2, kChunks1);
  b.SyncBegin(2, 12000, SpacesOf(0, 3, 0, 27));
  b.Segment(SegmentKind::kSyncObjects, 1, Objects().Tlab(kFrom).Fixed(1)).Flush();
  folder.Write("app.trace.2", b.file());
  CHECK(Verify(folder).counts.empty());
  CHECK(Has(folder.Run("info", {"app.trace"}).out, "sync point incomplete"));
}

TEST_CASE("damage behind valid checksums of a data file makes no report crash") {
  Folder folder;
  WriteRotated(&folder);
  const std::string good = folder.Read("app.trace.2");
  for (size_t chunk = 64; chunk < good.size();) {
    const auto* header = reinterpret_cast<const uint8_t*>(good.data()) + chunk;
    const size_t stored = trace::GetU32(header + trace::chunk_header::kStoredLength);
    for (size_t i = 0; i < stored * 2; i++) {
      std::string bad = good;
      bad[chunk + 32 + i / 2] = static_cast<char>(bad[chunk + 32 + i / 2] ^ (i % 2 == 0 ? 0x01 : 0xFF));
      auto* bytes = reinterpret_cast<uint8_t*>(bad.data()) + chunk;
      trace::PutU32(bytes + trace::chunk_header::kPayloadCrc, trace::Crc32c({bytes + 32, stored}));
      trace::PutU32(bytes + trace::chunk_header::kHeaderCrc, trace::Crc32c({bytes, 28}));
      folder.Write("app.trace.2", bad);
      for (const char* name : {"app.trace", "app.trace.2"}) {
        for (const char* command : {"verify", "quality", "info"}) {
          const int code = folder.Run(command, {name}).code;
          CHECK((code == 0 || code == 1 || code == 3 || code == 4));
        }
      }
    }
    chunk += 32 + stored;
  }
}

}  // namespace
}  // namespace anttracks::testing
