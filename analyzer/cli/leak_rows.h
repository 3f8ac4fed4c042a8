// SPDX-License-Identifier: Apache-2.0
// What piles up in a trace, ranked: the histories of passes/histories.h judged by passes/growth.h, a row for
// each site and class. For `leaks` and `summary`.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/cli/application_sites.h"
#include "analyzer/cli/selection.h"
#include "analyzer/passes/growth.h"
#include "analyzer/passes/histories.h"

namespace anttracks::analyzer {

struct LeakRow {
  std::string site, class_name;
  MainApplicationSite application{MainApplicationSite::Of::kLive};
  std::vector<uint32_t> site_classes;
  Growth growth;
  HeapTotals then, now;   // live at the onset, or as soon as something is known, and after the last collection
  uint64_t since_gc = 0;  // id of the first collection after growth began
  uint64_t since_ns = 0;  // when the collection before that ended
  uint64_t grown_gcs = 0, grown_ns = 0;  // in which it grew by growth.words
  std::optional<uint64_t> oldest_ns;     // age of the oldest object; none: it is older than the trace
  double share = 0;                      // of what was allocated since growth began and is live, 0 to 1

  uint64_t grown_bytes() const { return InBytes(growth.words); }
  double bytes_per_gc() const;
  double bytes_per_minute() const;
};

struct Leaks {
  size_t old_space_collections = 0;    // that were looked at
  const HistoryPoint* last = nullptr;  // the last of these; nullptr: none
  std::vector<LeakRow> rows;           // leaks first, the largest first; then what else survives

  size_t count() const;
  // Leaves the rows with a pair for which the conditions hold.
  void Choose(const Definitions& definitions, const Selection& selection);
  // Why nothing can be said, or "".
  std::string why_unknown;
};

// What is live of the pairs after that collection.
HeapTotals LiveAt(const HistoryPoint& point, const std::vector<uint32_t>& site_classes);

// The histories must outlive the result.
Leaks FindLeaks(const Histories& histories, ApplicationSites& applications);

}  // namespace anttracks::analyzer
