// SPDX-License-Identifier: Apache-2.0
#include "trace/crc32c.h"

#include <nmmintrin.h>

#include <array>
#include <cstring>

namespace anttracks::trace {
namespace {

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0x82F63B78u & (~(crc & 1) + 1));
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = MakeTable();

__attribute__((target("sse4.2"))) uint32_t Crc32cSse42(std::span<const uint8_t> bytes) {
  const uint8_t* p = bytes.data();
  size_t left = bytes.size();
  uint64_t crc = 0xFFFFFFFFu;
  for (; left >= 8; left -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, sizeof word);
    crc = _mm_crc32_u64(crc, word);
  }
  uint32_t crc32 = static_cast<uint32_t>(crc);
  for (; left > 0; left--) crc32 = _mm_crc32_u8(crc32, *p++);
  return ~crc32;
}

}  // namespace

uint32_t Crc32cPortable(std::span<const uint8_t> bytes) {
  uint32_t crc = 0xFFFFFFFFu;
  for (const uint8_t byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ byte) & 0xFF];
  return ~crc;
}

uint32_t Crc32c(std::span<const uint8_t> bytes) {
  static const bool has_sse42 = __builtin_cpu_supports("sse4.2");
  return has_sse42 ? Crc32cSse42(bytes) : Crc32cPortable(bytes);
}

}  // namespace anttracks::trace
