// SPDX-License-Identifier: Apache-2.0
// The labels of an export, as they are given: service=web.
//
// Thread safety: full.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/export/profile.h"

namespace anttracks::analyzer {

// Adds it. Returns what is wrong with it, or "". A name is what Pyroscope, Prometheus and SQL take without
// quotation marks, and no column of the CSV export.
std::string AddLabel(std::string_view text, std::vector<ExportLabel>* labels);

}  // namespace anttracks::analyzer
