// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/census.h"

#include <fmt/format.h>

#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {

std::string CensusCount(uint64_t count) { return Count(count) + (count == 1 ? " census" : " censuses"); }

std::string AfterGc(const CensusEvent& census) {
  return fmt::format("after GC {} ({}), at {}", census.gc, GcLabel(census.kind), Duration(census.time));
}

std::string Caveat(const CensusEvent& census) {
  return census.old_space ? "" : " (with what is dead in the old space, which had not been looked into)";
}

}  // namespace anttracks::analyzer
