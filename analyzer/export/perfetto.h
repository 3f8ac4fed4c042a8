// SPDX-License-Identifier: Apache-2.0
// A trace for ui.perfetto.dev: the collections as slices, or of censuses the time that counting took, the heap
// and its spaces as counters. Packets of https://perfetto.dev/docs/reference/trace-packet-proto.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "analyzer/export/profile.h"

namespace anttracks::analyzer {

// Times are those of the trace; a clock snapshot says when it began. notes: what qualifies the numbers.
std::string PerfettoBytes(const ExportProcess& process, const ExportTimeline& timeline,
                          const std::vector<std::string>& notes);

}  // namespace anttracks::analyzer
