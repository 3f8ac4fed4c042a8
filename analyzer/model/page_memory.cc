// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/page_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace anttracks::analyzer {
namespace {

constexpr size_t kUnit = 16, kCacheLine = 64, kSlabBytes = 2 << 20;

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

struct Store;

// Stands at the begin of its memory, which is aligned to its size.
struct alignas(kUnit) Slab {
  Slab* next;
  Store* owner;
  size_t used;  // blocks
};

struct Store {
  Block* free[PageMemory::kMostBytes / kUnit + 1];  // by units
  Slab* slabs;                                      // the newest first
  char* fresh;                                      // what nobody has had yet, of the newest slab
  size_t left;
};

thread_local Store store;

size_t Units(size_t bytes) { return (bytes + kUnit - 1) / kUnit; }

Slab* SlabOf(void* block) {
  return reinterpret_cast<Slab*>(reinterpret_cast<uintptr_t>(block) & ~(kSlabBytes - 1));
}

void* FromSystem(size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Of twice its size one part is aligned; the rest goes back.
void AddSlab() {
  void* const mapped =
      mmap(nullptr, 2 * kSlabBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<char*>(mapped);
  auto* const slab = reinterpret_cast<char*>(SlabOf(begin + kSlabBytes - 1));
  if (slab != begin) munmap(begin, static_cast<size_t>(slab - begin));
  munmap(slab + kSlabBytes, static_cast<size_t>(begin + kSlabBytes - slab));
  // Objects are looked up all over the heap; with small pages each look-up would walk the page table. The first
  // slab has small ones: a small heap takes no more than it needs.
  madvise(slab, kSlabBytes, store.slabs == nullptr ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  store.slabs = new (slab) Slab{store.slabs, &store, 0};
  store.fresh = slab + sizeof(Slab);
  store.left = kSlabBytes - sizeof(Slab);
}

}  // namespace

void* PageMemory::Take(size_t bytes) {
  if constexpr (kFromSystem) return FromSystem(bytes);
  const size_t units = Units(bytes);
  Block*& first = store.free[units];
  if (Block* const block = first; block != nullptr) {
    first = block->next;
    // It was used last when the eden before died.
    const auto* const next = reinterpret_cast<const char*>(first);
    for (size_t i = 0; next != nullptr && i < bytes; i += kCacheLine) __builtin_prefetch(next + i, 1);
    SlabOf(block)->used++;
    return block;
  }
  if (store.left < units * kUnit) AddSlab();
  void* const memory = store.fresh;
  store.fresh += units * kUnit;
  store.left -= units * kUnit;
  store.slabs->used++;
  return memory;
}

void PageMemory::Give(void* memory, size_t bytes) noexcept {
  if constexpr (kFromSystem) {
    std::free(memory);
    return;
  }
  if (memory == nullptr) return;
  Slab* const slab = SlabOf(memory);
  slab->used--;
  if (slab->owner != &store) return;
  auto* const block = static_cast<Block*>(memory);
  Block*& first = store.free[Units(bytes)];
  block->next = first;
  first = block;
}

void PageMemory::Trim() noexcept {
  for (const Slab* slab = store.slabs; slab != nullptr; slab = slab->next) {
    if (slab->used != 0) return;
  }
  for (Slab* slab = store.slabs; slab != nullptr;) {
    Slab* const next = slab->next;
    munmap(slab, kSlabBytes);
    slab = next;
  }
  store = {};
}

size_t PageMemory::SlabBytes() noexcept {
  size_t bytes = 0;
  for (const Slab* slab = store.slabs; slab != nullptr; slab = slab->next) bytes += kSlabBytes;
  return bytes;
}

}  // namespace anttracks::analyzer
