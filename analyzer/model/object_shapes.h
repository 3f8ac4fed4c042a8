// SPDX-License-Identifier: Apache-2.0
// The table of object shapes: a site-class pair and a length, so that an object is one number.
//
// The hash function differs from run to run, so that no trace can be made whose shapes all collide; the numbers
// do not depend on it.
//
// Thread safety: none. Units: words of 8 bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

namespace anttracks::analyzer {

struct ObjectShape {
  uint32_t site_class = 0;
  uint32_t length = 0;
  uint32_t words = 0;
};

class ObjectShapes {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  ObjectShapes() : slots_(1024, kNone) {}

  const ObjectShape& operator[](uint32_t id) const { return shapes_[id]; }
  uint32_t words(uint32_t id) const { return shapes_[id].words; }
  uint32_t size() const { return static_cast<uint32_t>(shapes_.size()); }

  // The shape's number; kNone: it is not in the table.
  uint32_t Find(uint32_t site_class, uint32_t length) const {
    for (size_t i = Hash(site_class, length);; i++) {
      const uint32_t id = slots_[i & (slots_.size() - 1)];
      if (id == kNone) return kNone;
      if (shapes_[id].site_class == site_class && shapes_[id].length == length) return id;
    }
  }

  // The shape must not be in the table.
  uint32_t Add(const ObjectShape& shape) {
    const uint32_t id = size();
    shapes_.push_back(shape);
    if (shapes_.size() * 2 > slots_.size()) {
      Rehash();
    } else {
      Place(id);
    }
    return id;
  }

  uint64_t MemoryBytes() const {
    return shapes_.capacity() * sizeof(ObjectShape) + slots_.capacity() * sizeof(uint32_t);
  }

 private:
  // Universal hashing: the upper bits of the product with a random odd number.
  size_t Hash(uint32_t site_class, uint32_t length) const {
    return static_cast<size_t>(((uint64_t{site_class} << 32 | length) * multiplier_) >> shift_);
  }
  static uint64_t Random() {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }
  void Place(uint32_t id) {
    size_t i = Hash(shapes_[id].site_class, shapes_[id].length);
    while (slots_[i & (slots_.size() - 1)] != kNone) i++;
    slots_[i & (slots_.size() - 1)] = id;
  }
  void Rehash() {
    slots_.assign(slots_.size() * 2, kNone);
    shift_ = 64 - std::countr_zero(slots_.size());
    for (uint32_t id = 0; id < size(); id++) Place(id);
  }

  uint64_t multiplier_ = Random() | 1;
  std::vector<ObjectShape> shapes_;
  std::vector<uint32_t> slots_;
  int shift_ = 64 - 10;  // 64 - log2 of the number of slots
};

}  // namespace anttracks::analyzer
