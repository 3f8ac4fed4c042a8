// SPDX-License-Identifier: Apache-2.0
// Segment STACKS: sampled call stacks in a trace of every object. An encoder collects records until Finish
// appends them as one segment. A reader reads one segment: its head, then records up to the end; false: the
// bytes end too early, or a number is too long.
//
// Thread safety: none. Units: times are ns since the start of the trace, the interval is bytes.
#pragma once

#include <cstdint>

#include "trace/segments.h"
#include "trace/wire.h"

namespace anttracks::trace {

struct StackEvent {
  uint64_t time = 0;      // when the segment was begun
  uint64_t interval = 0;  // bytes that a thread allocates between two sample points, on average
  uint64_t thread = 0, stack = 0;
  uint64_t points = 0;  // how many sample points the object contains; at least 1
};

class StackEncoder {
 public:
  // Stacks of a segment must have the same interval. time counts for the first one.
  void Stack(const StackEvent& event) {
    if (payload_.empty()) {
      payload_.Uv(event.time);
      payload_.Uv(event.interval);
    }
    payload_.Uv(event.thread);
    payload_.Uv(event.stack);
    payload_.Uv(event.points);
  }

  size_t size() const { return payload_.size(); }
  void Finish(ByteBuffer* out) {
    if (payload_.empty()) return;
    AppendSegment(out, SegmentKind::kStacks, 0, payload_.span());
    payload_.Clear();
  }

 private:
  ByteBuffer payload_;
};

class StackReader {
 public:
  StackEvent event;  // after ReadHead only its time and interval are valid

  bool ReadHead(WireReader& in) {
    event.time = in.Uv();
    event.interval = in.Uv();
    return in.ok();
  }
  bool Read(WireReader& in) {
    event.thread = in.Uv();
    event.stack = in.Uv();
    event.points = in.Uv();
    return in.ok();
  }
};

}  // namespace anttracks::trace
