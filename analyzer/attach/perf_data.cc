// SPDX-License-Identifier: Apache-2.0
#include "analyzer/attach/perf_data.h"

#include <cstring>

namespace anttracks::analyzer {
namespace {

// Byte offsets in the header and in an entry.
constexpr size_t kMajor = 5, kEntryOffset = 24, kEntries = 28, kHeaderBytes = 32;
constexpr size_t kNameOffset = 4, kVectorLength = 8, kType = 12, kDataOffset = 16, kEntryBytes = 20;
constexpr uint8_t kMagic[] = {0xca, 0xfe, 0xc0, 0xc0};

// x86 writes the numbers as it reads them.
uint32_t Number(std::span<const uint8_t> bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 4; i-- > 0;) number = number << 8 | bytes[at + i];
  return number;
}

// Up to a NUL, or the end.
std::string Text(std::span<const uint8_t> bytes, size_t at, size_t most) {
  std::string text;
  for (size_t i = at; i < bytes.size() && i - at < most && bytes[i] != 0; i++)
    text += static_cast<char>(bytes[i]);
  return text;
}

}  // namespace

std::map<std::string, std::string> PerfTexts(std::span<const uint8_t> file) {
  std::map<std::string, std::string> texts;
  if (file.size() < kHeaderBytes || std::memcmp(file.data(), kMagic, sizeof kMagic) != 0 || file[kMajor] != 2)
    return texts;
  size_t at = Number(file, kEntryOffset);
  for (uint32_t i = 0; i < Number(file, kEntries); i++) {
    if (at > file.size() || file.size() - at < kEntryBytes) break;
    const std::span<const uint8_t> rest = file.subspan(at);
    const uint32_t length = Number(rest, 0);
    if (length < kEntryBytes || length > rest.size()) break;
    const std::span<const uint8_t> entry = rest.first(length);
    if (entry[kType] == 'B') {
      texts[Text(entry, Number(entry, kNameOffset), length)] =
          Text(entry, Number(entry, kDataOffset), Number(entry, kVectorLength));
    }
    at += length;
  }
  return texts;
}

}  // namespace anttracks::analyzer
