// SPDX-License-Identifier: Apache-2.0
// Words of the heap in bytes. Inside, sizes and addresses are words; people, JSON and CSV get bytes.
//
// Thread safety: full.
#pragma once

#include <cstdint>

#include "trace/format.h"

namespace anttracks::analyzer {

// A size, or the address of a word.
constexpr uint64_t InBytes(uint64_t words) { return words * trace::kWordBytes; }

}  // namespace anttracks::analyzer
