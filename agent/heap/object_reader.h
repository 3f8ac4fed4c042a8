// SPDX-License-Identifier: Apache-2.0
// Reads objects where they lie: one header, or stretches of objects that lie one behind the other.
//
// What a walk meets for the first time is asked of the VM and gets an id (Definitions); later it is found in
// tables.
//
// Thread safety: full; scratch memory and caches of site-class pairs are the caller's. Objects must stay where
// they are meanwhile. Failure: an object that makes no sense fails the session. Ownership: borrows all. Units:
// addresses and lengths are bytes unless a name says words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/base/failure.h"
#include "agent/heap/definitions.h"
#include "agent/heap/tlab_walker.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

// An object's header, read.
struct Header {
  uint32_t site = 0;
  uint64_t klass = 0;
  SiteClass site_class;
  uint32_t length = 0;
  uint64_t words = 0;
  bool has_length = false;
  bool locked = false;  // the mark was not in the header
};

// What a walk reads stretches into before they are written.
struct Scratch {
  struct Lane {
    std::vector<uint16_t> ids;
    std::vector<uint32_t> lengths;
    size_t id_count = 0, length_count = 0;
    std::span<const uint16_t> id_span() const { return {ids.data(), id_count}; }
    std::span<const uint32_t> length_span() const { return {lengths.data(), length_count}; }
  };
  Lane lanes[kLanes];
  uint64_t ends[kLanes] = {};  // where the last object of each ends
};

// Where a class, site or size may come from. A thread that the VM does not know must not ask it.
enum class Lookup : bool { kTablesOnly, kAskVm };

class ObjectReader {
 public:
  ObjectReader(const AntTracksVM& vm, Definitions& definitions, Failure& failure)
      : vm_(vm), definitions_(definitions), failure_(failure) {}

  // False: only the VM could tell, or tracing has failed.
  bool ReadHeader(uint64_t address, Header* header, Lookup lookup = Lookup::kAskVm);
  // Most objects, by one look into the table of layouts; without the site-class pair's layout. False: it takes
  // ReadHeader.
  bool ReadPlain(uint64_t address, Header* header) const;
  // The objects that begin in each of the stretches. False: as above, and scratch means nothing.
  bool ReadStretches(SiteClassCache& cache, const Stretch (&stretches)[kLanes], Scratch& scratch,
                     Lookup lookup);
  // The site-class pair of objects of that class (as in their header) that were made at that site; the address
  // is for the message.
  SiteClass ResolveSiteClass(uint32_t site, uint64_t klass, uint64_t address);

 private:
  uint64_t ReadOdd(SiteClassCache& cache, uint64_t address, Columns* columns, Lookup lookup);
  template <bool kPlain>
  bool ReadSomeStretches(SiteClassCache& cache, const Stretch (&stretches)[kLanes], Scratch& scratch,
                         Lookup lookup);

  const AntTracksVM& vm_;
  Definitions& definitions_;
  Failure& failure_;
};

}  // namespace anttracks::core
