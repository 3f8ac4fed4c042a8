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
  PutU32(p + at::kCrc, Crc32c(std::span(bytes).first(at::kCrc)));
  return bytes;
}

namespace {

// For a header and most bytes of payload. Growing clears the new bytes, so that a buffer once grown stays so.
uint8_t* Room(ByteBuffer* out, size_t most) {
  if (out->size() < kChunkHeaderBytes + most) out->Resize(kChunkHeaderBytes + most);
  return out->data();
}

}  // namespace

Result<std::span<const uint8_t>> EncodeChunk(ChunkType type, uint64_t sequence,
                                             std::span<const uint8_t> payload, bool compress, ByteBuffer* out) {
  namespace at = chunk_header;
  if (payload.size() > kMaxChunkRawBytes) return Status::Error("chunk is longer than the format allows");
  compress = compress && !payload.empty();
  uint8_t* p = Room(out, compress ? snappy::MaxCompressedLength(payload.size()) : payload.size());
  size_t stored = payload.size();
  if (compress) {
    snappy::RawCompress(reinterpret_cast<const char*>(payload.data()), payload.size(),
                        reinterpret_cast<char*>(p + kChunkHeaderBytes), &stored);
  }
  const bool shorter = stored < payload.size();
  if (!shorter) {
    stored = payload.size();
    if (stored != 0) std::memcpy(p + kChunkHeaderBytes, payload.data(), stored);
  }
  std::memcpy(p, kChunkMagic, sizeof kChunkMagic);
  PutU16(p + at::kType, static_cast<uint16_t>(type));
  PutU16(p + at::kFlags, shorter ? kChunkSnappy : 0);
  PutU32(p + at::kStoredLength, static_cast<uint32_t>(stored));
  PutU32(p + at::kRawLength, static_cast<uint32_t>(payload.size()));
  PutU64(p + at::kSequence, sequence);
  PutU32(p + at::kPayloadCrc, Crc32c({p + kChunkHeaderBytes, stored}));
  PutU32(p + at::kHeaderCrc, Crc32c({p, at::kHeaderCrc}));
  return std::span<const uint8_t>(p, kChunkHeaderBytes + stored);
}

Result<std::span<const uint8_t>> ChunkEncoder::Encode(ChunkType type, std::span<const uint8_t> payload) {
  auto chunk = EncodeChunk(type, sequence_, payload, compress_, &out_);
  if (chunk.ok()) sequence_++;
  return chunk;
}

}  // namespace anttracks::trace
