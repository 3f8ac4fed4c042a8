// SPDX-License-Identifier: Apache-2.0
// A contiguous space of the heap as collections and sync points describe it.
#pragma once

#include <cstdint>

#include "trace/format.h"

namespace anttracks::trace {

// Word numbers: objects lie in [bottom, top), there is room up to end.
struct Space {
  SpaceKind kind = SpaceKind::kEden;
  Collected collected = Collected::kNo;
  uint64_t bottom = 0, top = 0, end = 0;
};

}  // namespace anttracks::trace
