// SPDX-License-Identifier: Apache-2.0
// Reads objects in the heap: one header, or all objects of some stretches.
//
// Classes, sites and threads that are new are looked up in the VM and get an id (Definitions); from then on the
// tables have them.
//
// Thread safety: full; scratch memory and caches of site-class pairs belong to the caller. Objects must not
// move meanwhile. Failure: an impossible object fails the session. Ownership: borrows everything. Units:
// addresses and sizes are bytes unless a name says words; an array's length is its number of elements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/base/failure.h"
#include "agent/heap/definitions.h"
#include "agent/heap/site_of_mark.h"
#include "agent/heap/tlab_walker.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

// What an object's header says.
struct Header {
  uint32_t site = 0;
  uint64_t klass = 0;
  SiteClass site_class;
  uint32_t length = 0;
  uint64_t words = 0;
  bool has_length = false;
  bool locked = false;  // the object is locked: its mark word was elsewhere
};

// Memory for the columns of the stretches that are read side by side, until they are written.
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

// Whether the VM may be asked for a class, site or size. Threads that the VM does not know must not ask it.
enum class Lookup : bool { kTablesOnly, kAskVm };

class ObjectReader {
 public:
  ObjectReader(const AntTracksVM& vm, Definitions& definitions, Failure& failure)
      : vm_(vm), sites_(SiteBitsOf(vm)), definitions_(definitions), failure_(failure) {}

  // False: the tables do not have it, with kTablesOnly; or tracing has failed.
  bool ReadHeader(uint64_t address, Header* header, Lookup lookup = Lookup::kAskVm);
  // Reads most objects, with one lookup in the table of layouts; does not set the pair's layout. False:
  // ReadHeader is needed.
  bool ReadPlain(uint64_t address, Header* header) const;
  // Reads the objects that begin in each of the stretches. False: as ReadHeader; scratch is then undefined.
  bool ReadStretches(SiteClassCache& cache, const AddressRange (&stretches)[kLanes], Scratch& scratch,
                     Lookup lookup);
  // The site-class pair of a site and a klass, both as in the header. address: for the error message.
  SiteClass ResolveSiteClass(uint32_t site, uint64_t klass, uint64_t address);

 private:
  // The class as a header with class pointers of 4 bytes has it. mark: of the object at this address.
  uint32_t NarrowKlass(uint64_t address, uint64_t mark) const {
    return sites_.klass_bit != 0 ? sites_.KlassOf(mark) : LoadAt<uint32_t>(address + vm_.klass_offset);
  }
  // mask: all ones if the object is an array, else 0. Then there may be no memory where the length would be.
  uint32_t Length(uint64_t address, uint32_t mask) const {
    return LoadAt<uint32_t>(address + (mask & vm_.array_length_offset)) & mask;
  }
  void CountWide(SiteClassCache& cache, uint32_t site, uint64_t klass, Lookup lookup);
  uint64_t ReadOdd(SiteClassCache& cache, uint64_t address, Columns* columns, Lookup lookup);
  // Code that is compiled for the place where sites are. The second: kSites is sites_, if that is known.
  template <SiteBits kSites>
  bool ReadSomeStretches(SiteClassCache& cache, const AddressRange (&stretches)[kLanes], Scratch& scratch,
                         Lookup lookup);
  template <SiteBits... kKnown>
  bool ReadAsOneOf(SiteClassCache& cache, const AddressRange (&stretches)[kLanes], Scratch& scratch,
                   Lookup lookup);

  const AntTracksVM& vm_;
  const SiteBits sites_;
  Definitions& definitions_;
  Failure& failure_;
};

}  // namespace anttracks::core
