// SPDX-License-Identifier: Apache-2.0
// How reports show what was allocated: exact numbers where everything was read, estimates with their intervals where a share was.
//
// Thread safety: none.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/cli/text.h"
#include "analyzer/passes/counts.h"

namespace anttracks::analyzer {

// Objects, share, bytes, share; with their intervals where they are estimates.
std::vector<Table::Column> AllocatedColumns(bool estimated);
std::vector<std::string> AllocatedCells(const Allocated& row, const Allocated& all, bool estimated);
// "12 objects, 304 B"; "~1,234 objects (1,200 to 1,270), ~1.50 MiB (...)"
std::string AllocatedText(const Allocated& allocated, bool estimated);
// What the numbers are, a line; empty where they are exact.
std::string AllocatedNote(const CountByShape& counts);
// Adds objects and bytes, and where they are estimates objects_low, objects_high, bytes_low, bytes_high.
void AddAllocated(nlohmann::ordered_json* json, const Allocated& allocated, bool estimated);
// Adds estimated, and how much was skipped, where something was.
void AddAllocatedNote(nlohmann::ordered_json* json, const CountByShape& counts);

}  // namespace anttracks::analyzer
