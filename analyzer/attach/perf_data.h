// SPDX-License-Identifier: Apache-2.0
// Reads the file with a HotSpot JVM's counters (hsperfdata): some are texts, which say whether attaching is
// allowed and which collector is used.
//
// Thread safety: full.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace anttracks::analyzer {

// The names and values of the texts in a file of format 2.0; empty for other files. Damaged entries are left
// out, since the JVM writes the file while it is read.
std::map<std::string, std::string> PerfTexts(std::span<const uint8_t> file);

}  // namespace anttracks::analyzer
