// SPDX-License-Identifier: Apache-2.0
// ORIGINS: who allocated the objects that a sync point lists, and when. What the encoder is given collects in a
// segment until Finish appends it; a reader reads one segment.
//
// Thread safety: none. Units: words; ages are collections that had ended since the allocation.
#pragma once

#include <cstdint>

#include "trace/segments.h"
#include "trace/wire.h"

namespace anttracks::trace {

// The objects in [begin, end) have the same thread and age; the run begins and ends where objects do.
struct OriginRun {
  uint64_t begin = 0, end = 0;
  uint64_t thread = 0;
  uint64_t age = 0;
};

// More collections than any program has.
inline constexpr uint64_t kMaxAge = UINT32_MAX;

class OriginEncoder {
 public:
  // By address.
  void Run(const OriginRun& run) {
    payload_.Uv(run.begin - end_);
    payload_.Uv(run.end - run.begin);
    payload_.Uv(run.thread);
    payload_.Uv(run.age);
    end_ = run.end;
  }

  size_t size() const { return payload_.size(); }
  void Finish(ByteBuffer* out) {
    AppendSegment(out, SegmentKind::kOrigins, 0, payload_.span());
    payload_.Clear();
    end_ = 0;
  }

 private:
  ByteBuffer payload_;
  uint64_t end_ = 0;
};

class OriginReader {
 public:
  OriginRun run;

  // False: cut short or overlong.
  bool Read(WireReader& in) {
    run.begin = run.end + in.Uv();
    run.end = run.begin + in.Uv();
    run.thread = in.Uv();
    run.age = in.Uv();
    return in.ok();
  }
};

}  // namespace anttracks::trace
