// SPDX-License-Identifier: Apache-2.0
// A census (mode=census): how much of each site-class pair lies in the heap after a collection. Decides which
// collections one follows, and writes it. SyncPoints reads the heap for it, as for a sync point.
//
//     CollectionEnds: due --Begin--> Count* --Write--> in the trace
//                                       `--> abandoned: due again
//
// The old space is looked into by a full collection. With G1 by marking, too: what it found dead is not read,
// from the remark on; so a census may follow one of the two collections after that.
//
// Thread safety: Collection* and Begin by the VM thread at a safepoint; Count and Write by the thread that
// reads the heap, of which there is one at a time; the rest by any thread. Ownership: borrows its arguments.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "agent/heap/definitions.h"
#include "agent/stream/outlet.h"
#include "trace/census.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

class Census {
 public:
  // every: the least time between two censuses, and between two after collections of the old space; 0: one
  // after each of these.
  Census(const AntTracksVM& vm, const Definitions& definitions, const Outlet& outlet,
         std::chrono::seconds every)
      : vm_(vm), definitions_(definitions), outlet_(outlet), every_s_(every.count()) {}

  void SetEvery(std::chrono::seconds every) { every_s_.store(every.count()); }
  std::chrono::seconds every() const { return std::chrono::seconds(every_s_.load()); }
  // The next collection that can be followed by one is.
  void Want() { wanted_.store(true); }

  void CollectionBegins(const AntTracksGC& gc);
  // Whether a census is due.
  bool CollectionEnds(const AntTracksGC& gc);
  // Whether the collection left dead objects between live ones where no census can tell them apart.
  bool LeftDead(const AntTracksGC& gc) const;
  // The census after the collection that has just ended.
  void Begin();

  // Adds objects, as columns (trace/object_runs.h).
  void Count(std::span<const uint16_t> ids, std::span<const uint32_t> lengths);
  // All objects are counted: objects in words.
  void Write(uint64_t objects, uint64_t words);

 private:
  struct Cell {
    uint64_t objects = 0;
    uint64_t words = 0;   // of those whose size depends on their length
    ObjectLayout layout;  // known when there are objects
  };
  static constexpr unsigned kPageBits = 10;
  using Page = std::array<Cell, size_t{1} << kPageBits>;

  Cell& CellOf(uint32_t site_class);
  uint64_t WordsOf(const Cell& cell) const;

  const AntTracksVM& vm_;
  const Definitions& definitions_;
  const Outlet outlet_;
  std::atomic<int64_t> every_s_;
  std::atomic<bool> wanted_{false};
  std::atomic<uint64_t> last_ns_{0}, last_old_space_ns_{0};  // time of the census before

  // For the VM thread.
  uint64_t allocated_words_ = 0, used_words_ = 0, collections_ = 0;
  bool used_known_ = false;
  unsigned marked_ = 0;        // collections that may follow the last remark
  trace::CensusEvent latest_;  // as if a census followed the collection that ended last

  // For the thread that reads the heap.
  trace::CensusEvent event_;
  std::vector<std::unique_ptr<Page>> pages_;  // by site-class pair; nullptr: none of these yet
};

}  // namespace anttracks::core
