// SPDX-License-Identifier: Apache-2.0
// Reads stretches of TLABs: the headers of objects that lie one behind the other, several stretches side by side.
//
// Where the next object lies is known only when the header of the one before it has been read and its size
// looked up, so one stretch is a chain of dependent loads. Several independent chains keep the processor busy: a quarter of
// the time an object (docs/decisions).
//
// Thread safety: none; one reader belongs to one call. Ownership: borrows all. Units: bytes, addresses as numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <tuple>

#include "agent/core/kind_table.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

// Objects that lie in [start, top).
struct Stretch {
  uint64_t start = 0, top = 0;
};

// An object as it was read.
struct PlainObject {
  uint32_t kind = 0;  // with kHasLength
  uint32_t length = 0;
  uint32_t words = 0;  // size
  static constexpr uint32_t kHasLength = 1u << 31;

  // Kind id, length, has a length.
  std::tuple<uint32_t, uint32_t, bool> Unpacked() const {
    return {kind & ~kHasLength, length, (kind & kHasLength) != 0};
  }
};

// Of objects that lie one behind the other.
inline uint64_t BytesOf(std::span<const PlainObject> objects) {
  uint64_t words = 0;
  for (const PlainObject& object : objects) words += object.words;
  return words * 8;
}

inline constexpr unsigned kLanes = 4;

template <class T>
inline T LoadAt(uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

// Other threads lock, unlock and inflate the object meanwhile. What makes the rest of it visible is that it was reported.
inline uint64_t LoadMark(uint64_t address) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(address), __ATOMIC_RELAXED);
}

// Resolver: uint64_t(KindCache&, uint64_t address, PlainObject*), for what the cache does not know. It gives the
// object's bytes, or 0 to give up.
template <bool kNarrow, class Resolver>
class StretchReader {
 public:
  StretchReader(const AntTracksVM& vm, KindCache& cache, Resolver resolver)
      : klass_at_(vm.klass_offset),
        length_at_(vm.array_length_offset),
        align_(vm.object_alignment - 1),
        cache_(cache),
        resolver_(resolver) {}

  // Reads all lanes: out[i] gets the objects that begin in stretches[i], counts[i] their number, at[i] where the last
  // one ends. out[i] must have room for one object in 16 bytes. False: the resolver gave up.
  bool Read(const Stretch (&stretches)[kLanes], PlainObject* const (&out)[kLanes], uint32_t (&counts)[kLanes],
            uint64_t (&at)[kLanes]) {
    for (unsigned i = 0; i < kLanes; i++) at[i] = stretches[i].start;
    uint32_t n = 0;
    while (true) {
      bool all = true;
      for (unsigned i = 0; i < kLanes; i++) all &= at[i] < stretches[i].top;
      if (!all) break;
#pragma GCC unroll 8
      for (unsigned i = 0; i < kLanes; i++) {
        if (!Step(&at[i], out[i] + n)) [[unlikely]] return false;
      }
      n++;
    }
    for (unsigned i = 0; i < kLanes; i++) {
      counts[i] = n;
      while (at[i] < stretches[i].top) {
        if (!Step(&at[i], out[i] + counts[i])) return false;
        counts[i]++;
      }
    }
    return true;
  }

 private:
  static constexpr uint64_t kMarkBits = 3, kUnlocked = 1, kWordBytes = 8;

  bool Step(uint64_t* address, PlainObject* object) {
    const uint64_t at = *address;
    const uint64_t mark = LoadMark(at);
    const auto klass = LoadAt<uint32_t>(at + klass_at_);
    const auto site = static_cast<uint32_t>(mark >> ANTTRACKS_SITE_SHIFT);
    const KindCache::Entry& entry = cache_.At(site, klass);
    if (!kNarrow || !entry.Is(site, klass) || (mark & kMarkBits) != kUnlocked) [[unlikely]] {
      const uint64_t bytes = resolver_(cache_, at, object);
      object->words = static_cast<uint32_t>(bytes / kWordBytes);
      *address = at + bytes;
      return bytes != 0;
    }
    // Without a branch on the kind of object; for one without a length the mask makes it 0.
    object->length = LoadAt<uint32_t>(at + length_at_) & entry.length_mask();
    object->kind = entry.kind() | (entry.length_mask() & PlainObject::kHasLength);
    const uint64_t bytes = (entry.base() + (uint64_t{object->length} << entry.log2()) + align_) & ~align_;
    object->words = static_cast<uint32_t>(bytes / kWordBytes);
    *address = at + bytes;
    return true;
  }

  const uint64_t klass_at_, length_at_, align_;
  KindCache& cache_;
  Resolver resolver_;
};

}  // namespace anttracks::core
