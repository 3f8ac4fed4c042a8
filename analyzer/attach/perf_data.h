// SPDX-License-Identifier: Apache-2.0
// The counters that a HotSpot JVM keeps in a file of its own (hsperfdata): texts among them say whether it lets
// itself be attached to, and which collector it has.
//
// Thread safety: full.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace anttracks::analyzer {

// Names and values of the texts in a file of format 2.0; empty if it is none. What is damaged is left out: a
// JVM writes the file while it is read.
std::map<std::string, std::string> PerfTexts(std::span<const uint8_t> file);

}  // namespace anttracks::analyzer
