// SPDX-License-Identifier: Apache-2.0
// Segments SAMPLES and SAMPLE_DEATHS. An encoder collects records until Finish appends them as one segment. A
// reader reads one segment: its head, then records up to the end; false: the bytes end too early, or a number
// is too long.
//
// Thread safety: none. Units: times are ns since the start of the trace, sizes are words, the interval is
// bytes.
#pragma once

#include <cstdint>

#include "trace/segments.h"
#include "trace/wire.h"

namespace anttracks::trace {

struct SampleEvent {
  uint64_t interval = 0;  // the sampling interval that was in effect for it
  uint64_t number = 0, time = 0, thread = 0, site_class = 0, words = 0;
};

class SampleEncoder {
 public:
  // Samples of a segment must have the same interval, consecutive numbers, and times that do not decrease.
  void Sample(uint64_t interval, uint64_t number, uint64_t time, uint64_t thread, uint64_t site_class,
              uint64_t words) {
    if (payload_.empty()) {
      payload_.Uv(interval);
      payload_.Uv(number);
      payload_.Uv(time);
      time_ = time;
    }
    payload_.Uv(time - time_);
    payload_.Uv(thread);
    payload_.Uv(site_class);
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

class SampleReader {
 public:
  // Valid after Read; after ReadHead only its interval is.
  SampleEvent sample;

  bool ReadHead(WireReader& in) {
    sample.interval = in.Uv();
    sample.number = in.Uv() - 1;
    sample.time = in.Uv();
    return in.ok();
  }
  bool Read(WireReader& in) {
    sample.number++;
    sample.time += in.Uv();
    sample.thread = in.Uv();
    sample.site_class = in.Uv();
    sample.words = in.Uv();
    return in.ok();
  }
};

class SampleDeathEncoder {
 public:
  // collections: how many have begun; must be the same for all deaths of a segment.
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

class SampleDeathReader {
 public:
  uint64_t collections = 0, number = 0;

  bool ReadHead(WireReader& in) {
    collections = in.Uv();
    return in.ok();
  }
  bool Read(WireReader& in) {
    number += static_cast<uint64_t>(in.Sv());
    return in.ok();
  }
};

}  // namespace anttracks::trace
