// SPDX-License-Identifier: Apache-2.0
#include "trace/file_writer.h"

#include <doctest/doctest.h>
#include <snappy.h>

#include <string>

#include "tests/unit/trace/bytes.h"
#include "trace/crc32c.h"
#include "trace/object_runs.h"
#include "trace/segments.h"

namespace anttracks::trace {
namespace {

TEST_CASE("a file header has the layout of the specification") {
  const auto header = EncodeFileHeader({0x1122334455667788, 0x99, 4711, 2});
  CHECK(std::string(header.begin(), header.begin() + 8) == "ANTTRACK");
  const Bytes fixed(header.begin() + 8, header.begin() + 16);
  CHECK(fixed == B({2, 0, 2, 0, 64, 0, 0, 0}));
  CHECK(GetU64(&header[16]) == 0x1122334455667788);
  CHECK(GetU64(&header[24]) == 0x99);
  CHECK(GetU64(&header[32]) == 4711);
  CHECK(GetU32(&header[40]) == 2);
  CHECK(Bytes(header.begin() + 44, header.begin() + 60) == Bytes(16, 0));
  CHECK(GetU32(&header[60]) == Crc32c({header.data(), 60}));
}

TEST_CASE("a chunk that compresses is stored compressed, with both lengths and checksums") {
  const Bytes payload(10'000, 'x');
  NumberedChunks encoder(Compressed::kYes);
  const auto chunk = encoder.Encode(ChunkType::kData, payload);
  REQUIRE(chunk.ok());
  const Bytes bytes = ToBytes(*chunk);
  CHECK(std::string(bytes.begin(), bytes.begin() + 4) == "ATCK");
  CHECK(GetU16(&bytes[4]) == 2);
  CHECK(GetU16(&bytes[6]) == 1);
  const uint32_t stored = GetU32(&bytes[8]);
  REQUIRE(bytes.size() == 32 + stored);
  CHECK(stored < 1000);
  CHECK(GetU32(&bytes[12]) == 10'000);
  CHECK(GetU64(&bytes[16]) == 0);
  CHECK(GetU32(&bytes[24]) == Crc32c({&bytes[32], stored}));
  CHECK(GetU32(&bytes[28]) == Crc32c({&bytes[0], 28}));
  std::string raw;
  REQUIRE(snappy::Uncompress(reinterpret_cast<const char*>(&bytes[32]), stored, &raw));
  CHECK(raw == std::string(10'000, 'x'));
}

TEST_CASE("a chunk of objects whose columns take more than it is stored as it is") {
  ByteBuffer runs, chunk;
  runs.Uv(1);
  runs.Uv(0);
  uint8_t room[64];
  const uint16_t id = IdOf(5, false);
  runs.Append({room, PutRun(room, {1000}, {&id, 1}, {})});
  AppendSegment(&chunk, SegmentKind::kAlloc, 1, runs.span());
  NumberedChunks encoder(Compressed::kYes);
  const auto bytes = encoder.Encode(ChunkType::kData, chunk.span());
  REQUIRE(bytes.ok());
  CHECK(GetU16(bytes->data() + 6) == 0);
  CHECK(ToBytes(bytes->subspan(32)) == ToBytes(chunk.span()));
}

TEST_CASE("a chunk that does not compress is stored as it is, and chunks are numbered") {
  NumberedChunks encoder(Compressed::kYes);
  const Bytes payload = B({1, 2, 3});
  for (uint64_t i = 0; i < 3; i++) {
    const auto chunk = encoder.Encode(ChunkType::kMeta, payload);
    REQUIRE(chunk.ok());
    CHECK(GetU16(chunk->data() + 4) == 1);
    CHECK(GetU16(chunk->data() + 6) == 0);
    CHECK(GetU64(chunk->data() + 16) == i);
    CHECK(ToBytes(chunk->subspan(32)) == payload);
  }
}

TEST_CASE("compression can be off, and a chunk may be empty") {
  NumberedChunks encoder(Compressed::kNo);
  const Bytes payload(10'000, 'x');
  const auto chunk = encoder.Encode(ChunkType::kData, payload);
  REQUIRE(chunk.ok());
  CHECK(chunk->size() == 10'032);
  const auto empty = encoder.Encode(ChunkType::kData, {});
  REQUIRE(empty.ok());
  CHECK(empty->size() == 32);
}

TEST_CASE("a chunk over the limit of the format is refused") {
  NumberedChunks encoder(Compressed::kYes);
  const Bytes payload(kMaxChunkRawBytes + 1, 0);
  CHECK_FALSE(encoder.Encode(ChunkType::kData, payload).ok());
}

TEST_CASE("a refused chunk takes no number") {
  NumberedChunks encoder(Compressed::kYes);
  CHECK_FALSE(encoder.Encode(ChunkType::kData, Bytes(kMaxChunkRawBytes + 1, 0)).ok());
  const Bytes payload = B({1, 2, 3});
  const auto chunk = encoder.Encode(ChunkType::kData, payload);
  REQUIRE(chunk.ok());
  CHECK(GetU64(chunk->data() + 16) == 0);
  CHECK(encoder.chunks() == 1);
}

TEST_CASE("a chunk has the number it is given, whatever its encoder made before") {
  const Bytes large(10'000, 'x'), small = B({1, 2, 3});
  ChunkEncoder used;
  REQUIRE(used.Encode(ChunkType::kData, 1, large, Compressed::kNo).ok());
  for (const Compressed compress : {Compressed::kYes, Compressed::kNo}) {
    for (const Bytes& payload : {small, Bytes(), large}) {
      ChunkEncoder fresh;
      const auto expected = fresh.Encode(ChunkType::kMeta, 1u << 20, payload, compress);
      const auto chunk = used.Encode(ChunkType::kMeta, 1u << 20, payload, compress);
      REQUIRE(expected.ok());
      REQUIRE(chunk.ok());
      CHECK(ToBytes(*chunk) == ToBytes(*expected));
      CHECK(GetU64(chunk->data() + 16) == 1u << 20);
      CHECK(GetU16(chunk->data() + 6) == (compress == Compressed::kYes && payload.size() == 10'000 ? 1 : 0));
    }
  }
}

}  // namespace
}  // namespace anttracks::trace
