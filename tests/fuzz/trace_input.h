// SPDX-License-Identifier: Apache-2.0
// What makes traces of a fuzzer's bytes, so that changes get past lengths and checksums.
//
// An input is files, each made of parts. A mark is the byte 0xF5 and a second one: 0xF6 begins a segment (kind,
// stream, then its payload), 0xF7 a record in a DEFINITIONS segment (tag, then its bytes), 0xF8 a chunk, 0xF9
// the next file. Chunks begin with META, whose JSON the first byte of an input chooses.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/crc32c.h"
#include "trace/format.h"
#include "trace/wire.h"

namespace anttracks::fuzz {

inline constexpr uint8_t kMark = 0xF5, kSegmentMark = 0xF6, kRecordMark = 0xF7, kChunkMark = 0xF8,
                         kFileMark = 0xF9;

// A heap like that of the unit tests' small traces, the largest there can be, samples, and censuses.
inline constexpr std::string_view kMetas[] = {
    R"({"object_alignment":8,"heap_start":268435456,"heap_end":276824064})",
    R"({"object_alignment":8,"heap_start":0,"heap_end":8796093022208})",
    R"({"mode":"sample","interval":524288,"depth":16})",
    R"({"object_alignment":16,"heap_start":0,"heap_end":8388608,"mode":"full","options":"file=a"})",
    R"({"object_alignment":8,"heap_start":268435456,"heap_end":276824064,"mode":"census"})",
};

// The parts of the bytes between marks of that kind.
inline std::vector<std::span<const uint8_t>> SplitAt(std::span<const uint8_t> bytes, uint8_t mark) {
  std::vector<std::span<const uint8_t>> parts;
  size_t start = 0;
  for (size_t i = 0; i + 1 < bytes.size(); i++) {
    if (bytes[i] != kMark || bytes[i + 1] != mark) continue;
    parts.push_back(bytes.subspan(start, i - start));
    start = i + 2;
    i++;
  }
  parts.push_back(bytes.subspan(start));
  return parts;
}

inline std::string ChunkBytes(trace::ChunkType type, std::span<const uint8_t> payload, uint64_t sequence) {
  trace::ByteBuffer chunk;
  for (const char c : trace::kChunkMagic) chunk.U8(static_cast<uint8_t>(c));
  chunk.U16(static_cast<uint16_t>(type));
  chunk.U16(0);
  chunk.U32(static_cast<uint32_t>(payload.size()));
  chunk.U32(static_cast<uint32_t>(payload.size()));
  chunk.U64(sequence);
  chunk.U32(trace::Crc32c(payload));
  chunk.U32(trace::Crc32c(chunk.span()));
  chunk.Append(payload);
  return {reinterpret_cast<const char*>(chunk.data()), chunk.size()};
}

inline trace::ByteBuffer DefinitionRecords(std::span<const uint8_t> bytes) {
  trace::ByteBuffer payload;
  for (const auto part : SplitAt(bytes, kRecordMark)) {
    if (part.empty()) continue;
    payload.U8(part[0]);
    payload.Uv(part.size() - 1);
    payload.Append(part.subspan(1));
  }
  return payload;
}

inline trace::ByteBuffer Segments(std::span<const uint8_t> bytes) {
  trace::ByteBuffer chunk;
  for (const auto part : SplitAt(bytes, kSegmentMark)) {
    if (part.size() < 2) continue;
    const bool definitions = part[0] == static_cast<uint8_t>(trace::SegmentKind::kDefinitions);
    trace::ByteBuffer payload;
    if (definitions) {
      payload = DefinitionRecords(part.subspan(2));
    } else {
      payload.Append(part.subspan(2));
    }
    chunk.U8(part[0]);
    chunk.Uv(part[1]);
    chunk.Uv(payload.size());
    chunk.Append(payload.span());
  }
  return chunk;
}

// A file with valid checksums. *sequence: of its first chunk, then of the one behind it.
inline std::string TraceBytes(std::string_view meta, std::span<const uint8_t> bytes, uint32_t index,
                              uint32_t flags, uint64_t* sequence) {
  trace::ByteBuffer header;
  for (const char c : trace::kFileMagic) header.U8(static_cast<uint8_t>(c));
  header.U16(trace::kMajorVersion);
  header.U16(trace::kMinorVersion);
  header.U32(trace::kFileHeaderBytes);
  for (const uint64_t number : {uint64_t{1'700'000'000'000'000'000}, uint64_t{0xABCDEF}, uint64_t{4711}})
    header.U64(number);
  for (const uint32_t number : {index, flags, 0u, 0u, 0u}) header.U32(number);
  header.U32(trace::Crc32c(header.span()));
  std::string file(reinterpret_cast<const char*>(header.data()), header.size());
  file += ChunkBytes(trace::ChunkType::kMeta, {reinterpret_cast<const uint8_t*>(meta.data()), meta.size()},
                     (*sequence)++);
  for (const auto part : SplitAt(bytes, kChunkMark)) {
    file += ChunkBytes(trace::ChunkType::kData, Segments(part).span(), (*sequence)++);
  }
  return file;
}

}  // namespace anttracks::fuzz
