// SPDX-License-Identifier: Apache-2.0
// A count with one writer at a time, readable by anyone at any time, at the price of a plain integer.
//
// Thread safety: Add by one thread at a time; value by all. Relaxed is enough: a count orders nothing.
#pragma once

#include <atomic>
#include <cstdint>

namespace anttracks::core {

class Counter {
 public:
  void Add(uint64_t n) { value_.store(value() + n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace anttracks::core
