// SPDX-License-Identifier: Apache-2.0
// A hash table by ids of a trace or dump. The hash function differs from run to run, so that no file can be
// made whose ids all collide.
//
// Thread safety: that of std::unordered_map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <unordered_map>

namespace anttracks::analyzer {

struct IdHash {
  size_t operator()(uint64_t id) const {
    const uint64_t mixed = (id ^ (id >> 32)) * Multiplier();
    return static_cast<size_t>(mixed ^ (mixed >> 32));
  }
  static uint64_t Multiplier() {
    static const uint64_t multiplier = [] {
      std::random_device device;
      return (uint64_t{device()} << 32 | device()) | 1;
    }();
    return multiplier;
  }
};

template <class T>
using IdMap = std::unordered_map<uint64_t, T, IdHash>;

}  // namespace anttracks::analyzer
