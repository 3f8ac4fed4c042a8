// SPDX-License-Identifier: Apache-2.0
// Predicts kind and length of the next object from the kinds of the last two. Encoder and decoder run the
// same one; docs/trace-format.md, "Predictor", is the specification.
//
// Thread safety: none. 32 KiB each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace anttracks::trace {

struct ObjectShape {
  uint32_t kind = 0;
  uint32_t length = 0;
  bool operator==(const ObjectShape&) const = default;
};

class Predictor {
 public:
  static constexpr unsigned kTableBits = 12;

  // What the prediction is made from: the kinds of the last two objects.
  struct State {
    uint32_t t1 = 0, t2 = 0;
    uint32_t slot = 0;

    void Push(uint32_t kind) {
      t2 = t1;
      t1 = kind;
      slot = ((t1 * 0x9E3779B1u) ^ (t2 * 0x85EBCA77u)) >> (32 - kTableBits);
    }
  };

  void Reset() {
    table_.fill(ObjectShape{});
    state_ = State();
  }

  // Kind 0: nothing to predict from.
  const ObjectShape& Predict() const { return Predict(state_); }

  // The object that came, however it was coded.
  void Update(uint32_t kind, uint32_t length) {
    Learn(state_, kind, length);
    state_.Push(kind);
  }
  // The same, when the object came as predicted: the table holds it already.
  void Confirm(uint32_t kind) { state_.Push(kind); }

  // For loops that keep the state in registers.
  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }
  const ObjectShape& Predict(const State& state) const { return table_[state.slot]; }
  void Learn(const State& state, uint32_t kind, uint32_t length) { table_[state.slot] = {kind, length}; }

 private:
  std::array<ObjectShape, size_t{1} << kTableBits> table_{};
  State state_;
};

}  // namespace anttracks::trace
