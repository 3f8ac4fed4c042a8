// SPDX-License-Identifier: Apache-2.0
// Memory that ends: while one lives, this thread's allocations but the first `good` throw std::bad_alloc.
//
// Thread safety: each thread has its own. One at a time in a thread.
#pragma once

#include <cstddef>

namespace anttracks::core {

class FailingMemory {
 public:
  explicit FailingMemory(size_t good);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  // Whether an allocation failed.
  bool failed() const;
};

}  // namespace anttracks::core
