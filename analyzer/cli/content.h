// SPDX-License-Identifier: Apache-2.0
// What a trace has, in portions that reports choose, group and add up: the same for a trace of every object,
// for one of which a share was read, for samples, and for censuses.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/cli/amount.h"
#include "analyzer/cli/session.h"
#include "analyzer/passes/portions.h"

namespace anttracks::analyzer {

struct Portion {
  PortionKey key;
  Amount allocated, live;
};

// Which objects count as live.
enum class LiveAt {
  kNever,  // none: the heap is not rebuilt
  // Those that the last collection left; if there was none, all. Of censuses the last one that follows a
  // collection of the old space; if there is none, the last one.
  kLastGc,
  kEnd,  // all that are in the heap at the end; of censuses the last one
  kGc,   // those in the heap after a collection; of censuses the one that follows it
};

struct Wanted {
  PortionOptions portions;
  LiveAt live = LiveAt::kNever;
  uint64_t gc = 0;  // of kGc
};

struct Content {
  Problems problems;
  Definitions definitions{problems};
  PassSummary summary;
  std::vector<Portion> portions;  // by key
  Basis allocated = Basis::kExact, live = Basis::kExact;
  bool allocations = true;        // false: only what is live was counted, as in censuses
  StackSamples stacks;            // of a trace of every object
  std::string note;               // what estimates are made from; empty: all is exact
  nlohmann::ordered_json head;    // the same for JSON
  std::vector<std::string> gaps;  // why not all of the trace is in it; see Gaps
  std::string without;            // the same of files that were deleted; see Session::WithoutFirstFiles
  std::vector<uint64_t> gc_ids;   // of the collections that ended; of censuses those that one follows
  // After each of them; only of a heap that was rebuilt, and of censuses that say what is live.
  std::vector<uint64_t> live_bytes;
  // Of live: when, in words ("after GC 7 (young, ...), at 1.2 s"), why it is not the program's heap (or ""),
  // and whether it is that exactly.
  std::string moment, caveat;
  bool exact = true;
  bool knows_births = true;  // of what is live; see Rebuild
  uint64_t interval = 0;     // of samples, the largest

  Content() = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  bool HasGc(uint64_t id) const;
  std::vector<PortionKey> Keys() const;
};

// Of a sample. A collection that had begun before it had ended.
PortionKey KeyOf(const SampledObject& sample, const Marks& marks, bool threads);

// Reads the trace, which is open. The summary says if that failed; of a collection that is not there nothing
// is live.
std::unique_ptr<Content> ReadContent(Session& session, const Wanted& wanted);

}  // namespace anttracks::analyzer
