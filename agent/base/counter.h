// SPDX-License-Identifier: Apache-2.0
// A count that one thread at a time increases and any thread may read. Costs as much as a plain integer.
//
// Thread safety: Add by one thread at a time; value by any thread. Relaxed is enough: a count orders nothing.
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
