// SPDX-License-Identifier: Apache-2.0
// Encodes file headers and chunks into memory. Where the bytes go, and what happens if they cannot go there,
// is the caller's business.
//
// Thread safety: EncodeChunk has no state, so that threads may encode at the same time, each into its own
// buffer; ChunkEncoder has none. Ownership: the bytes that they return lie in the buffer, or in the encoder
// until its next call.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "trace/format.h"
#include "trace/status.h"
#include "trace/wire.h"

namespace anttracks::trace {

struct FileHeader {
  uint64_t wall_clock_ns = 0;  // since 1970-01-01 UTC
  uint64_t trace_id = 0;
  uint64_t process_id = 0;
  uint32_t file_index = 0;
  uint32_t flags = 0;  // kFileSymbols, kFileData, or 0: the trace is one file
};

std::array<uint8_t, kFileHeaderBytes> EncodeFileHeader(const FileHeader& header);

// Header and payload; compress: with Snappy if that makes it shorter. out grows as needed and never shrinks,
// its contents are lost. An error if the payload is over kMaxChunkRawBytes; may throw std::bad_alloc.
Result<std::span<const uint8_t>> EncodeChunk(ChunkType type, uint64_t sequence,
                                             std::span<const uint8_t> payload, bool compress, ByteBuffer* out);

// Numbers the chunks of one file.
class ChunkEncoder {
 public:
  explicit ChunkEncoder(bool compress) : compress_(compress) {}

  // See EncodeChunk. An error uses no number.
  Result<std::span<const uint8_t>> Encode(ChunkType type, std::span<const uint8_t> payload);

  uint64_t chunks() const { return sequence_; }

 private:
  const bool compress_;
  uint64_t sequence_ = 0;
  ByteBuffer out_;
};

}  // namespace anttracks::trace
