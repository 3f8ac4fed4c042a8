// SPDX-License-Identifier: Apache-2.0
// The events of a trace that are not objects, as read from their segments.
//
// Units: times are ns since the start of the trace. Ownership: each event owns its text and spaces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/format.h"
#include "trace/space.h"

namespace anttracks::analyzer {

using trace::Collected;
using trace::GcKind;
using trace::Space;
using trace::SpaceKind;
using trace::SyncReason;

struct GcEvent {
  uint64_t id = 0;
  GcKind kind = GcKind::kYoung;
  std::string cause;
  uint64_t time = 0;
  std::vector<Space> spaces;
};

struct SyncEvent {
  SyncReason reason = SyncReason::kStart;
  uint64_t time = 0;
  std::vector<Space> spaces;
};

// What became of a sync point; kIncomplete: its end is not in the trace (yet).
enum class SyncState : uint8_t { kNone, kIncomplete, kComplete, kAbandoned };

// An object of a trace of samples; see SAMPLES in docs/trace-format.md.
struct SampleEvent {
  uint64_t interval = 0;  // in bytes, of the sample points of which it is one
  uint64_t number = 0, time = 0, thread = 0, kind = 0, words = 0;
};

struct LossEvent {
  uint64_t time = 0, segments = 0, bytes = 0;
  std::string reason;
};

struct EndEvent {
  uint64_t time = 0;
  std::string reason;
  std::string counters;  // JSON
};

}  // namespace anttracks::analyzer
