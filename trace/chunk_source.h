// SPDX-License-Identifier: Apache-2.0
// The chunks of a trace, in order, one at a time. TraceReader reads each chunk when it is asked for; ReadAhead
// reads in advance, in a thread of its own.
//
// Thread safety: none. Ownership: a chunk's payload belongs to the source and is valid until the next call of
// Next or Rewind.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/file_set.h"
#include "trace/status.h"

namespace anttracks::trace {

struct Chunk {
  uint16_t type = 0;
  uint32_t file = 0;    // position in files()
  uint64_t offset = 0;  // of the chunk's header in its file
  uint64_t sequence = 0;
  uint32_t stored_bytes = 0;
  std::span<const uint8_t> payload;
};

struct Damage {
  uint32_t file = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;  // skipped
  std::string what;
};

class ChunkSource {
 public:
  enum class Item {
    kChunk,   // see chunk()
    kDamage,  // see damage(); reading can go on
    kEnd,
    kError,  // see error(): the trace must not or cannot be read any further
  };

  virtual ~ChunkSource() = default;

  virtual Item Next() = 0;
  virtual const Chunk& chunk() const = 0;
  virtual const Damage& damage() const = 0;
  virtual const Status& error() const = 0;

  // Starts again. wanted: which of files() are read; empty: all.
  virtual void Rewind(std::vector<bool> wanted) = 0;

  // In reading order: see FileSet::files. truncated_bytes of each is known after all files were read.
  virtual const std::vector<FileInfo>& files() const = 0;
  virtual uint64_t total_bytes() const = 0;
  // Bytes of all files, up to the end of the item that Next returned last.
  virtual uint64_t position() const = 0;
};

}  // namespace anttracks::trace
