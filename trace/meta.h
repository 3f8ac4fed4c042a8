// SPDX-License-Identifier: Apache-2.0
// The META chunk: a description of the traced JVM and of the recording, as JSON.
//
// Thread safety: that of any value type. Units: bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/format.h"
#include "trace/segments.h"
#include "trace/status.h"

namespace anttracks::trace {

struct Meta {
  std::string agent_version, vm_version, java_command, vm_flags, options;
  uint64_t object_alignment = kWordBytes;
  uint64_t heap_start = 0, heap_end = 0;
  // Where the VM keeps allocation sites: "mark", "hash" or "ash". "" in traces of samples, and if it is not
  // said (before there were others than mark).
  std::string sites;
  // mode=sample: one sample per `interval` bytes on average (0: every object that the JVM reported), with
  // stacks of up to `depth` frames. The members about the heap are 0 then.
  bool sampled = false;
  uint64_t interval = 0, depth = 0;
  // mode=census: no events of objects, but counts of what is live.
  bool census = false;

  Traces mode() const { return sampled ? Traces::kSampled : census ? Traces::kCensus : Traces::kFull; }
};

// Bytes of texts that are not UTF-8 are replaced.
std::string EncodeMeta(const Meta& meta);
// Error: the text says what is missing or impossible.
Result<Meta> ParseMeta(std::span<const uint8_t> payload);

}  // namespace anttracks::trace
