// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/analyzer/cost.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> live{0}, peak{0}, allocated{0};

}  // namespace

void* operator new(size_t size) {
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  const size_t bytes = ::malloc_usable_size(memory);
  allocated += bytes;
  const size_t now = live += bytes;
  if (now > peak) peak = now;
  return memory;
}

void operator delete(void* memory) noexcept {
  if (memory != nullptr) live -= ::malloc_usable_size(memory);
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace anttracks::testing {

Cost::Cost() : live_(live), allocated_(::allocated) { ::peak = live_; }
size_t Cost::peak() const { return ::peak - live_; }
size_t Cost::allocated() const { return ::allocated - allocated_; }

}  // namespace anttracks::testing
