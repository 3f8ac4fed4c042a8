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

Result<std::span<const uint8_t>> ChunkEncoder::Encode(ChunkType type, std::span<const uint8_t> payload) {
  namespace at = chunk_header;
  if (payload.size() > kMaxChunkRawBytes) return Status::Error("chunk is longer than the format allows");
  uint16_t flags = 0;
  size_t stored = payload.size();
  if (compress_ && !payload.empty()) {
    out_.Resize(kChunkHeaderBytes + snappy::MaxCompressedLength(payload.size()));
    snappy::RawCompress(reinterpret_cast<const char*>(payload.data()), payload.size(),
                        reinterpret_cast<char*>(out_.data() + kChunkHeaderBytes), &stored);
    flags = kChunkSnappy;
  }
  if (flags == 0 || stored >= payload.size()) {
    flags = 0;
    stored = payload.size();
    out_.Resize(kChunkHeaderBytes + stored);
    if (stored != 0) std::memcpy(out_.data() + kChunkHeaderBytes, payload.data(), stored);
  }
  uint8_t* p = out_.data();
  std::memcpy(p, kChunkMagic, sizeof kChunkMagic);
  PutU16(p + at::kType, static_cast<uint16_t>(type));
  PutU16(p + at::kFlags, flags);
  PutU32(p + at::kStoredLength, static_cast<uint32_t>(stored));
  PutU32(p + at::kRawLength, static_cast<uint32_t>(payload.size()));
  PutU64(p + at::kSequence, sequence_++);
  PutU32(p + at::kPayloadCrc, Crc32c({p + kChunkHeaderBytes, stored}));
  PutU32(p + at::kHeaderCrc, Crc32c({p, at::kHeaderCrc}));
  return std::span<const uint8_t>(p, kChunkHeaderBytes + stored);
}

}  // namespace anttracks::trace
