// SPDX-License-Identifier: Apache-2.0
// The agent's counters, one row each: the JSON of END, stats= and `ctl dump-stats`, the messages about losses,
// and the table in the documentation come from these rows.
//
// To add a counter: a member of CounterValues, a row, and the part that counts it, in its function Count
// (SampleSession: counters); scripts/doc-tables rewrites the page.
//
// Thread safety: none needed; the table is constant, and values are a copy.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/policies.h"

namespace anttracks::core {

struct CounterValues {
  uint64_t samples = 0, sample_bytes = 0, sample_deaths = 0, untracked_samples = 0;
  uint64_t objects = 0, bytes = 0, tlabs = 0, outside_objects = 0, sync_objects = 0;
  uint64_t stacks = 0, cut_stacks = 0, distinct_stacks = 0, stack_bytes = 0, stack_ns = 0;
  uint64_t collections = 0, moves = 0, slides = 0, fillers = 0;
  uint64_t skipped_bytes = 0, found_objects = 0, share_ppm = 0, budget_ppm = 0, spent_ppm = 0;
  uint64_t raw_bytes = 0, stored_bytes = 0, chunks = 0, files = 0;
  uint64_t sync_points = 0, abandoned_sync_points = 0, requested_collections = 0, sync_pause_ns = 0;
  uint64_t censuses = 0, abandoned_censuses = 0, census_objects = 0, census_ns = 0, census_pause_ns = 0;
  uint64_t compressed_chunks = 0, compress_ns = 0, write_ns = 0, waits = 0, blocked_ns = 0, walk_ns = 0;
  uint64_t batches_read = 0, batches_refused = 0, walker_rests = 0;
  uint64_t provenance_files = 0, lost_provenance = 0, provenance_ns = 0;
  uint64_t queue_high_water_bytes = 0, dropped_chunks = 0, dropped_bytes = 0, lost_segments = 0, lost_bytes = 0;
  uint64_t threads = 0, site_classes = 0, sites = 0, unknown_sites = 0, unknown_frames = 0, methods = 0,
           classes = 0;
  uint64_t live_site_classes = 0, table_bytes = 0;
};

// What a count other than 0 means.
enum class Severity : uint8_t {
  kInformation,
  kNotice,  // the trace is complete; something could be better
  kLoss,    // the trace is incomplete
};

struct CounterRow {
  std::string_view key;
  uint64_t CounterValues::*value;
  std::string_view unit;
  std::string_view meaning;  // Markdown
  ValidIn valid_in = ValidIn::kAll;
  Severity severity = Severity::kInformation;
  // What to do when it is not 0. A loss without a remedy is reported together with the row before.
  std::string_view remedy = {};
};

// The rows, in the order of the JSON.
std::span<const CounterRow> CounterRows();

// One JSON object with the counters of that mode.
std::string CountersJson(const CounterValues& values, ValidIn mode);

// One line per counter of that severity that is not 0, with what to do: "2 segments: dropped because ...; give
// ...".
std::vector<std::string> CounterLines(const CounterValues& values, ValidIn mode, Severity severity);

}  // namespace anttracks::core
