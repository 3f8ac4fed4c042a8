// SPDX-License-Identifier: Apache-2.0
// Columns apart and together again, against random payloads and against bytes made by hand from
// docs/trace-format.md.
#include "trace/columns.h"

#include <doctest/doctest.h>

#include <random>

#include "tests/unit/trace/bytes.h"
#include "trace/events.h"
#include "trace/format.h"
#include "trace/object_runs.h"

namespace anttracks::trace {
namespace {

using Parts = std::array<std::span<const uint8_t>, ColumnSplitter::kParts>;

struct Run {
  std::vector<uint16_t> ids;
  std::vector<uint32_t> lengths;
  void Add(uint32_t kind, bool has_length, uint32_t length) {
    ids.push_back(IdOf(kind, has_length));
    if (IsWide(ids.back())) lengths.push_back(kind);
    if (has_length) lengths.push_back(length);
  }
  void AppendTo(ByteBuffer* payload, int64_t distance) const {
    std::vector<uint8_t> room(kMaxRunHeadBytes + 2 * ids.size() + 4 * lengths.size());
    payload->Append({room.data(), PutRun(room.data(), {distance}, ids, lengths)});
  }
};

void AddAlloc(ByteBuffer* chunk, uint64_t thread, uint64_t time, std::span<const Run> runs) {
  ByteBuffer payload;
  payload.Uv(time);
  payload.Uv(0);
  for (const Run& run : runs) run.AppendTo(&payload, 1000);
  AppendSegment(chunk, SegmentKind::kAlloc, thread, payload.span());
}

Bytes Joined(const Parts& parts, size_t bytes) {
  ColumnJoiner joiner;
  Bytes out(bytes);
  const Status status = joiner.Join(parts, bytes, out.data());
  CHECK(status.message() == "");
  return out;
}

TEST_CASE("what is foreseen costs a bit, and lengths are packed") {
  Run run;
  for (int i = 0; i < 3; i++) {
    run.Add(5, false, 0);
    run.Add(6, true, 300);
  }
  run.Add(5, false, 0);
  run.Add(6, true, 301);  // foreseen was 300
  ByteBuffer chunk;
  AddAlloc(&chunk, 2, 9, {&run, 1});
  ColumnSplitter splitter;
  REQUIRE(splitter.Split(chunk.span()));
  const Parts parts = splitter.parts();
  // Foreseen: from the fifth on, as 5 follows (5, 6) and 6 follows (6, 5); (0, 0), (0, 5), (5, 6) and (6, 5)
  // are new.
  CHECK(ToBytes(parts[1]) == B({0x70}));
  CHECK(ToBytes(parts[2]) == B({5, 0, 6, 0x80, 5, 0, 6, 0x80, 6, 0x80}));
  CHECK(ToBytes(parts[3]) == B({0xAC, 0x02, 0xAC, 0x02, 0xAD, 0x02}));
  // Kind, stream, length, time, share; distance, objects, lengths.
  CHECK(ToBytes(parts[0]) == B({1, 2, 38, 9, 0, 0xD0, 0x0F, 8 << 2, 4}));
  CHECK(Joined(parts, chunk.size()) == ToBytes(chunk.span()));
}

TEST_CASE("columns of any payload come together again as they were") {
  std::mt19937 random(1);
  ColumnSplitter splitter;
  for (int round = 0; round < 60; round++) {
    ByteBuffer chunk;
    const uint32_t kinds = round % 3 == 0 ? 4 : round % 3 == 1 ? 300 : 60'000;
    size_t objects = 0;
    for (uint32_t segment = random() % 20; segment-- != 0;) {
      if (random() % 3 == 0) AppendThreadEnd(&chunk, random());
      std::vector<Run> runs(random() % 4);
      for (Run& run : runs) {
        for (uint32_t left = random() % 200; left-- != 0; objects++) {
          run.Add(random() % kinds, random() % 4 == 0, random() % 3 == 0 ? 7 : random());
        }
      }
      AddAlloc(&chunk, segment, random(), runs);
      ByteBuffer listed;
      for (const Run& run : runs) run.AppendTo(&listed, -7);
      AppendSegment(&chunk, SegmentKind::kSyncObjects, 3, listed.span());
      objects *= 2;
    }
    REQUIRE(splitter.Split(chunk.span()) == (objects != 0));
    if (objects != 0) REQUIRE(Joined(splitter.parts(), chunk.size()) == ToBytes(chunk.span()));
  }
}

TEST_CASE("site-class pairs without room in their ids come together again among others that are foreseen") {
  std::mt19937 random(3);
  Run run;
  for (int i = 0; i < 3000; i++) {
    const uint32_t site_class = random() % 8 == 0 ? 1 + random() % 3 : 1 + static_cast<uint32_t>(i) % 3;
    run.Add(site_class == 3 ? 40'000 + random() % 2 : site_class, site_class != 1, random() % 2);
  }
  ByteBuffer chunk;
  AddAlloc(&chunk, 1, 1, {&run, 1});
  ColumnSplitter splitter;
  REQUIRE(splitter.Split(chunk.span()));
  CHECK(Joined(splitter.parts(), chunk.size()) == ToBytes(chunk.span()));
}

TEST_CASE("a length of more than 32 bits is refused in a column") {
  Run run;
  run.Add(6, true, 300);
  ByteBuffer chunk;
  AddAlloc(&chunk, 2, 9, {&run, 1});
  ColumnSplitter splitter;
  REQUIRE(splitter.Split(chunk.span()));
  Parts parts = splitter.parts();
  ByteBuffer too_long;
  too_long.Uv((uint64_t{1} << 32) + 300);
  parts[3] = too_long.span();
  Bytes out(chunk.size());
  CHECK_FALSE(ColumnJoiner().Join(parts, chunk.size(), out.data()).ok());
}

TEST_CASE("a payload that is not well formed is not split") {
  Run run;
  run.Add(1, true, 2);
  ByteBuffer whole;
  AddAlloc(&whole, 1, 1, {&run, 1});
  ColumnSplitter splitter;
  REQUIRE(splitter.Split(whole.span()));
  for (size_t cut = 1; cut < whole.size(); cut++) CHECK_FALSE(splitter.Split(whole.span().first(cut)));
  run.lengths.push_back(3);  // of no object
  ByteBuffer more;
  AddAlloc(&more, 1, 1, {&run, 1});
  CHECK_FALSE(splitter.Split(more.span()));
  CHECK_FALSE(splitter.Split({}));
}

TEST_CASE("parts that do not fit together are refused, whatever they hold") {
  std::mt19937 random(2);
  Run run;
  for (int i = 0; i < 50; i++) run.Add(random() % 5, random() % 3 == 0, random() % 9);
  ByteBuffer chunk;
  AddAlloc(&chunk, 1, 1, {&run, 1});
  AppendThreadEnd(&chunk, 1);
  ColumnSplitter splitter;
  REQUIRE(splitter.Split(chunk.span()));
  std::array<Bytes, ColumnSplitter::kParts> good;
  for (size_t i = 0; i < good.size(); i++) good[i] = ToBytes(splitter.parts()[i]);
  ColumnJoiner joiner;
  // By value: copies have no room behind their end, so that sanitizers see what reads there.
  const auto join = [&](std::array<Bytes, ColumnSplitter::kParts> parts, size_t bytes) {
    Bytes out(bytes);
    return joiner.Join({parts[0], parts[1], parts[2], parts[3]}, bytes, out.data()).ok();
  };
  CHECK(join(good, chunk.size()));
  CHECK_FALSE(join(good, chunk.size() - 1));
  CHECK_FALSE(join(good, chunk.size() + 1));
  for (size_t part = 0; part < good.size(); part++) {
    auto parts = good;
    parts[part].pop_back();
    CHECK_FALSE(join(parts, chunk.size()));
    parts[part] = good[part];
    parts[part].push_back(0);
    CHECK_FALSE(join(parts, chunk.size()));
    for (int i = 0; i < 2000; i++) {  // must not read or write where nothing is; sanitizers see it
      parts[part] = good[part];
      parts[part][random() % parts[part].size()] ^= static_cast<uint8_t>(1 << random() % 8);
      (void)join(parts, chunk.size());
    }
  }
}

}  // namespace
}  // namespace anttracks::trace
