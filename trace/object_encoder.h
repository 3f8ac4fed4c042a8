// SPDX-License-Identifier: Apache-2.0
// Encodes object records (ALLOC, SYNC_OBJECTS): the hot path of the agent, so everything is inline and writes
// through a pointer. Each call writes at most kMaxRecordBytes; Finish writes the run that is still pending.
//
// Thread safety: none; one encoder belongs to one stream. Invariant: a pending run is not yet in the bytes, so
// Finish must be called before the segment ends; calls never leave less than what the run needs, provided the
// caller keeps kMaxRecordBytes + kMaxUvBytes free before each call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "trace/format.h"
#include "trace/predictor.h"
#include "trace/wire.h"

namespace anttracks::trace {

class ObjectEncoder {
 public:
  // Run, then either a record and its length or an op and its delta.
  static constexpr size_t kMaxRecordBytes = kMaxUvBytes + kMaxUvBytes + kMaxUvBytes;
  static constexpr size_t kRoom = kMaxRecordBytes + kMaxUvBytes;

  void Reset() {
    predictor_.Reset();
    cursor_ = 0;
    run_ = 0;
    outside_ = false;
  }

  // The next objects lie at word, in a TLAB or outside. Writes nothing if that is where the cursor is already.
  uint8_t* MoveTo(uint8_t* p, uint64_t word, bool outside) {
    if (word == cursor_ && outside == outside_) return p;
    p = FlushRun(p);
    *p++ = 0;
    *p++ = static_cast<uint8_t>(outside ? ObjectOp::kOutside : ObjectOp::kTlab);
    p = PutSv(p, static_cast<int64_t>(word - cursor_));
    cursor_ = word;
    outside_ = outside;
    return p;
  }

  // has_length: the kind's objects differ in size; length is 0 for others. Advance must follow.
  uint8_t* Object(uint8_t* p, uint32_t kind, uint32_t length, bool has_length) {
    const ObjectShape predicted = predictor_.Predict();
    if (predicted.kind == kind && predicted.length == length) [[likely]] {
      if (++run_ == kMaxRunObjects) p = FlushRun(p);
      predictor_.Confirm(kind);
      return p;
    }
    p = PutObject(FlushRun(p), predicted, kind, length, has_length);
    predictor_.Update(kind, length);
    return p;
  }

  // A sequence of objects, as many as there is room for up to limit (behind which kRoom bytes must be free).
  // ObjectAt(i) gives {kind, length, has_length} of number i. *next: the first one, then the first one left. Ends early,
  // too, where a run may get too long: call it again.
  template <class ObjectAt>
  uint8_t* Objects(uint8_t* p, const uint8_t* limit, size_t* next, size_t count, ObjectAt&& object_at) {
    // What changes with each object stays in registers: stores of bytes may alias every member.
    Predictor::State state = predictor_.state();
    uint64_t run = run_;
    size_t i = *next;
    // The loop has no test for the longest run.
    const size_t end = i + std::min<size_t>(count - i, kMaxRunObjects - run);
    for (; i < end && p < limit; i++) {
      const auto [kind, length, has_length] = object_at(i);
      const ObjectShape predicted = predictor_.Predict(state);
      if (predicted.kind == kind && predicted.length == length) [[likely]] {
        run++;
      } else {
        if (run != 0) p = PutUv(p, run << 2 | static_cast<uint64_t>(ObjectCode::kRun));
        run = 0;
        p = PutObject(p, predicted, kind, length, has_length);
        predictor_.Learn(state, kind, length);
      }
      state.Push(kind);
    }
    predictor_.set_state(state);
    run_ = run;
    *next = i;
    return run == kMaxRunObjects ? FlushRun(p) : p;
  }

  // Objects of that many words were encoded since the last MoveTo or Advance.
  void Advance(uint64_t words) { cursor_ += words; }
  // The same, for who knows where the last object ends.
  void set_cursor(uint64_t word) { cursor_ = word; }

  uint8_t* Finish(uint8_t* p) { return FlushRun(p); }

  uint64_t cursor() const { return cursor_; }

 private:
  static uint8_t* PutObject(uint8_t* p, const ObjectShape& predicted, uint32_t kind, uint32_t length, bool has_length) {
    if (predicted.kind == kind) {
      return PutUv(p, uint64_t{length} << 2 | static_cast<uint64_t>(ObjectCode::kPredictedKind));
    }
    if (!has_length) return PutUv(p, uint64_t{kind} << 2 | static_cast<uint64_t>(ObjectCode::kFixed));
    p = PutUv(p, uint64_t{kind} << 2 | static_cast<uint64_t>(ObjectCode::kWithLength));
    return PutUv(p, length);
  }
  uint8_t* FlushRun(uint8_t* p) {
    if (run_ == 0) return p;
    p = PutUv(p, run_ << 2 | static_cast<uint64_t>(ObjectCode::kRun));
    run_ = 0;
    return p;
  }

  uint64_t cursor_ = 0;
  uint64_t run_ = 0;
  bool outside_ = false;
  Predictor predictor_;
};

}  // namespace anttracks::trace
