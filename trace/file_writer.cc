// SPDX-License-Identifier: Apache-2.0
#include "trace/file_writer.h"

#include <snappy.h>

#include <cstring>

#include "trace/crc32c.h"

namespace anttracks::trace {

std::array<uint8_t, kFileHeaderBytes> EncodeFileHeader(const FileHeader& header) {
  namespace at = file_header;
  std::array<uint8_t, kFileHeaderBytes> bytes{};
  uint8_t* p = bytes.data();
  std::memcpy(p, kFileMagic, sizeof kFileMagic);
  PutU16(p + at::kMajor, kMajorVersion);
  PutU16(p + at::kMinor, kMinorVersion);
  PutU32(p + at::kSize, kFileHeaderBytes);
  PutU64(p + at::kWallClock, header.wall_clock_ns);
  PutU64(p + at::kTraceId, header.trace_id);
  PutU64(p + at::kProcess, header.process_id);
  PutU32(p + at::kFileIndex, header.file_index);
  PutU32(p + at::kFlags, header.flags);
  PutU64(p + at::kFileBytes, header.file_bytes);
  PutU32(p + at::kCrc, Crc32c(std::span(bytes).first(at::kCrc)));
  return bytes;
}

namespace {

// Growing clears the new bytes, so that a buffer once grown stays so.
uint8_t* Room(ByteBuffer* out, size_t bytes) {
  if (out->size() < bytes) out->Resize(bytes);
  return out->data();
}

size_t Snappy(std::span<const uint8_t> bytes, uint8_t* out) {
  size_t stored = 0;
  snappy::RawCompress(reinterpret_cast<const char*>(bytes.data()), bytes.size(), reinterpret_cast<char*>(out),
                      &stored);
  return stored;
}

}  // namespace

size_t ChunkEncoder::Compress(std::span<const uint8_t> payload) {
  const size_t most = snappy::MaxCompressedLength(payload.size());
  const size_t stored = Snappy(payload, Room(&out_, kChunkHeaderBytes + most) + kChunkHeaderBytes);
  return stored < payload.size() ? stored : 0;
}

// Each part: u32 length, u32 stored length, then so many bytes; the same number twice: as they are.
size_t ChunkEncoder::CompressColumns(std::span<const uint8_t> payload) {
  size_t at = kChunkHeaderBytes;
  for (const std::span<const uint8_t> part : splitter_.parts()) {
    uint8_t* const head = Room(&out_, at + kPartHeadBytes + snappy::MaxCompressedLength(part.size())) + at;
    uint8_t* const bytes = head + kPartHeadBytes;
    size_t stored = Snappy(part, bytes);
    if (stored >= part.size()) {
      stored = part.size();
      if (stored != 0) std::memcpy(bytes, part.data(), stored);
    }
    PutU32(PutU32(head, static_cast<uint32_t>(part.size())), static_cast<uint32_t>(stored));
    at += kPartHeadBytes + stored;
  }
  return at - kChunkHeaderBytes < payload.size() ? at - kChunkHeaderBytes : 0;
}

Result<std::span<const uint8_t>> ChunkEncoder::Encode(ChunkType type, uint64_t sequence,
                                                      std::span<const uint8_t> payload, Compressed compressed) {
  namespace at = chunk_header;
  if (payload.size() > kMaxChunkRawBytes) return Status::Error("chunk is longer than the format allows");
  size_t stored = 0;
  uint16_t flags = 0;
  if (compressed == Compressed::kYes && !payload.empty()) {
    const bool columns = type == ChunkType::kData && splitter_.Split(payload);
    stored = columns ? CompressColumns(payload) : Compress(payload);
    if (stored != 0) flags = columns ? kChunkSnappy | kChunkColumns : kChunkSnappy;
  }
  uint8_t* const p = Room(&out_, kChunkHeaderBytes + (stored == 0 ? payload.size() : stored));
  if (stored == 0) {
    stored = payload.size();
    if (stored != 0) std::memcpy(p + kChunkHeaderBytes, payload.data(), stored);
  }
  std::memcpy(p, kChunkMagic, sizeof kChunkMagic);
  PutU16(p + at::kType, static_cast<uint16_t>(type));
  PutU16(p + at::kFlags, flags);
  PutU32(p + at::kStoredLength, static_cast<uint32_t>(stored));
  PutU32(p + at::kRawLength, static_cast<uint32_t>(payload.size()));
  PutU64(p + at::kSequence, sequence);
  PutU32(p + at::kPayloadCrc, Crc32c({p + kChunkHeaderBytes, stored}));
  PutU32(p + at::kHeaderCrc, Crc32c({p, at::kHeaderCrc}));
  return std::span<const uint8_t>(p, kChunkHeaderBytes + stored);
}

Result<std::span<const uint8_t>> NumberedChunks::Encode(ChunkType type, std::span<const uint8_t> payload) {
  auto chunk = encoder_.Encode(type, sequence_, payload, compress_);
  if (chunk.ok()) sequence_++;
  return chunk;
}

}  // namespace anttracks::trace
