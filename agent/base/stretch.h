// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace anttracks::core {

// An address range [start, top) that is filled with objects. Units: byte addresses, as numbers.
struct Stretch {
  uint64_t start = 0, top = 0;
};

}  // namespace anttracks::core
