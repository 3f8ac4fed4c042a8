// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "tests/unit/trace/bytes.h"
#include "trace/crc32c.h"
#include "trace/format.h"
#include "trace/status.h"
#include "trace/wire.h"

namespace anttracks::trace {
namespace {

std::span<const uint8_t> Of(const char* text) {
  return {reinterpret_cast<const uint8_t*>(text), std::strlen(text)};
}

TEST_CASE("CRC-32C gives the published check values") {
  CHECK(Crc32c(Of("123456789")) == 0xE3069283u);
  CHECK(Crc32c({}) == 0);
  const Bytes zeros(32, 0), ones(32, 0xFF);
  CHECK(Crc32c(zeros) == 0x8A9136AAu);  // RFC 3720, B.4
  CHECK(Crc32c(ones) == 0x62A8AB43u);
}

TEST_CASE("CRC-32C by table and by instruction agree for all lengths and alignments") {
  std::mt19937 random(1);
  Bytes bytes(300);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  for (size_t start = 0; start < 9; start++) {
    for (size_t length = 0; start + length <= bytes.size(); length++) {
      const auto part = std::span<const uint8_t>(bytes).subspan(start, length);
      REQUIRE(Crc32c(part) == Crc32cPortable(part));
    }
  }
}

TEST_CASE("the limits of a trace are those that the description of the format tells") {
  CHECK(kMaxId == 67'108'863);
  CHECK(kMaxRunObjects == 255);
}

TEST_CASE("LEB128 has the bytes of the specification") {
  Output out;
  for (const uint64_t v : {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{300}}) out.p = PutUv(out.p, v);
  CHECK(out.bytes() == B({0, 0x7F, 0x80, 0x01, 0xAC, 0x02}));
  Output most;
  most.p = PutUv(most.p, UINT64_MAX);
  CHECK(most.bytes() == B({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01}));
}

TEST_CASE("zigzag maps small magnitudes to small numbers") {
  CHECK(Zigzag(0) == 0);
  CHECK(Zigzag(-1) == 1);
  CHECK(Zigzag(1) == 2);
  CHECK(Zigzag(INT64_MIN) == UINT64_MAX);
  for (const int64_t n : {int64_t{0}, int64_t{-1}, int64_t{77}, INT64_MIN, INT64_MAX}) {
    CHECK(Unzigzag(Zigzag(n)) == n);
  }
}

TEST_CASE("every value of LEB128 survives, and its length is known") {
  for (unsigned bits = 0; bits < 64; bits++) {
    for (const uint64_t v : {(uint64_t{1} << bits) - 1, uint64_t{1} << bits, (uint64_t{1} << bits) + 1}) {
      ByteBuffer buffer;
      buffer.Uv(v);
      CHECK(buffer.size() == UvBytes(v));
      WireReader reader(buffer.span());
      CHECK(reader.Uv() == v);
      CHECK(reader.ok());
      CHECK(reader.AtEnd());
    }
  }
}

TEST_CASE("a cut, overlong or too large LEB128 is refused") {
  for (const Bytes& bytes : {B({}), B({0x80}), B({0xFF, 0xFF}), Bytes(11, 0x80),
                             B({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02})}) {
    WireReader reader(bytes);
    CHECK(reader.Uv() == 0);
    CHECK_FALSE(reader.ok());
    CHECK(reader.AtEnd());
  }
}

TEST_CASE("nothing is read behind a failure") {
  const Bytes bytes = B({5, 'a', 'b'});
  WireReader reader(bytes);
  CHECK(reader.Str().empty());
  CHECK_FALSE(reader.ok());
  CHECK(reader.U8() == 0);
  CHECK(reader.Take(0).empty());
  CHECK_FALSE(reader.ok());
}

TEST_CASE("fixed integers and strings are little endian and counted") {
  ByteBuffer buffer;
  buffer.U16(0x0102);
  buffer.U32(0x03040506);
  buffer.U64(0x0708090A0B0C0D0E);
  buffer.Sv(-2);
  buffer.Str("hi");
  CHECK(ToBytes(buffer.span()) == B({2, 1, 6, 5, 4, 3, 0xE, 0xD, 0xC, 0xB, 0xA, 9, 8, 7, 3, 2, 'h', 'i'}));
  WireReader reader(buffer.span());
  CHECK(reader.U16() == 0x0102);
  CHECK(reader.U32() == 0x03040506);
  CHECK(reader.U64() == 0x0708090A0B0C0D0E);
  CHECK(reader.Sv() == -2);
  CHECK(reader.Str() == "hi");
  CHECK(reader.ok());
}

TEST_CASE("a result without value or error still says that something failed") {
  const Result<int> result{Status()};
  CHECK_FALSE(result.ok());
  CHECK_FALSE(result.message().empty());
  CHECK_FALSE(Status::Error("").ok());
}

}  // namespace
}  // namespace anttracks::trace
