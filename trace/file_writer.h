// SPDX-License-Identifier: Apache-2.0
// Encodes file headers and chunks into memory. Where the bytes go, and what happens if they cannot go there,
// is the caller's business.
//
// Thread safety: none; threads may encode at the same time, each with an encoder of its own. Ownership: the
// bytes that they return lie in the encoder until its next call.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "trace/columns.h"
#include "trace/format.h"
#include "trace/status.h"
#include "trace/wire.h"

namespace anttracks::trace {

struct FileHeader {
  uint64_t wall_clock_ns = 0;  // since 1970-01-01 UTC
  uint64_t trace_id = 0;
  uint64_t process_id = 0;
  uint32_t file_index = 0;
  uint32_t flags = 0;  // kFileDefinitions, kFileData, or 0: the trace is one file
};

std::array<uint8_t, kFileHeaderBytes> EncodeFileHeader(const FileHeader& header);

class ChunkEncoder {
 public:
  // Header and payload; compress: with Snappy if that makes it shorter, objects' columns apart. Memory grows as
  // needed and never shrinks. An error if the payload is over kMaxChunkRawBytes; may throw std::bad_alloc.
  Result<std::span<const uint8_t>> Encode(ChunkType type, uint64_t sequence, std::span<const uint8_t> payload,
                                          bool compress);

 private:
  // To out_, behind the header; the bytes that were stored. 0: not shorter.
  size_t Compress(std::span<const uint8_t> payload);
  size_t CompressColumns(std::span<const uint8_t> payload);

  ColumnSplitter splitter_;
  ByteBuffer out_;
};

// Numbers the chunks of one file.
class NumberedChunks {
 public:
  explicit NumberedChunks(bool compress) : compress_(compress) {}

  // See ChunkEncoder. An error uses no number.
  Result<std::span<const uint8_t>> Encode(ChunkType type, std::span<const uint8_t> payload);

  uint64_t chunks() const { return sequence_; }

 private:
  const bool compress_;
  uint64_t sequence_ = 0;
  ChunkEncoder encoder_;
};

}  // namespace anttracks::trace
