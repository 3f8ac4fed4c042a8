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
  // All or nothing, as far as the reader is concerned: after an error the file ends where it ended before, if
  // the system lets it. The error says what to do.
  virtual trace::Status Write(std::span<const uint8_t> bytes) = 0;
  virtual trace::Status Close() = 0;
  // Raw bytes that a chunk should have.
  virtual size_t chunk_bytes() const { return 256 << 10; }
  // An error if what was written is not where it was put any more (deleted by somebody).
  virtual trace::Status Check() { return {}; }
  // For a trace that never began: what was made is deleted. Also after Close.
  virtual void Remove() {}
  // Async-signal-safe, touches descriptors only.
  virtual void CloseInForkedChild() {}
};

}  // namespace anttracks::io
