// SPDX-License-Identifier: Apache-2.0
// Encoders of SAMPLES and SAMPLE_DEATHS. What is added collects in a segment until Finish appends it.
//
// Thread safety: none. Units: ns since the start of the trace, words; of the interval bytes.
#pragma once

#include <cstdint>

#include "trace/segment_writer.h"
#include "trace/wire.h"

namespace anttracks::trace {

class SampleEncoder {
 public:
  // Samples of a segment have one interval and consecutive numbers; time never goes back.
  void Sample(uint64_t interval, uint64_t number, uint64_t time, uint64_t thread, uint64_t kind, uint64_t words) {
    if (payload_.empty()) {
      payload_.Uv(interval);
      payload_.Uv(number);
      payload_.Uv(time);
      time_ = time;
    }
    payload_.Uv(time - time_);
    payload_.Uv(thread);
    payload_.Uv(kind);
    payload_.Uv(words);
    time_ = time;
  }

  size_t size() const { return payload_.size(); }
  void Finish(ByteBuffer* out) {
    if (payload_.empty()) return;
    AppendSegment(out, SegmentKind::kSamples, 0, payload_.span());
    payload_.Clear();
  }

 private:
  ByteBuffer payload_;
  uint64_t time_ = 0;
};

class SampleDeathEncoder {
 public:
  // collections: that have begun. It is the same for all deaths of a segment.
  void Death(uint64_t collections, uint64_t number) {
    if (payload_.empty()) {
      payload_.Uv(collections);
      number_ = 0;
    }
    payload_.Sv(static_cast<int64_t>(number - number_));
    number_ = number;
  }

  size_t size() const { return payload_.size(); }
  void Finish(ByteBuffer* out) {
    if (payload_.empty()) return;
    AppendSegment(out, SegmentKind::kSampleDeaths, 0, payload_.span());
    payload_.Clear();
  }

 private:
  ByteBuffer payload_;
  uint64_t number_ = 0;
};

}  // namespace anttracks::trace
