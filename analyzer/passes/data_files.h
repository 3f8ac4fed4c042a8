// SPDX-License-Identifier: Apache-2.0
// The data files of a rotated trace: their names in messages, and how many its end record tells of.
//
// Thread safety: full.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace anttracks::analyzer {

// "data file 3", "data files 3 to 5": those before `to`.
std::string DataFilesText(uint64_t from, uint64_t to);

// How many the agent has begun, from the payload of END; 0: it does not say.
uint64_t DataFilesBegun(std::span<const uint8_t> end_payload);

}  // namespace anttracks::analyzer
