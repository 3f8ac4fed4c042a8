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

  void Reset() {
    table_.fill(ObjectShape{});
    t1_ = t2_ = 0;
    slot_ = Slot(0, 0);
  }

  // Kind 0: nothing to predict from.
  const ObjectShape& Predict() const { return table_[slot_]; }

  // The object that came, however it was coded.
  void Update(uint32_t kind, uint32_t length) {
    table_[slot_] = ObjectShape{kind, length};
    t2_ = t1_;
    t1_ = kind;
    slot_ = Slot(t1_, t2_);
  }
  // The same, when the object came as predicted: the table holds it already.
  void Confirm(uint32_t kind) {
    t2_ = t1_;
    t1_ = kind;
    slot_ = Slot(t1_, t2_);
  }

 private:
  static constexpr uint32_t Slot(uint32_t t1, uint32_t t2) {
    return ((t1 * 0x9E3779B1u) ^ (t2 * 0x85EBCA77u)) >> (32 - kTableBits);
  }

  std::array<ObjectShape, size_t{1} << kTableBits> table_{};
  uint32_t t1_ = 0, t2_ = 0;
  uint32_t slot_ = Slot(0, 0);
};

}  // namespace anttracks::trace
