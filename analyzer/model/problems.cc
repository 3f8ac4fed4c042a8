// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/problems.h"

namespace anttracks::analyzer {

std::string_view ProblemName(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::kDamagedChunk:
      return "damaged chunk";
    case ProblemKind::kSequenceGap:
      return "gap in the sequence of chunks";
    case ProblemKind::kLoss:
      return "events lost by the agent";
    case ProblemKind::kMalformed:
      return "malformed segment";
    case ProblemKind::kUndefined:
      return "undefined site-class pair, site, class or method";
    case ProblemKind::kRedefined:
      return "definition that contradicts an earlier one";
    case ProblemKind::kNoObject:
      return "move from an address that holds no object";
    case ProblemKind::kMovedTwice:
      return "object moved twice in one collection";
    case ProblemKind::kOverlap:
      return "overlapping objects";
    case ProblemKind::kFillerOverlap:
      return "filler that overlaps an object";
    case ProblemKind::kOutsideHeap:
      return "object outside the heap";
    case ProblemKind::kOutsideSpace:
      return "object outside every space";
    case ProblemKind::kSize:
      return "impossible size or length";
    case ProblemKind::kUnloaded:
      return "object of an unloaded class";
    case ProblemKind::kTotals:
      return "totals that disagree";
    case ProblemKind::kSyncMismatch:
      return "sync point that disagrees with the heap";
    case ProblemKind::kOrder:
      return "event in the wrong place";
    case ProblemKind::kAfterLoss:
      return "event that cannot be checked after a loss";
    case ProblemKind::kUnknownSample:
      return "death of a sample that is not in the trace";
    case ProblemKind::kDiedTwice:
      return "sample that died twice";
    case ProblemKind::kCount:
      break;
  }
  return "?";
}

}  // namespace anttracks::analyzer
