// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/analyzer/cost.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> live{0}, peak{0}, allocated{0};

}  // namespace

// All forms without an alignment, as those of a sanitizer do not lead here.
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

void* operator new[](size_t size) { return operator new(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](size_t size, const std::nothrow_t& none) noexcept { return operator new(size, none); }
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete[](void* memory, size_t) noexcept { operator delete(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { operator delete(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { operator delete(memory); }

namespace anttracks::testing {

Cost::Cost() : live_(live), allocated_(::allocated) { ::peak = live_; }
size_t Cost::peak() const { return ::peak - live_; }
size_t Cost::allocated() const { return ::allocated - allocated_; }

}  // namespace anttracks::testing
