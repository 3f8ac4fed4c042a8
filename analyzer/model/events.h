// SPDX-License-Identifier: Apache-2.0
// The events of a trace that are not objects: those of trace/, and the state of sync points.
//
// Thread safety: that of any value type.
#pragma once

#include <cstdint>

#include "trace/census.h"
#include "trace/events.h"
#include "trace/samples.h"
#include "trace/stacks.h"

namespace anttracks::analyzer {

using trace::CensusEvent;
using trace::Collected;
using trace::EndEvent;
using trace::GcEvent;
using trace::GcKind;
using trace::LossEvent;
using trace::SampleEvent;
using trace::Space;
using trace::SpaceKind;
using trace::StackEvent;
using trace::SyncEvent;
using trace::SyncReason;

// What became of a sync point; kIncomplete: its end is not in the trace (yet).
enum class SyncState : uint8_t { kNone, kIncomplete, kComplete, kAbandoned };

}  // namespace anttracks::analyzer
