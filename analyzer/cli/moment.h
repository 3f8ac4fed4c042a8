// SPDX-License-Identifier: Apache-2.0
// Texts for moments of a trace.
//
// Thread safety: full.
#pragma once

#include <fmt/format.h>

#include <string>

#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/rebuild.h"

namespace anttracks::analyzer {

// "after GC 7 (young, Allocation Failure), at 1.23 s"
inline std::string AfterGc(const GcRecord& gc) {
  return fmt::format("after GC {} ({}, {}), at {}", gc.id, GcLabel(gc.kind), Printable(gc.cause),
                     Duration(gc.end_ns));
}
inline std::string AtEnd(uint64_t end_ns) {
  return fmt::format("at the end of the trace, {}", Duration(end_ns));
}

// Why a heap in that state is not exact; empty if it is. unknown_words: see Rebuild.
inline std::string Caveat(HeapState state, uint64_t unknown_words = 0) {
  switch (state) {
    case HeapState::kStart:
    case HeapState::kExact:
      if (unknown_words == 0) return "";
      return fmt::format(" (without {} that were allocated since the last collection and not read)",
                         Bytes(InBytes(unknown_words)));
    case HeapState::kFilling:
      return " (not complete yet: the sync point that lists the old space has not ended here)";
    case HeapState::kUnknown:
      return " (not complete: the sync point that lists the old space was abandoned)";
    case HeapState::kLost:
      return " (not exact: events were lost before)";
  }
  return "";
}

// The same of what was chosen from a heap by what is not known of all of it; see Rebuild::knows_births.
inline constexpr const char* kBirthsNotKnown =
    " (not exact: of what a sync point listed it is not known which thread allocated it, and when)";

}  // namespace anttracks::analyzer
