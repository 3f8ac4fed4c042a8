// SPDX-License-Identifier: Apache-2.0
// Reads stretches of TLABs into columns: the headers of objects that lie one behind the other, several
// stretches side by side.
//
// Where the next object lies is known only when the header of the one before it has been read and its size
// looked up, so one stretch is a chain of dependent loads. Several independent chains keep the processor busy:
// a quarter of the time an object (docs/decisions). No branch depends on what an object is: a length is masked,
// and the columns advance by what the object has.
//
// Thread safety: none; one walker belongs to one call. Ownership: borrows all. Units: bytes, addresses as
// numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "agent/base/stretch.h"
#include "agent/heap/layout_table.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

// Where the columns of a stretch go on; see trace/object_runs.h.
struct Columns {
  uint16_t* ids = nullptr;
  uint32_t* lengths = nullptr;

  void Put(uint32_t site_class, uint32_t length, bool has_length) {
    const uint16_t id = trace::IdOf(site_class, has_length);
    *ids++ = id;
    if (trace::IsWide(id)) *lengths++ = site_class;
    if (has_length) *lengths++ = length;
  }
};

inline constexpr unsigned kLanes = 4;

// Entries that the columns of a stretch need room for: an object takes 16 bytes or more. One more length is
// written than there are.
constexpr size_t MostIds(const Stretch& stretch) { return (stretch.top - stretch.start) / 16 + 1; }
constexpr size_t MostLengths(const Stretch& stretch) { return 2 * MostIds(stretch) + 1; }

template <class T>
inline T LoadAt(uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

// Other threads lock, unlock and inflate the object meanwhile. What makes the rest of it visible is that it was
// reported.
inline uint64_t LoadMark(uint64_t address) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(address), __ATOMIC_RELAXED);
}

// Classes have 4 bytes in the header, lengths of arrays follow them, and objects are aligned to 8 bytes.
inline bool PlainHeaders(const AntTracksVM& vm) {
  return vm.klass_bytes == 4 && vm.klass_offset == 8 && vm.array_length_offset == 12 &&
         vm.object_alignment == 8;
}

// Resolver: uint64_t(uint64_t address, Columns*), for what the table does not know. It puts the object into the
// columns and gives its bytes, or 0 to give up.
//
// kPlain: see PlainHeaders; without it everything is left to the resolver.
template <bool kPlain, class Resolver>
class TlabWalker {
 public:
  TlabWalker(const LayoutTable& layouts, Resolver resolver)
      : entries_(layouts.entries()), sites_(layouts.sites()), resolver_(resolver) {}

  // Reads all lanes: the objects that begin in stretches[i] go to out[i], at[i] is where the last one ends.
  // False: the resolver gave up, and at and out mean nothing.
  bool Read(const Stretch (&stretches)[kLanes], Columns (&out)[kLanes], uint64_t (&at)[kLanes]) {
    Lane a(stretches[0], out[0]), b(stretches[1], out[1]), c(stretches[2], out[2]), d(stretches[3], out[3]);
    bool read = true;
    while (read && (a.More() & b.More() & c.More() & d.More())) read = Step(a) && Step(b) && Step(c) && Step(d);
    while (read && a.More()) read = Step(a);
    while (read && b.More()) read = Step(b);
    while (read && c.More()) read = Step(c);
    while (read && d.More()) read = Step(d);
    a.Store(&out[0], &at[0]);
    b.Store(&out[1], &at[1]);
    c.Store(&out[2], &at[2]);
    d.Store(&out[3], &at[3]);
    return read;
  }

 private:
  static constexpr uint64_t kMarkBits = 3, kUnlocked = 1;

  // Without an address that is taken, so that it stays in registers.
  struct Lane {
    Lane(const Stretch& stretch, const Columns& columns)
        : at(stretch.start), top(stretch.top), ids(columns.ids), lengths(columns.lengths) {}
    bool More() const { return at < top; }
    void Store(Columns* out, uint64_t* end) const {
      *out = {ids, lengths};
      *end = at;
    }

    uint64_t at, top;
    uint16_t* ids;
    uint32_t* lengths;
  };

  [[gnu::always_inline]] bool Step(Lane& lane) {
    const uint64_t mark = LoadMark(lane.at);
    const auto klass_and_length = LoadAt<uint64_t>(lane.at + 8);
    const uint64_t site = mark >> ANTTRACKS_SITE_SHIFT;
    const LayoutTable::Entry& entry = entries_[site < sites_ ? site : 0];
    if (!kPlain || !entry.Is(static_cast<uint32_t>(klass_and_length)) || (mark & kMarkBits) != kUnlocked)
        [[unlikely]] {
      lane = Resolve(lane);
      return lane.at != 0;
    }
    const uint32_t length = static_cast<uint32_t>(klass_and_length >> 32) & entry.length_mask;
    *lane.ids++ = entry.id;
    *lane.lengths = length;
    lane.lengths += entry.is_array;
    lane.at += (entry.base_bytes + (uint64_t{length} << entry.log2) + 7) & ~uint64_t{7};
    return true;
  }

  // By value: see Lane. at 0: the resolver gave up.
  [[gnu::noinline]] Lane Resolve(Lane lane) {
    Columns columns{lane.ids, lane.lengths};
    const uint64_t bytes = resolver_(lane.at, &columns);
    lane.at = bytes == 0 ? 0 : lane.at + bytes;
    lane.ids = columns.ids;
    lane.lengths = columns.lengths;
    return lane;
  }

  const LayoutTable::Entry* const entries_;
  const uint64_t sites_;
  Resolver resolver_;
};

}  // namespace anttracks::core
