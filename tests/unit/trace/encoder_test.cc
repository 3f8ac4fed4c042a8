// SPDX-License-Identifier: Apache-2.0
// Encoders against bytes made by hand from docs/trace-format.md.
#include <doctest/doctest.h>

#include "tests/unit/trace/bytes.h"
#include "trace/definition_records.h"
#include "trace/events.h"
#include "trace/gc_records.h"
#include "trace/object_runs.h"
#include "trace/samples.h"

namespace anttracks::trace {
namespace {

Bytes Segments(const ByteBuffer& out) { return {out.data(), out.data() + out.size()}; }

TEST_CASE("samples of a segment have its interval, numbers from the first on, and times from the one before") {
  SampleEncoder encoder;
  ByteBuffer out;
  encoder.Finish(&out);
  CHECK(out.empty());
  encoder.Sample(9, 300, 1000, 2, 5, 3);
  encoder.Sample(9, 301, 1005, 1, 6, 200);
  encoder.Finish(&out);
  CHECK(encoder.size() == 0);
  const Bytes expected = B({17, 0, 14, 9, 0xAC, 0x02, 0xE8, 0x07, 0, 2, 5, 3, 5, 1, 6, 0xC8, 0x01});
  CHECK(Segments(out) == expected);
  out.Clear();
  encoder.Sample(200, 302, 1006, 1, 6, 2);
  encoder.Finish(&out);
  CHECK(Segments(out) == B({17, 0, 10, 0xC8, 0x01, 0xAE, 0x02, 0xEE, 0x07, 0, 1, 6, 2}));
}

TEST_CASE("deaths of a segment are told from one to the next") {
  SampleDeathEncoder encoder;
  ByteBuffer out;
  encoder.Finish(&out);
  CHECK(out.empty());
  for (const uint64_t number : {7, 9, 3}) encoder.Death(2, number);
  encoder.Finish(&out);
  encoder.Death(3, 1);
  encoder.Finish(&out);
  CHECK(Segments(out) == B({18, 0, 4, 2, 14, 4, 11, 18, 0, 2, 3, 2}));
}

TEST_CASE("a run is a head and two columns") {
  Output out;
  const uint16_t ids[] = {IdOf(3, false), IdOf(0x7FFF, true), IdOf(0x8000, true), IdOf(70'000, false)};
  const uint32_t lengths[] = {7, 0x8000, 9, 70'000};
  out.p = PutRun(out.p, {-100, How::kOutside}, ids, lengths);
  CHECK(out.bytes() ==
        B({0xC7, 0x01, 4 << 2 | 1, 4,  // 100 words below, four objects outside TLABs, four lengths
           3,    0,    0xFF,       0xFF, 0x00, 0x80, 0, 0,  // ids
           7,    0,    0,          0,    0x00, 0x80, 0, 0, 9, 0, 0, 0, 0x70, 0x11, 0x01, 0}));
  WireReader in(std::span<const uint8_t>(out.room, out.p));
  RunHead head;
  REQUIRE(ReadRunHead(in, &head));
  CHECK(head.distance == -100);
  CHECK(head.how == How::kOutside);
  REQUIRE(in.remaining() == head.column_bytes());
  RunReader run(head, in.next());
  RunReader::Object object;
  for (const uint32_t kind : {3u, 0x7FFFu, 0x8000u, 70'000u}) {
    REQUIRE(run.Next(&object));
    CHECK(object.site_class == kind);
    CHECK(object.length == (kind == 0x7FFF ? 7 : kind == 0x8000 ? 9 : 0));
  }
  CHECK(run.whole());
}

TEST_CASE("a long slide is written as several runs") {
  Output slides;
  SlideEncoder slide;
  for (uint64_t i = 0; i < 256; i++) slides.p = slide.Slide(slides.p, 2 * i, 2 * i, 2);
  slides.p = slide.Finish(slides.p);
  CHECK(slides.bytes() == B({0xFF, 0x01, 0, 0, 1, 0, 0}));
}

TEST_CASE("moves that follow each other cost their distance only") {
  Output out;
  MoveEncoder encoder;
  encoder.Reset();
  out.p = encoder.Move(out.p, 10, 100, Destination::kYoung, 3);  // from +10, to +100 in the young buffer
  out.p = encoder.Move(out.p, 13, 103, Destination::kYoung, 2);  // behind both
  out.p = encoder.Move(out.p, 14, 200, Destination::kOld, 4);    // from -1, to +200 in the old buffer
  out.p = encoder.Move(out.p, 30, 105, Destination::kYoung, 1);  // from +12, young buffer goes on
  CHECK(out.bytes() == B({20 << 2 | 2, 0xC8, 0x01, 0, 1 << 2 | 2 | 1, 0x90, 0x03, 24 << 2}));
}

TEST_CASE("objects that slide together are one run") {
  Output out;
  SlideEncoder encoder;
  encoder.Reset();
  out.p = encoder.Slide(out.p, 10, 10, 2);  // stays
  out.p = encoder.Slide(out.p, 12, 12, 3);
  out.p = encoder.Slide(out.p, 20, 15, 4);  // behind a gap: moves down
  out.p = encoder.Slide(out.p, 24, 19, 1);
  out.p = encoder.Slide(out.p, 30, 40, 1);
  CHECK(out.bytes() == B({2, 20, 20, 2, 10, 0}));
  out.p = encoder.Finish(out.p);
  CHECK(out.bytes() == B({2, 20, 20, 2, 10, 0, 1, 10, 40}));
  out.p = encoder.Finish(out.p);
  CHECK(out.bytes().size() == 9);
}

TEST_CASE("fillers are relative to the one before") {
  Output out;
  FillerEncoder encoder;
  encoder.Reset();
  out.p = encoder.Filler(out.p, 5, 9, 60, 32);
  out.p = encoder.Filler(out.p, 36, 9, 0, 2);
  CHECK(out.bytes() == B({10, 9, 60, 1, 9, 0}));
}

TEST_CASE("collections list their spaces") {
  const Space spaces[] = {{SpaceKind::kEden, Collected::kYes, 8, 10, 24},
                          {SpaceKind::kOld, Collected::kOptional, 100, 100, 300}};
  ByteBuffer out;
  AppendCollection(&out, SegmentKind::kGcBegin, {3, GcKind::kFull, "Why", 5, spaces});
  CHECK(ToBytes(out.span()) ==
        B({5, 0, 19, 3, 1, 3, 'W', 'h', 'y', 5, 2, 0, 1, 8, 2, 16, 2, 2, 100, 0, 0xC8, 0x01}));
}

TEST_CASE("sync points, unloading, ends and losses have their fields in order") {
  const Space spaces[] = {{SpaceKind::kSurvivor, Collected::kNo, 1, 2, 4}};
  ByteBuffer out;
  AppendSyncBegin(&out, SyncReason::kAttach, 9, spaces);
  AppendSyncEnd(&out, 3, 48);
  AppendClassUnload(&out, 6);
  AppendThreadEnd(&out, 200);
  AppendLoss(&out, 1, 2, 3, "r");
  AppendEnd(&out, 4, "e", "{}");
  CHECK(ToBytes(out.span()) == B({7,  0,    8,    1, 9,  1,   1, 0,   1,  1, 3,  //
                                  9,  0,    2,    3, 48,                         //
                                  10, 0,    1,    6,                             //
                                  11, 0xC8, 0x01, 0,                             //
                                  13, 0,    5,    1, 2,  3,   1, 'r',            //
                                  14, 0,    6,    4, 1,  'e', 2, '{', '}'}));
}

TEST_CASE("definitions carry tag and length, so that unknown ones can be skipped") {
  ByteBuffer out;
  AppendDefinition(&out, ClassDefinition{2, "A", kClassArray, 0, 16, 2, 1, 7, "app"});
  AppendDefinition(&out, MethodDefinition{3, "A", "m", "()V", "A.java"});
  AppendDefinition(&out, SiteDefinition{16, 3, -1, -1, 0, 3, 0});
  AppendDefinition(&out, ThreadDefinition{1, "t", 2, 3});
  AppendDefinition(&out, SiteClassDefinition{4, 16, 2});
  const FieldDefinition fields[] = {{"n", "I", 12}, {"a", "[J", 200}};
  AppendDefinition(&out, FieldsDefinition{5, fields});
  AppendDefinition(&out, FieldsDefinition{6, {}});
  CHECK(ToBytes(out.span()) ==
        B({1, 13, 2,  1,  'A', 1,   0,   16,  2,   1,   7,   3, 'a', 'p', 'p',                   //
           2, 16, 3,  1,  'A', 1,   'm', 3,   '(', ')', 'V', 6, 'A', '.', 'j',  'a',  'v', 'a',  //
           3, 7,  16, 3,  1,   1,   0,   3,   0,                                                 //
           4, 5,  1,  1,  't', 2,   3,                                                           //
           5, 3,  4,  16, 2,                                                                     //
           6, 14, 5,  2,  1,   'n', 1,   'I', 12,  1,   'a', 2, '[', 'J', 0xC8, 0x01,            //
           6, 2,  6,  0}));
}

}  // namespace
}  // namespace anttracks::trace
