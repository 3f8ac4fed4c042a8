// SPDX-License-Identifier: Apache-2.0
// Encoders of MOVES, SLIDES, FILLERS and FOUND. One encoder, one stream; Reset at the start of each segment.
//
// Each call writes at most kRoom bytes through a pointer and trusts that they are there. Thread safety: none.
// Units: addresses and sizes are words.
#pragma once

#include <cstdint>

#include "trace/format.h"
#include "trace/wire.h"

namespace anttracks::trace {

class MoveEncoder {
 public:
  static constexpr size_t kRoom = 2 * kMaxUvBytes;

  void Reset() { from_end_ = to_end_[0] = to_end_[1] = 0; }

  uint8_t* Move(uint8_t* p, uint64_t from, uint64_t to, bool old, uint64_t words) {
    const unsigned lab = old ? 1 : 0;
    const bool jumps = to != to_end_[lab];
    const uint64_t delta = Zigzag(static_cast<int64_t>(from - from_end_));
    p = PutUv(p, delta << 2 | (jumps ? 2u : 0u) | lab);
    if (jumps) p = PutSv(p, static_cast<int64_t>(to - to_end_[lab]));
    from_end_ = from + words;
    to_end_[lab] = to + words;
    return p;
  }

 private:
  uint64_t from_end_ = 0;
  uint64_t to_end_[2] = {0, 0};
};

// A move out of a stretch that was skipped, with what the object is.
class FoundEncoder {
 public:
  static constexpr size_t kRoom = MoveEncoder::kRoom + 2 * kMaxUvBytes;

  void Reset() { move_.Reset(); }

  uint8_t* Found(uint8_t* p, uint64_t from, uint64_t to, bool old, uint64_t words, uint32_t kind, uint32_t length) {
    p = move_.Move(p, from, to, old, words);
    p = PutUv(p, kind);
    return PutUv(p, length);
  }

 private:
  MoveEncoder move_;
};

class SlideEncoder {
 public:
  // One run. Finish needs as much again: keep 2 * kRoom free.
  static constexpr size_t kRoom = 3 * kMaxUvBytes;

  void Reset() { *this = SlideEncoder(); }

  uint8_t* Slide(uint8_t* p, uint64_t from, uint64_t to, uint64_t words) {
    if (count_ == 0 || count_ == kMaxRunObjects || from != from_next_ || to != to_next_) {
      p = Finish(p);
      from_ = from;
      to_ = to;
    }
    count_++;
    from_next_ = from + words;
    to_next_ = to + words;
    return p;
  }

  uint8_t* Finish(uint8_t* p) {
    if (count_ == 0) return p;
    p = PutUv(p, count_);
    p = PutSv(p, static_cast<int64_t>(from_ - from_end_));
    p = PutSv(p, static_cast<int64_t>(to_ - to_end_));
    from_end_ = from_next_;
    to_end_ = to_next_;
    count_ = 0;
    return p;
  }

 private:
  uint64_t count_ = 0;                    // objects in the pending run
  uint64_t from_ = 0, to_ = 0;            // its start
  uint64_t from_next_ = 0, to_next_ = 0;  // and end
  uint64_t from_end_ = 0, to_end_ = 0;    // end of the run that was written last
};

class FillerEncoder {
 public:
  static constexpr size_t kRoom = 3 * kMaxUvBytes;

  void Reset() { end_ = 0; }

  uint8_t* Filler(uint8_t* p, uint64_t at, uint32_t kind, uint32_t length, uint64_t words) {
    p = PutSv(p, static_cast<int64_t>(at - end_));
    p = PutUv(p, kind);
    p = PutUv(p, length);
    end_ = at + words;
    return p;
  }

 private:
  uint64_t end_ = 0;
};

}  // namespace anttracks::trace
