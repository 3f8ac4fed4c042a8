// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace anttracks::core {

// [start, top), filled with objects: a TLAB stretch, a region, a run of neighbours. Units: byte addresses, as
// numbers.
struct AddressRange {
  uint64_t start = 0, top = 0;
};

}  // namespace anttracks::core
