// SPDX-License-Identifier: Apache-2.0
// What reports on censuses have in common.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/cli/session.h"
#include "analyzer/passes/censuses.h"

namespace anttracks::analyzer {

// A trace of censuses, read as a whole, or until the census after a collection.
struct CensusTrace {
  Problems problems;
  Definitions definitions{problems};
  Censuses censuses;
  PassSummary summary;

  explicit CensusTrace(Session& session, std::optional<uint64_t> gc = std::nullopt)
      : censuses(definitions, problems, gc), summary(session.Run(definitions, problems, censuses)) {}
  CensusTrace(const CensusTrace&) = delete;
  CensusTrace& operator=(const CensusTrace&) = delete;
};

// "1 census", "7 censuses"
std::string CensusCount(uint64_t count);
// "after GC 7 (full), at 1.23 s"
std::string AfterGc(const CensusEvent& census);
// That dead objects are counted, too; "" if not.
std::string Caveat(const CensusEvent& census);

}  // namespace anttracks::analyzer
