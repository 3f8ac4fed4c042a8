// SPDX-License-Identifier: Apache-2.0
// The sync point that is being written, in the VM thread at one safepoint. Thread safety: none.
#pragma once

#include "agent/core/session.h"
#include "trace/object_encoder.h"

namespace anttracks::core {

struct Session::Sync {
  Buffer* buffer = nullptr;  // of the open segment
  uint8_t* out = nullptr;
  uint8_t* limit = nullptr;
  uint32_t space = 0;
  uint64_t objects = 0, words = 0;
  trace::ObjectEncoder encoder;
};

}  // namespace anttracks::core
