// SPDX-License-Identifier: Apache-2.0
// The META chunk: what is worth knowing about the JVM that is traced, as JSON.
//
// Thread safety: as any value type. Units: bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/format.h"
#include "trace/status.h"

namespace anttracks::trace {

struct Meta {
  std::string agent_version, vm_version, java_command, vm_flags, options;
  uint64_t object_alignment = kWordBytes;
  uint64_t heap_start = 0, heap_end = 0;
  // Samples instead of every object: one per interval bytes on average (0: all that the JVM reported), stacks
  // of up to depth frames. Then nothing is known of the heap.
  bool sampled = false;
  uint64_t interval = 0, depth = 0;
};

// Texts need not be UTF-8: what is none is replaced.
std::string EncodeMeta(const Meta& meta);
// The error says what is missing or impossible.
Result<Meta> ParseMeta(std::span<const uint8_t> payload);

}  // namespace anttracks::trace
