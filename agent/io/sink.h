// SPDX-License-Identifier: Apache-2.0
// Where the writer's bytes go. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/status.h"

namespace anttracks::io {

class Sink {
 public:
  virtual ~Sink() = default;
  // All or nothing, as far as the reader is concerned: after an error the file ends where it ended before, if
  // the system lets it. The error says what to do.
  virtual trace::Status Write(std::span<const uint8_t> bytes) = 0;
  virtual trace::Status Close() = 0;
};

}  // namespace anttracks::io
