// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/page_memory.h"

#include <cstdlib>
#include <new>

namespace anttracks::analyzer {
namespace {

constexpr size_t kUnit = 16, kSlabBytes = 64 << 10;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kFromSystem = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kFromSystem = true;
#else
constexpr bool kFromSystem = false;
#endif
#else
constexpr bool kFromSystem = false;
#endif

struct Block {
  Block* next;
};

struct Store {
  Block* free[PageMemory::kMostBytes / kUnit + 1];  // by units
  char* slab;                                       // what nobody has had yet
  size_t left;
};

thread_local Store store;

size_t Units(size_t bytes) { return (bytes + kUnit - 1) / kUnit; }

void* FromSystem(size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* PageMemory::Take(size_t bytes) {
  if constexpr (kFromSystem) return FromSystem(bytes);
  const size_t units = Units(bytes);
  Block*& first = store.free[units];
  if (Block* const block = first; block != nullptr) {
    first = block->next;
    __builtin_prefetch(first, 1);  // it was used last when the eden before died
    return block;
  }
  if (store.left < units * kUnit) {
    store.slab = static_cast<char*>(FromSystem(kSlabBytes));
    store.left = kSlabBytes;
  }
  void* const memory = store.slab;
  store.slab += units * kUnit;
  store.left -= units * kUnit;
  return memory;
}

void PageMemory::Give(void* memory, size_t bytes) noexcept {
  if constexpr (kFromSystem) {
    std::free(memory);
    return;
  }
  if (memory == nullptr) return;
  auto* const block = static_cast<Block*>(memory);
  Block*& first = store.free[Units(bytes)];
  block->next = first;
  first = block;
}

}  // namespace anttracks::analyzer
