// SPDX-License-Identifier: Apache-2.0
// Encoders against bytes made by hand from docs/trace-format.md.
#include <doctest/doctest.h>

#include "tests/unit/trace/bytes.h"
#include "trace/gc_encoders.h"
#include "trace/object_encoder.h"
#include "trace/sample_encoder.h"
#include "trace/segment_writer.h"
#include "trace/symbol_encoder.h"

namespace anttracks::trace {
namespace {

Bytes Segments(const ByteBuffer& out) { return {out.data(), out.data() + out.size()}; }

TEST_CASE("samples of a segment have numbers from the first on, and times from the one before") {
  SampleEncoder encoder;
  ByteBuffer out;
  encoder.Finish(&out);
  CHECK(out.empty());
  encoder.Sample(300, 1000, 2, 5, 3);
  encoder.Sample(301, 1005, 1, 6, 200);
  encoder.Finish(&out);
  CHECK(encoder.size() == 0);
  const Bytes expected = B({17, 0, 13, 0xAC, 0x02, 0xE8, 0x07, 0, 2, 5, 3, 5, 1, 6, 0xC8, 0x01});
  CHECK(Segments(out) == expected);
  out.Clear();
  encoder.Sample(302, 1006, 1, 6, 2);
  encoder.Finish(&out);
  CHECK(Segments(out) == B({17, 0, 8, 0xAE, 0x02, 0xEE, 0x07, 0, 1, 6, 2}));
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

TEST_CASE("objects that repeat become a run") {
  Output out;
  ObjectEncoder encoder;
  encoder.Reset();
  out.p = encoder.MoveTo(out.p, 100, false);
  // Contexts (0,0), (0,1) and (1,1) are new, the fourth object is the first that is foreseen.
  for (int i = 0; i < 8; i++) out.p = encoder.Object(out.p, 1, 0, false);
  encoder.Advance(16);
  CHECK(out.bytes() == B({0, 1, 0xC8, 0x01, 5, 5, 5}));
  out.p = encoder.Finish(out.p);
  CHECK(out.bytes() == B({0, 1, 0xC8, 0x01, 5, 5, 5, 5 << 2}));
  CHECK(encoder.cursor() == 116);
}

TEST_CASE("another length of the foreseen kind is one number, another kind two") {
  Output out;
  ObjectEncoder encoder;
  encoder.Reset();
  for (int i = 0; i < 3; i++) out.p = encoder.Object(out.p, 2, 7, true);
  out.p = encoder.Object(out.p, 2, 8, true);
  out.p = encoder.Object(out.p, 2, 8, true);
  out.p = encoder.Object(out.p, 2, 0, true);
  out.p = encoder.Object(out.p, 3, 0, true);
  out.p = encoder.Finish(out.p);
  const Bytes expected = B({2 << 2 | 2, 7, 2 << 2 | 2, 7, 2 << 2 | 2, 7,  // contexts 00, 02, 22
                            8 << 2 | 3, 1 << 2, 0 << 2 | 3, 3 << 2 | 2, 0});
  CHECK(out.bytes() == expected);
}

TEST_CASE("a long run is written as several") {
  constexpr uint8_t kWhole[] = {0xFC, 0x07}, kRest[] = {0xDC, 0x02};  // 255 and 87 objects
  const Bytes expected = B({5, 5, 5, kWhole[0], kWhole[1], kWhole[0], kWhole[1], kRest[0], kRest[1]});
  Output one_by_one, together;
  ObjectEncoder encoder;
  encoder.Reset();
  for (int i = 0; i < 600; i++) one_by_one.p = encoder.Object(one_by_one.p, 1, 0, false);
  one_by_one.p = encoder.Finish(one_by_one.p);
  CHECK(one_by_one.bytes() == expected);
  encoder.Reset();
  struct Object {
    uint32_t kind, length;
    bool has_length;
  };
  for (size_t next = 0; next < 600;) {
    together.p = encoder.Objects(together.p, together.p + 1, &next, 600, [](size_t) { return Object{1, 0, false}; });
  }
  together.p = encoder.Finish(together.p);
  CHECK(together.bytes() == expected);
  Output slides;
  SlideEncoder slide;
  for (uint64_t i = 0; i < 256; i++) slides.p = slide.Slide(slides.p, 2 * i, 2 * i, 2);
  slides.p = slide.Finish(slides.p);
  CHECK(slides.bytes() == B({0xFF, 0x01, 0, 0, 1, 0, 0}));
}

TEST_CASE("a pending run is written before the cursor moves") {
  Output out;
  ObjectEncoder encoder;
  encoder.Reset();
  for (int i = 0; i < 4; i++) out.p = encoder.Object(out.p, 1, 0, false);
  encoder.Advance(8);
  out.p = encoder.MoveTo(out.p, 8, false);  // already there
  out.p = encoder.MoveTo(out.p, 6, true);
  out.p = encoder.Object(out.p, 1, 0, false);
  encoder.Advance(2);
  out.p = encoder.MoveTo(out.p, 8, false);  // there, but inside again
  out.p = encoder.Finish(out.p);
  CHECK(out.bytes() == B({5, 5, 5, 1 << 2, 0, 2, 3, 1 << 2, 0, 1, 0}));
}

TEST_CASE("an encoder's reset forgets kinds, run and cursor") {
  Output out;
  ObjectEncoder encoder;
  encoder.Reset();
  for (int i = 0; i < 5; i++) out.p = encoder.Object(out.p, 1, 0, false);
  encoder.Reset();
  out.p = out.room;
  out.p = encoder.Object(out.p, 1, 0, false);
  out.p = encoder.Finish(out.p);
  CHECK(out.bytes() == B({5}));
}

TEST_CASE("no record is longer than the room that is asked for") {
  Output out;
  ObjectEncoder encoder;
  encoder.Reset();
  for (int i = 0; i < 100; i++) out.p = encoder.Object(out.p, UINT32_MAX, UINT32_MAX, true);
  uint8_t* const before = out.p;
  out.p = encoder.MoveTo(out.p, uint64_t{1} << 60, true);
  out.p = encoder.Object(out.p, UINT32_MAX - 1, UINT32_MAX, true);
  out.p = encoder.Finish(out.p);
  CHECK(static_cast<size_t>(out.p - before) <= ObjectEncoder::kRoom);
}

TEST_CASE("moves that follow each other cost their distance only") {
  Output out;
  MoveEncoder encoder;
  encoder.Reset();
  out.p = encoder.Move(out.p, 10, 100, false, 3);  // from +10, to +100 in the survivor buffer
  out.p = encoder.Move(out.p, 13, 103, false, 2);  // behind both
  out.p = encoder.Move(out.p, 14, 200, true, 4);   // from -1, to +200 in the old buffer
  out.p = encoder.Move(out.p, 30, 105, false, 1);  // from +12, survivor buffer goes on
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

TEST_CASE("symbols carry tag and length, so that unknown ones can be skipped") {
  ByteBuffer out;
  AppendSymbol(&out, ClassSymbol{2, "A", kClassArray, 0, 16, 2, 1, 7, "app"});
  AppendSymbol(&out, MethodSymbol{3, "A", "m", "()V", "A.java"});
  AppendSymbol(&out, SiteSymbol{16, 3, -1, -1, 0, 3, 0});
  AppendSymbol(&out, ThreadSymbol{1, "t", 2, 3});
  AppendSymbol(&out, KindSymbol{4, 16, 2});
  const FieldSymbol fields[] = {{"n", "I", 12}, {"a", "[J", 200}};
  AppendSymbol(&out, FieldsSymbol{5, fields});
  AppendSymbol(&out, FieldsSymbol{6, {}});
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
