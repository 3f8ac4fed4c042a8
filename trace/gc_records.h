// SPDX-License-Identifier: Apache-2.0
// Records of MOVES, SLIDES, FILLERS and FOUND, written and read.
//
// Encoders: one per stream; call Reset at the start of each segment. Each call writes at most kRoom bytes at p
// without a check, and returns the end.
//
// Readers: one per segment. Read gives the fields of the next record; false: the record is cut short, or a
// number in it is too long. Addresses are written relative to the end of the object before. Its size is not in
// the bytes, so the caller passes it to EndsAfter.
//
// Thread safety: none. Units: words of 8 bytes; addresses are word numbers (address / 8).
#pragma once

#include <cstdint>

#include "trace/format.h"
#include "trace/wire.h"

namespace anttracks::trace {

// Which of a GC worker's two buffers (PLABs) an object was copied to.
enum class Destination : uint8_t { kYoung = 0, kOld = 1 };

class MoveEncoder {
 public:
  static constexpr size_t kRoom = 2 * kMaxUvBytes;

  void Reset() { from_end_ = to_end_[0] = to_end_[1] = 0; }

  uint8_t* Move(uint8_t* p, uint64_t from, uint64_t to, Destination destination, uint64_t words) {
    const auto lab = static_cast<unsigned>(destination);
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

class MoveReader {
 public:
  uint64_t from = 0, to = 0;

  bool Read(WireReader& in) {
    const uint64_t v = in.Uv();
    lab_ = v & 1;
    from = from_end_ + static_cast<uint64_t>(Unzigzag(v >> 2));
    to = to_end_[lab_];
    if ((v & 2) != 0) to += static_cast<uint64_t>(in.Sv());
    return in.ok();
  }
  void EndsAfter(uint64_t words) {
    from_end_ = from + words;
    to_end_[lab_] = to + words;
  }

 private:
  uint64_t from_end_ = 0, to_end_[2] = {0, 0}, lab_ = 0;
};

// A move of an object from a skipped range, with the object's site-class pair and length, which were not known.
class FoundEncoder {
 public:
  static constexpr size_t kRoom = MoveEncoder::kRoom + 2 * kMaxUvBytes;

  void Reset() { move_.Reset(); }

  uint8_t* Found(uint8_t* p, uint64_t from, uint64_t to, Destination destination, uint64_t words,
                 uint32_t site_class, uint32_t length) {
    p = move_.Move(p, from, to, destination, words);
    p = PutUv(p, site_class);
    return PutUv(p, length);
  }

 private:
  MoveEncoder move_;
};

class FoundReader : public MoveReader {
 public:
  uint64_t site_class = 0, length = 0;

  bool Read(WireReader& in) {
    MoveReader::Read(in);
    site_class = in.Uv();
    length = in.Uv();
    return in.ok();
  }
};

class SlideEncoder {
 public:
  // For one run. Finish needs as much again: have 2 * kRoom free.
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
  uint64_t from_ = 0, to_ = 0;            // start of the pending run
  uint64_t from_next_ = 0, to_next_ = 0;  // its end
  uint64_t from_end_ = 0, to_end_ = 0;    // end of the run that was written last
};

// A record is a run of objects; call EndsAfter for each of them. No encoder writes a count above
// kMaxRunObjects.
class SlideReader {
 public:
  uint64_t count = 0, from = 0, to = 0;

  bool Read(WireReader& in) {
    count = in.Uv();
    from += static_cast<uint64_t>(in.Sv());
    to += static_cast<uint64_t>(in.Sv());
    return in.ok();
  }
  void EndsAfter(uint64_t words) {
    from += words;
    to += words;
  }
};

class FillerEncoder {
 public:
  static constexpr size_t kRoom = 3 * kMaxUvBytes;

  void Reset() { end_ = 0; }

  uint8_t* Filler(uint8_t* p, uint64_t at, uint32_t site_class, uint32_t length, uint64_t words) {
    p = PutSv(p, static_cast<int64_t>(at - end_));
    p = PutUv(p, site_class);
    p = PutUv(p, length);
    end_ = at + words;
    return p;
  }

 private:
  uint64_t end_ = 0;
};

class FillerReader {
 public:
  uint64_t at = 0, site_class = 0, length = 0;

  bool Read(WireReader& in) {
    at += static_cast<uint64_t>(in.Sv());
    site_class = in.Uv();
    length = in.Uv();
    return in.ok();
  }
  void EndsAfter(uint64_t words) { at += words; }
};

}  // namespace anttracks::trace
