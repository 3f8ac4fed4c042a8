// SPDX-License-Identifier: Apache-2.0
// What the analyzer makes of a trace after a fault. The analyzer itself reads it, as `anttracks verify` does.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>

namespace anttracks::core {

struct CheckedTrace {
  std::string unreadable;  // why it cannot be read at all
  uint64_t losses = 0;     // LOSS
  uint64_t errors = 0;     // what verify finds, but losses and what follows from them
  std::string first_error;
  uint64_t truncated_bytes = 0;
  bool ended = false;
  std::string end_reason;
  bool exact = false;  // the heap is known at the end
  uint64_t live = 0;   // objects in it
  uint64_t collections = 0, syncs = 0;
};

CheckedTrace CheckTrace(const std::string& path);

}  // namespace anttracks::core
