// SPDX-License-Identifier: Apache-2.0
// Encodes file headers and chunks into memory. The caller writes the bytes, and handles errors of that.
//
// Thread safety: none; each thread needs an encoder of its own. Ownership: the returned bytes belong to the
// encoder and are valid until its next call.
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
  uint32_t flags =
      0;  // kFileDefinitions, kFileData or kFileProvenance and its flag; 0: the trace is a single file
  uint64_t file_bytes = 0;  // of a provenance file, this header included; others grow
};

std::array<uint8_t, kFileHeaderBytes> EncodeFileHeader(const FileHeader& header);

// Whether chunks are compressed, where that makes them shorter.
enum class Compressed : bool { kNo, kYes };

class ChunkEncoder {
 public:
  // The chunk's header and payload. Compression uses Snappy, and stores the columns of objects separately.
  // Memory grows as needed and never shrinks. Error: the payload exceeds kMaxChunkRawBytes. May throw
  // std::bad_alloc.
  Result<std::span<const uint8_t>> Encode(ChunkType type, uint64_t sequence, std::span<const uint8_t> payload,
                                          Compressed compressed);

 private:
  // Both write to out_, after the header, and return the number of bytes; 0: compressed is not shorter.
  size_t Compress(std::span<const uint8_t> payload);
  size_t CompressColumns(std::span<const uint8_t> payload);

  ColumnSplitter splitter_;
  ByteBuffer out_;
};

// Numbers the chunks of one file.
class NumberedChunks {
 public:
  explicit NumberedChunks(Compressed compressed) : compress_(compressed) {}

  // See ChunkEncoder. After an error the number is used for the next chunk.
  Result<std::span<const uint8_t>> Encode(ChunkType type, std::span<const uint8_t> payload);

  uint64_t chunks() const { return sequence_; }

 private:
  const Compressed compress_;
  uint64_t sequence_ = 0;
  ChunkEncoder encoder_;
};

}  // namespace anttracks::trace
