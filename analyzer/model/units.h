// SPDX-License-Identifier: Apache-2.0
// Converts words of the heap to bytes. The analyzer computes in words; texts, JSON and CSV have bytes.
//
// Thread safety: full.
#pragma once

#include <cstdint>

#include "trace/format.h"

namespace anttracks::analyzer {

// words: a size, or a word number.
constexpr uint64_t InBytes(uint64_t words) { return words * trace::kWordBytes; }

}  // namespace anttracks::analyzer
