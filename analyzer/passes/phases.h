// SPDX-License-Identifier: Apache-2.0
// How long the phases of a program are: something grows for some time and is dropped. What a program did before
// it may be doing again, so growth that has not lasted for longer is no leak yet (passes/growth.h).
//
// Thread safety: full.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/passes/histories.h"

namespace anttracks::analyzer {

// The longest time for which a series grew before at least half of that growth was dropped again: from where a
// tenth of it was there to where nine tenths were. 0: nothing that grew by so much was dropped.
// clock: of each point. least: growth that counts, of each point.
uint64_t LongestDroppedRise(const std::vector<uint64_t>& clock, const std::vector<uint64_t>& series,
                            const std::vector<uint64_t>& least);

// In words that were allocated, of the pairs that are a hundredth of what is live at some point, and of all
// that is live together. points: after old-space collections.
uint64_t LongestPhase(const Definitions& definitions, const std::vector<HistoryPoint>& points);

}  // namespace anttracks::analyzer
