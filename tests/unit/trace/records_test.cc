// SPDX-License-Identifier: Apache-2.0
// What the encoders wrote is what the readers read; and bytes that are cut short, or mean nothing, are refused.
#include <doctest/doctest.h>

#include "tests/unit/trace/bytes.h"
#include "trace/census.h"
#include "trace/definition_records.h"
#include "trace/events.h"
#include "trace/gc_records.h"
#include "trace/meta.h"
#include "trace/object_runs.h"
#include "trace/provenance.h"
#include "trace/samples.h"

namespace anttracks::trace {
namespace {

WireReader In(const Output& out) { return WireReader(std::span<const uint8_t>(out.room, out.p)); }

// The payload of the only segment; the bytes live in out.
std::span<const uint8_t> PayloadOf(const ByteBuffer& out, SegmentKind kind) {
  SegmentReader segments(out.span());
  Segment segment;
  REQUIRE(segments.Next(&segment));
  CHECK(segment.info().kind == kind);
  CHECK(segments.offset() == out.size());
  return segment.payload;
}

// That read(payload) fails for each part of the payload but the whole.
template <class Read>
void CheckCuts(std::span<const uint8_t> payload, Read&& read) {
  for (size_t bytes = 0; bytes < payload.size(); bytes++) CHECK_FALSE(read(payload.first(bytes)));
  CHECK(read(payload));
}

TEST_CASE("moves, found objects and fillers are read by the sizes of the objects before them") {
  const struct {
    uint64_t from, to, words;
    Destination destination;
  } moves[] = {{10, 100, 3, Destination::kYoung},
               {13, 103, 2, Destination::kYoung},
               {14, 200, 4, Destination::kOld},
               {30, 105, 1, Destination::kYoung},
               {9, 204, 7, Destination::kOld}};
  Output moved, found, filled;
  MoveEncoder move;
  FoundEncoder finder;
  FillerEncoder filler;
  for (const auto& m : moves) {
    moved.p = move.Move(moved.p, m.from, m.to, m.destination, m.words);
    found.p = finder.Found(found.p, m.from, m.to, m.destination, m.words, 70'000, 5);
    filled.p = filler.Filler(filled.p, m.to, 4, 300, m.words);
  }
  WireReader in_moved = In(moved), in_found = In(found), in_filled = In(filled);
  MoveReader move_reader;
  FoundReader found_reader;
  FillerReader filler_reader;
  for (const auto& m : moves) {
    REQUIRE(move_reader.Read(in_moved));
    CHECK(move_reader.from == m.from);
    CHECK(move_reader.to == m.to);
    move_reader.EndsAfter(m.words);
    REQUIRE(found_reader.Read(in_found));
    CHECK(found_reader.from == m.from);
    CHECK(found_reader.to == m.to);
    CHECK(found_reader.site_class == 70'000);
    CHECK(found_reader.length == 5);
    found_reader.EndsAfter(m.words);
    REQUIRE(filler_reader.Read(in_filled));
    CHECK(filler_reader.at == m.to);
    CHECK(filler_reader.length == 300);
    filler_reader.EndsAfter(m.words);
  }
  CHECK((in_moved.AtEnd() && in_found.AtEnd() && in_filled.AtEnd()));
  CHECK_FALSE(move_reader.Read(in_moved));
}

TEST_CASE("the objects of slides are read one by one, whatever runs they are in") {
  Output out;
  SlideEncoder encoder;
  for (uint64_t i = 0; i < 600; i++) out.p = encoder.Slide(out.p, 2 * i + i / 100, 2 * i, 2);
  out.p = encoder.Finish(out.p);
  WireReader in = In(out);
  SlideReader slide;
  uint64_t objects = 0;
  while (!in.AtEnd()) {
    REQUIRE(slide.Read(in));
    REQUIRE(slide.count <= kMaxRunObjects);
    for (uint64_t i = 0; i < slide.count; i++, objects++) {
      CHECK(slide.from == 2 * objects + objects / 100);
      CHECK(slide.to == 2 * objects);
      slide.EndsAfter(2);
    }
  }
  CHECK(objects == 600);
}

TEST_CASE("the head of ALLOC tells the share, and an impossible one is refused") {
  for (const uint32_t share : {1u, kWholeShare / 3, kWholeShare}) {
    Output out;
    out.p = PutAllocHead(out.p, {1'000'000, share});
    WireReader in = In(out);
    AllocHead head;
    CHECK(ReadAllocHead(in, &head));
    CHECK(head.time == 1'000'000);
    CHECK(head.share == share);
  }
  Output out;
  out.p = PutUv(PutUv(out.p, 1), kWholeShare);
  WireReader in = In(out);
  AllocHead head;
  CHECK_FALSE(ReadAllocHead(in, &head));
}

TEST_CASE("events are read as they were written, and not if a byte is missing") {
  const Space spaces[] = {{SpaceKind::kEden, Collected::kYes, 8, 10, 24},
                          {SpaceKind::kArchive, Collected::kOptional, 100, 100, 300}};
  ByteBuffer out;
  AppendCollection(&out, SegmentKind::kGcEnd, {300, GcKind::kMixed, "Why", 5, spaces});
  CheckCuts(PayloadOf(out, SegmentKind::kGcEnd), [](auto payload) {
    GcEvent gc;
    if (!ReadCollection(payload, &gc).ok()) return false;
    CHECK((gc.id == 300 && gc.kind == GcKind::kMixed && gc.cause == "Why" && gc.time == 5));
    REQUIRE(gc.spaces.size() == 2);
    const Space& space = gc.spaces[1];
    CHECK((space.kind == SpaceKind::kArchive && space.collected == Collected::kOptional));
    return space.bottom == 100 && space.top == 100 && space.end == 300;
  });
  out.Clear();
  AppendSyncBegin(&out, SyncReason::kRotation, 9, spaces);
  CheckCuts(PayloadOf(out, SegmentKind::kSyncBegin), [](auto payload) {
    SyncEvent sync;
    return ReadSyncBegin(payload, &sync).ok() && sync.reason == SyncReason::kRotation && sync.time == 9 &&
           sync.spaces.size() == 2;
  });
  out.Clear();
  AppendSyncEnd(&out, 3, 48);
  CheckCuts(PayloadOf(out, SegmentKind::kSyncEnd), [](auto payload) {
    SyncTotals totals;
    return ReadSyncEnd(payload, &totals).ok() && totals.objects == 3 && totals.bytes == 48;
  });
  out.Clear();
  AppendLoss(&out, 1, 2, 3, "r");
  CheckCuts(PayloadOf(out, SegmentKind::kLoss), [](auto payload) {
    LossEvent loss;
    return ReadLoss(payload, &loss).ok() && loss.time == 1 && loss.segments == 2 && loss.bytes == 3 &&
           loss.reason == "r";
  });
  out.Clear();
  AppendEnd(&out, 4, "e", "{}");
  CheckCuts(PayloadOf(out, SegmentKind::kEnd), [](auto payload) {
    EndEvent end;
    return ReadEnd(payload, &end).ok() && end.time == 4 && end.reason == "e" && end.counters == "{}";
  });
  out.Clear();
  AppendClassUnload(&out, 6);
  uint64_t class_id = 0;
  CHECK(ReadClassUnload(PayloadOf(out, SegmentKind::kClassUnload), &class_id).ok());
  CHECK(class_id == 6);
  CHECK(ReadClassUnload({}, &class_id).message() == "CLASS_UNLOAD is cut short");
  out.Clear();
  AppendSyncAbandoned(&out, "full");
  std::string reason;
  CHECK(ReadSyncAbandoned(PayloadOf(out, SegmentKind::kSyncAbandoned), &reason).ok());
  CHECK(reason == "full");
}

TEST_CASE("numbers that mean nothing are refused in events") {
  GcEvent gc;
  CHECK(ReadCollection(B({0, kGcKinds, 0, 0, 0}), &gc).message() ==
        "collection event is cut short or of unknown kind");
  SyncEvent sync;
  CHECK(ReadSyncBegin(B({3, 0, 0}), &sync).message() == "SYNC_BEGIN is cut short or has an unknown reason");
  // From the last word of all: its top and its end are at words 1 and 2 again.
  const Bytes wraps = B({0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3});
  for (const Bytes& space : {B({5, 0, 1, 1, 1}), B({0, 3, 1, 1, 1}), B({0, 0, 1, 2, 1}), wraps}) {
    Bytes payload = B({0, 0, 1});
    payload.insert(payload.end(), space.begin(), space.end());
    CHECK(ReadSyncBegin(payload, &sync).message() == "space of unknown kind or with top outside its bounds");
  }
}

TEST_CASE("samples, their deaths and provenance is read as they were written") {
  ByteBuffer out;
  SampleEncoder samples;
  for (uint64_t i = 0; i < 3; i++) samples.Sample(9, 300 + i, 1000 + 5 * i, i, 5, 3);
  samples.Finish(&out);
  WireReader in(PayloadOf(out, SegmentKind::kSamples));
  SampleReader reader;
  REQUIRE(reader.ReadHead(in));
  for (uint64_t i = 0; i < 3; i++) {
    REQUIRE(reader.Read(in));
    const SampleEvent& sample = reader.sample;
    CHECK((sample.interval == 9 && sample.number == 300 + i && sample.time == 1000 + 5 * i));
    CHECK((sample.thread == i && sample.site_class == 5 && sample.words == 3));
  }
  CHECK(in.AtEnd());
  ByteBuffer died;
  SampleDeathEncoder deaths;
  for (const uint64_t number : {7, 9, 3}) deaths.Death(2, number);
  deaths.Finish(&died);
  WireReader in_deaths(PayloadOf(died, SegmentKind::kSampleDeaths));
  SampleDeathReader death;
  REQUIRE(death.ReadHead(in_deaths));
  CHECK(death.collections == 2);
  for (const uint64_t number : {7, 9, 3}) {
    REQUIRE(death.Read(in_deaths));
    CHECK(death.number == number);
  }
  ProvenanceEncoder runs;
  for (int segment = 0; segment < 2; segment++) {  // each begins anew
    ByteBuffer told;
    runs.Run({1000, 1003, 2, 1});
    runs.Run({1003, 1010, 0, kMaxAge});
    runs.Finish(&told);
    WireReader in_provenance(PayloadOf(told, SegmentKind::kProvenance));
    ProvenanceReader provenance;
    REQUIRE((provenance.Read(in_provenance) && provenance.Read(in_provenance)));
    CHECK((provenance.run.begin == 1003 && provenance.run.end == 1010));
    CHECK((provenance.run.thread == 0 && provenance.run.age == kMaxAge));
    CHECK(in_provenance.AtEnd());
  }
}

TEST_CASE("definitions are read as they were written, and what a newer writer adds is passed over") {
  ByteBuffer out;
  AppendDefinition(&out, SiteDefinition{16, 3, -1, -2, 17, 3, 1});
  const FieldDefinition fields[] = {{"n", "I", 12}, {"a", "[J", 200}};
  AppendDefinition(&out, FieldsDefinition{5, fields});
  DefinitionReader records(out.span());
  uint8_t tag = 0;
  std::span<const uint8_t> record;
  REQUIRE(records.Next(&tag, &record));
  CHECK(tag == static_cast<uint8_t>(DefinitionTag::kSite));
  CheckCuts(record, [](auto bytes) {
    WireReader in(bytes);
    SiteDefinition site;
    return ReadDefinition(in, &site) && site.id == 16 && site.method == 3 && site.bci == -1 &&
           site.line == -2 && site.caller == 17 && site.tier == 3 && site.flags == 1;
  });
  REQUIRE(records.Next(&tag, &record));
  WireReader in(record);
  FieldsHead head;
  REQUIRE((ReadDefinition(in, &head) && head.class_id == 5 && head.count == 2));
  FieldDefinition field;
  REQUIRE((ReadDefinition(in, &field) && ReadDefinition(in, &field)));
  CHECK((field.name == "a" && field.signature == "[J" && field.offset == 200));
  CHECK(records.AtEnd());
  const Bytes newer = B({4, 16, 2, 99});
  WireReader longer(newer);
  SiteClassDefinition kind;
  CHECK((ReadDefinition(longer, &kind) && kind.class_id == 2));
}

TEST_CASE("META is the same when it was read and is written again") {
  Meta meta;
  meta.agent_version = "0.1.0";
  meta.java_command = "Main \"1\"";
  meta.heap_start = 4096;
  meta.heap_end = 8192;
  const auto parse = [](const std::string& text) {
    return ParseMeta({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  };
  const std::string full = EncodeMeta(meta);
  CHECK(full == R"({"agent_version":"0.1.0","heap_end":8192,"heap_start":4096,"java_command":"Main \"1\"",)"
                R"("object_alignment":8,"options":"","vm_flags":"","vm_version":""})");
  REQUIRE(parse(full).ok());
  CHECK(EncodeMeta(*parse(full)) == full);
  meta.sites = "hash";
  const std::string with_sites = EncodeMeta(meta);
  REQUIRE(parse(with_sites).ok());
  CHECK(parse(with_sites)->sites == "hash");
  CHECK(EncodeMeta(*parse(with_sites)) == with_sites);
  meta.sampled = true;
  meta.interval = 1024;
  const std::string sampled = EncodeMeta(meta);
  REQUIRE(parse(sampled).ok());
  CHECK(parse(sampled)->sampled);
  CHECK(EncodeMeta(*parse(sampled)) == sampled);
  CHECK_FALSE(parse(R"({"mode":"sample","interval":1})").ok());
  CHECK_FALSE(parse(R"({"object_alignment":8,"heap_start":1,"heap_end":8192})").ok());
  CHECK_FALSE(parse("[]").ok());
  const auto range = [&](uint64_t alignment, uint64_t end) {
    return parse(R"({"heap_start":0,"object_alignment":)" + std::to_string(alignment) + R"(,"heap_end":)" +
                 std::to_string(end) + "}")
        .ok();
  };
  CHECK(range(256, kMaxHeapWords * kWordBytes));
  CHECK_FALSE(range(512, kMaxHeapWords * kWordBytes));
  CHECK_FALSE(range(4, kMaxHeapWords * kWordBytes));
  CHECK_FALSE(range(24, kMaxHeapWords * kWordBytes));
  CHECK_FALSE(range(8, kMaxHeapWords * kWordBytes + kWordBytes));
}

TEST_CASE("the rows of a census are read as they were written, and it tells of which moment they are") {
  const CensusRow rows[] = {{1, 5, 15}, {2, 1, 1'000'000}, {70'000, 1'000'000'000, 4'000'000'000}};
  CensusRowEncoder encoder;
  ByteBuffer out;
  encoder.Finish(&out);
  CHECK(out.empty());
  for (const CensusRow& row : rows) encoder.Row(row);
  encoder.Finish(&out);
  encoder.Row(rows[2]);
  ByteBuffer second;
  encoder.Finish(&second);
  WireReader in(PayloadOf(out, SegmentKind::kCensusRows));
  CensusRowReader reader;
  for (const CensusRow& row : rows) {
    REQUIRE(reader.Read(in));
    CHECK(reader.row == row);
  }
  CHECK(in.AtEnd());
  WireReader again(PayloadOf(second, SegmentKind::kCensusRows));
  CensusRowReader fresh;
  CHECK((fresh.Read(again) && fresh.row == rows[2]));

  CensusEvent census;
  census.gc = 300;
  census.kind = GcKind::kMixed;
  census.old_space = true;
  census.time = 5;
  census.duration = 6;
  census.collections = 7;
  census.allocated_words = 800;
  census.used_words = {1, 2, 3, 4, 500};
  census.objects = 9;
  census.words = 1'000'000;
  out.Clear();
  AppendCensus(&out, census);
  CheckCuts(PayloadOf(out, SegmentKind::kCensus), [&](auto payload) {
    CensusEvent read;
    if (!ReadCensus(payload, &read).ok()) return false;
    CHECK((read.gc == 300 && read.kind == GcKind::kMixed && read.old_space && read.time == 5));
    CHECK((read.duration == 6 && read.collections == 7 && read.allocated_words == 800));
    CHECK(read.used_words == census.used_words);
    return read.objects == 9 && read.words == 1'000'000;
  });
  for (const GcKind kind : {GcKind::kUnknown, static_cast<GcKind>(5)}) {
    census.kind = kind;
    out.Clear();
    AppendCensus(&out, census);
    CensusEvent read;
    CHECK_FALSE(ReadCensus(PayloadOf(out, SegmentKind::kCensus), &read).ok());
  }
}

}  // namespace
}  // namespace anttracks::trace
