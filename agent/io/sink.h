// SPDX-License-Identifier: Apache-2.0
// Where the writer's bytes go. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <span>

#include "trace/status.h"

namespace anttracks::io {

class Sink {
 public:
  virtual ~Sink() = default;
  // Writes all bytes or, as readers see it, none: after an error the file is cut to its former size, if
  // possible. Error: the text says what to do.
  virtual trace::Status Write(std::span<const uint8_t> bytes) = 0;
  virtual trace::Status Close() = 0;
  // How many raw bytes a chunk should have.
  virtual size_t chunk_bytes() const { return 256 << 10; }
  // Error: the file is no longer at its path, as somebody has deleted or replaced it, or its descriptor is
  // another file's.
  virtual trace::Status Check() { return {}; }
  // For a trace that never began: deletes its files. Also after Close.
  virtual void Remove() {}
  // Async-signal-safe; uses descriptors only.
  virtual void CloseInForkedChild() {}
};

}  // namespace anttracks::io
