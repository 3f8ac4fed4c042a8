// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/agent/failing_memory.h"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

thread_local bool limited = false;
thread_local size_t left = 0;
thread_local size_t failures = 0;

}  // namespace

// All forms without an alignment, as those of a sanitizer do not lead here.
void* operator new(size_t bytes) {
  if (limited && left-- == 0) {
    left = 0;
    failures++;
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](size_t bytes, const std::nothrow_t& none) noexcept { return operator new(bytes, none); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace anttracks::core {

FailingMemory::FailingMemory(size_t good) {
  left = good;
  failures = 0;
  limited = true;
}
FailingMemory::~FailingMemory() { limited = false; }
bool FailingMemory::failed() const { return failures != 0; }

}  // namespace anttracks::core
