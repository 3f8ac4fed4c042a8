// SPDX-License-Identifier: Apache-2.0
// Reads TLAB stretches into columns, from the headers of their objects; several stretches side by side.
//
// The place of an object follows from the header and the size of the object before it, so reading one stretch
// is a chain of dependent loads. Several independent chains keep the processor busy, and take a quarter of the
// time per object (docs/decisions). No branch depends on the kind of object: its length is masked, and the
// columns advance by the number of entries that the object has.
//
// Thread safety: none; a walker is made for one call. Ownership: borrows everything. Units: byte addresses, as
// numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "agent/base/address_range.h"
#include "agent/heap/layout_table.h"
#include "agent/heap/site_of_mark.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

// Where the next entries of a stretch's columns go; see trace/object_runs.h.
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

// How many entries a stretch's columns need room for. The walker writes one length more than there are.
constexpr size_t MostIds(const AddressRange& stretch, size_t least_object_bytes) {
  return (stretch.top - stretch.start) / least_object_bytes + 1;
}
constexpr size_t MostLengths(size_t ids) { return 2 * ids + 1; }

template <class T>
inline T LoadAt(uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

// Atomic, since other threads may lock, unlock and inflate the object meanwhile. Relaxed: the report of the
// stretch has made the rest of the object visible.
inline uint64_t LoadMark(uint64_t address) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(address), __ATOMIC_RELAXED);
}

// Of all objects: with compact headers some have nothing but the mark.
inline size_t LeastObjectBytes(const AntTracksVM& vm) { return vm.klass_shift == 0 ? 16 : 8; }

// Whether class pointers have 4 bytes or lie in the mark, an array's length follows the class pointer or the
// mark, and objects are aligned to 8 bytes.
inline bool PlainHeaders(const AntTracksVM& vm) {
  const bool compact = vm.klass_shift != 0;
  return vm.klass_bytes == 4 && (compact || vm.klass_offset == 8) &&
         vm.array_length_offset == (compact ? 8 : 12) && vm.object_alignment == 8;
}

// Resolver: uint64_t(uint64_t address, Columns*), called for objects that the table does not have. It adds the
// object to the columns and returns its size in bytes; 0: give up.
//
// mark_site: AntTracksVM::mark_site, for marks that are neutral, but not plain: in scheme ash those of objects
// with a hash code, of which there may be many.
//
// kSites: kNeverPlain unless headers are plain (PlainHeaders). The resolver is then called for every object.
template <SiteBits kSites, class Resolver>
class TlabWalker {
 public:
  TlabWalker(const LayoutTable& layouts, decltype(AntTracksVM::mark_site) mark_site, Resolver resolver)
      : entries_(layouts.entries()), sites_(layouts.sites()), mark_site_(mark_site), resolver_(resolver) {}

  // Reads all lanes: the objects that begin in stretches[i] go to out[i]; at[i] is the end of the last one.
  // False: the resolver gave up; at and out are then undefined.
  bool Read(const AddressRange (&stretches)[kLanes], Columns (&out)[kLanes], uint64_t (&at)[kLanes]) {
    Lane a(stretches[0], out[0]), b(stretches[1], out[1]), c(stretches[2], out[2]), d(stretches[3], out[3]);
    const Table table{entries_, sites_};
    bool read = true;
    while (read && (a.More() & b.More() & c.More() & d.More()))
      read = Step(table, a) && Step(table, b) && Step(table, c) && Step(table, d);
    while (read && a.More()) read = Step(table, a);
    while (read && b.More()) read = Step(table, b);
    while (read && c.More()) read = Step(table, c);
    while (read && d.More()) read = Step(table, d);
    a.Store(&out[0], &at[0]);
    b.Store(&out[1], &at[1]);
    c.Store(&out[2], &at[2]);
    d.Store(&out[3], &at[3]);
    return read;
  }

 private:
  // Nobody takes its address, so that it can be in registers.
  struct Lane {
    Lane(const AddressRange& stretch, const Columns& columns)
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

  // As members they would be loaded again for each object.
  struct Table {
    const LayoutTable::Entry* entries;
    uint64_t sites;
  };

  [[gnu::always_inline]] bool Step(Table table, Lane& lane) {
    if constexpr (kSites == kNeverPlain) {
      lane = Resolve(lane);
      return lane.at != 0;
    }
    const uint64_t mark = LoadMark(lane.at);
    uint64_t beside = 0;  // the word behind the mark, which every object has unless that has the class
    if constexpr (kSites.klass_bit == 0) beside = LoadAt<uint64_t>(lane.at + 8);
    const uint32_t klass = kSites.klass_bit == 0 ? static_cast<uint32_t>(beside) : kSites.KlassOf(mark);
    uint64_t site = kSites.SiteOf(mark);
    if (!kSites.IsPlain(mark)) [[unlikely]] site = SiteOfOdd(mark);
    const LayoutTable::Entry& entry = table.entries[site < table.sites ? site : 0];
    if (!entry.Is(klass)) [[unlikely]] {
      lane = Resolve(lane);
      return lane.at != 0;
    }
    uint32_t length = 0;
    if constexpr (kSites.klass_bit == 0) {
      length = static_cast<uint32_t>(beside >> 32) & entry.length_mask;
    } else {
      // Behind the mark of an object that is no array there may be no memory.
      length = LoadAt<uint32_t>(lane.at + (entry.length_mask & 8)) & entry.length_mask;
    }
    const uint64_t bytes = (entry.base_bytes + (uint64_t{length} << entry.log2) + 7) & ~uint64_t{7};
    // Memory without a class, which is no object, is like an entry that is not in use.
    if (bytes == 0) [[unlikely]] {
      lane = Resolve(lane);
      return lane.at != 0;
    }
    *lane.ids++ = entry.id;
    *lane.lengths = length;
    lane.lengths += entry.is_array;
    lane.at += bytes;
    return true;
  }

  // Of a mark that is not plain; ANTTRACKS_SITE_NONE, of which the table has no entry, also where only the
  // resolver can tell.
  [[gnu::noinline]] uint64_t SiteOfOdd(uint64_t mark) const {
    if ((mark & kLockBits) != kNeutral) return ANTTRACKS_SITE_NONE;
    return mark_site_(mark);
  }

  // By value: see Lane. If at is 0 the resolver gave up.
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
  const decltype(AntTracksVM::mark_site) mark_site_;
  Resolver resolver_;
};

}  // namespace anttracks::core
