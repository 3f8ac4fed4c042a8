// SPDX-License-Identifier: Apache-2.0
// The compressed form of a chunk with objects: its columns apart, and only what a predictor does not foresee.
//
//     payload --SplitColumns--> parts --Snappy, each--> file;  file --> parts --JoinColumns--> payload, byte
//     for byte
//
// The parts are: everything that is no column (segments' heads and other segments); one bit an object, whether
// it came as foreseen; the ids of the others; their lengths. docs/trace-format.md, "Columns", is the
// specification.
//
// The predictor foresees id and length of an object from the ids of the two before it, whatever thread and run
// they are of. It begins anew with each chunk, so that chunks can be decoded by themselves.
//
// Thread safety: none. Ownership: a codec owns its parts until its next call; use it again, to use its memory
// again. Failure: may throw std::bad_alloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/status.h"
#include "trace/wire.h"

namespace anttracks::trace {

// Foresees an object: its id, and its length, 0 for one without.
class Predictor {
 public:
  // What the next object is foreseen from. For loops to keep in registers.
  struct State {
    uint32_t slot = 0;
    uint32_t before = 0;  // the last id, hashed
  };
  State& state() { return state_; }

  void Reset() {
    table_.fill(0);
    state_ = State();
  }
  // Id in the lower 16 bits, length above. Id 0: never seen.
  uint64_t Foreseen(const State& state) const { return table_[state.slot]; }
  void Came(State& state, uint64_t object) {
    table_[state.slot] = object;
    const uint32_t id = object & 0xFFFF;
    state.slot = ((id * 0x9E3779B1u) ^ state.before) >> (32 - kTableBits);
    state.before = id * 0x85EBCA77u;
  }

 private:
  static constexpr unsigned kTableBits = 12;
  std::array<uint64_t, size_t{1} << kTableBits> table_{};
  State state_;
};

class ColumnSplitter {
 public:
  // False: the payload has no objects, or is malformed.
  bool Split(std::span<const uint8_t> payload);
  static constexpr size_t kParts = 4;
  // Of the last payload.
  std::array<std::span<const uint8_t>, kParts> parts() const;

 private:
  bool Runs(WireReader& in);
  void Run(const uint8_t* ids, size_t objects, const uint8_t* lengths);

  Predictor predictor_;
  ByteBuffer rest_, lengths_;
  // Larger than what is in them.
  ByteBuffer bits_, ids_;
  ByteBuffer missed_;  // lengths before they are packed
  size_t objects_ = 0, missed_ids_ = 0;
};

class ColumnJoiner {
 public:
  // Into exactly raw_bytes at out. The error says what does not fit together; out's bytes are lost then.
  Status Join(const std::array<std::span<const uint8_t>, ColumnSplitter::kParts>& parts, size_t raw_bytes,
              uint8_t* out);

 private:
  Predictor predictor_;
};

}  // namespace anttracks::trace
