// SPDX-License-Identifier: Apache-2.0
// Segment ORIGINS: the provenance of the objects that a sync point lists (who allocated them, and when). The
// encoder collects runs until Finish appends them as one segment; a reader reads one segment.
//
// Thread safety: none. Units: addresses are word numbers (address / 8); an age is the number
// of collections that ended since the allocation.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/segments.h"
#include "trace/wire.h"

namespace anttracks::trace {

// The objects in [begin, end) have the same thread and age. No object lies across a border.
struct ProvenanceRun {
  uint64_t begin = 0, end = 0;
  uint64_t thread = 0;  // 0: not known
  uint64_t age = 0;
};

// More collections than any program has.
inline constexpr uint64_t kMaxAge = UINT32_MAX;

// What a provenance file holds.
struct SavedProvenance {
  std::vector<ByteBuffer> segments;  // ORIGINS, each by itself; empty: there is none
  bool in_part = false;              // that of older objects was forgotten
};

class ProvenanceEncoder {
 public:
  // Runs must come in the order of their addresses, and must not overlap.
  void Run(const ProvenanceRun& run) {
    payload_.Uv(run.begin - end_);
    payload_.Uv(run.end - run.begin);
    payload_.Uv(run.thread);
    payload_.Uv(run.age);
    end_ = run.end;
  }

  size_t size() const { return payload_.size(); }
  void Finish(ByteBuffer* out) {
    AppendSegment(out, SegmentKind::kProvenance, 0, payload_.span());
    payload_.Clear();
    end_ = 0;
  }

 private:
  ByteBuffer payload_;
  uint64_t end_ = 0;
};

class ProvenanceReader {
 public:
  ProvenanceRun run;

  // False: the segment ends within the record, or a number in it is too long.
  bool Read(WireReader& in) {
    run.begin = run.end + in.Uv();
    run.end = run.begin + in.Uv();
    run.thread = in.Uv();
    run.age = in.Uv();
    return in.ok();
  }
};

}  // namespace anttracks::trace
