// SPDX-License-Identifier: Apache-2.0
// The events of a trace that are not objects, as read from their segments.
//
// Units: addresses and sizes are words of 8 bytes unless a name says otherwise, times ns since the start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/format.h"

namespace anttracks::analyzer {

using trace::GcKind;
using trace::SpaceKind;
using trace::SyncReason;

struct Space {
  SpaceKind kind = SpaceKind::kEden;
  bool collected = false;
  uint64_t bottom = 0, top = 0, end = 0;
};

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
