// SPDX-License-Identifier: Apache-2.0
// Bytes written by hand, and a buffer for encoders that write through a pointer.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace anttracks::trace {

using Bytes = std::vector<uint8_t>;

inline Bytes B(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<uint8_t>(value));
  return bytes;
}

inline Bytes ToBytes(std::span<const uint8_t> span) { return {span.begin(), span.end()}; }

struct Output {
  uint8_t room[4096] = {};
  uint8_t* p = room;
  Bytes bytes() const { return {room, const_cast<const uint8_t*>(p)}; }
};

}  // namespace anttracks::trace
