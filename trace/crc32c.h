// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli, reflected, initial value and final xor all ones): the checksum of headers and chunks.
//
// Thread safety: full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace anttracks::trace {

// Uses SSE4.2 if the processor has it.
uint32_t Crc32c(std::span<const uint8_t> bytes);
// With a table: for processors without SSE4.2, and for the test that both agree.
uint32_t Crc32cPortable(std::span<const uint8_t> bytes);

}  // namespace anttracks::trace
