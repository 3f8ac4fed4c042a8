// SPDX-License-Identifier: Apache-2.0
// The compressed form of a chunk with objects: each column is stored separately, and only the objects that a
// predictor did not predict are stored.
//
//     payload --ColumnSplitter--> parts --Snappy, each--> file;  file --> parts --ColumnJoiner--> payload,
//     byte for byte
//
// The parts are: everything outside columns (heads of segments, and other segments); one bit per object,
// whether it was predicted; the ids of the objects that were not; their lengths. Specification:
// docs/trace-format.md, "Columns".
//
// The predictor predicts an object's id and length from the ids of the two objects before it in the chunk,
// whatever their thread and run. It is reset at each chunk, so that every chunk can be decoded by itself.
//
// Thread safety: none. Ownership: a splitter or joiner owns its parts until its next call; reuse it to reuse
// its memory. Failure: may throw std::bad_alloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/status.h"
#include "trace/wire.h"

namespace anttracks::trace {

// Predicts the next object: its id, and its length (0 if it has none).
class Predictor {
 public:
  // What the prediction depends on. Loops copy it, to have it in registers.
  struct State {
    uint32_t slot = 0;
    uint32_t before = 0;  // the last id, hashed
  };
  State& state() { return state_; }

  void Reset() {
    table_.fill(0);
    state_ = State();
  }
  // Id in the lower 16 bits, length above them. Id 0: no prediction.
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
  // The parts of the last payload.
  std::array<std::span<const uint8_t>, kParts> parts() const;

 private:
  bool Runs(WireReader& in);
  void Run(const uint8_t* ids, size_t objects, const uint8_t* lengths);

  Predictor predictor_;
  ByteBuffer rest_;
  ByteBuffer bits_, ids_, lengths_;  // larger than their contents
  ByteBuffer missed_;                // lengths before they are packed
  size_t objects_ = 0, missed_ids_ = 0, length_bytes_ = 0;
};

class ColumnJoiner {
 public:
  // Writes exactly raw_bytes to out. Error: the parts contradict each other; out then has undefined contents.
  Status Join(const std::array<std::span<const uint8_t>, ColumnSplitter::kParts>& parts, size_t raw_bytes,
              uint8_t* out);

 private:
  Predictor predictor_;
};

}  // namespace anttracks::trace
