// SPDX-License-Identifier: Apache-2.0
#include "agent/base/counters.h"

#include <fmt/format.h>

#include <algorithm>

namespace anttracks::core {
namespace {

using enum Severity;
using enum ValidIn;
using V = CounterValues;

constexpr CounterRow kCounters[] = {
    {"samples", &V::samples, "samples", "samples taken", kSample},
    {"sample_bytes", &V::sample_bytes, "bytes", "sizes of the sampled objects", kSample},
    {"sample_deaths", &V::sample_deaths, "samples", "samples whose object was seen to be dead", kSample},
    {"untracked_samples", &V::untracked_samples, "samples",
     "samples whose death will not be seen, because the VM had no memory for a weak reference", kSample,
     kNotice, "take fewer samples (a larger `interval=`)"},
    {"objects", &V::objects, "objects", "objects allocated while tracing", kFull},
    {"bytes", &V::bytes, "bytes", "bytes allocated while tracing", kFull},
    {"tlabs", &V::tlabs, "stretches", "TLAB stretches that were reported", kFull},
    {"outside_objects", &V::outside_objects, "objects", "objects allocated outside TLABs", kFull},
    {"sync_objects", &V::sync_objects, "objects", "objects listed by all sync points", kFull},
    {"stacks", &V::stacks, "stacks", "call stacks of allocations that were recorded", kFull},
    {"cut_stacks", &V::cut_stacks, "stacks",
     "of these, recorded without callers, as there were too many different ones", kFull, kNotice,
     "take fewer (a larger `stacks=`)"},
    {"stack_bytes", &V::stack_bytes, "bytes",
     "that a thread allocates between two stacks now, on average; 0: no stacks", kFull},
    {"stack_ns", &V::stack_ns, "ns", "CPU time of the program's threads that stacks took, in VM and agent",
     kFull},
    {"collections", &V::collections, "collections", "collections that began"},
    {"moves", &V::moves, "objects", "objects that a collection copied", kFull},
    {"slides", &V::slides, "objects", "objects that a collection left in place, or moved within their space",
     kFull},
    {"fillers", &V::fillers, "objects", "filler objects that a collection made", kFull},
    {"skipped_bytes", &V::skipped_bytes, "bytes",
     "bytes of TLAB stretches that were not read (`budget=`, `share=`)", kFull},
    {"found_objects", &V::found_objects, "objects", "objects in skipped stretches that collections found alive",
     kFull},
    {"share_ppm", &V::share_ppm, "ppm", "share of the TLAB stretches that is read now", kFull},
    {"budget_ppm", &V::budget_ppm, "ppm", "the budget; 0: none", kFull},
    {"spent_ppm", &V::spent_ppm, "ppm",
     "what tracing has cost of the program's CPU time, by the agent's own estimate", kFull},
    {"raw_bytes", &V::raw_bytes, "bytes", "payload before compression"},
    {"stored_bytes", &V::stored_bytes, "bytes", "size of the files without their headers"},
    {"chunks", &V::chunks, "chunks", "chunks written"},
    {"files", &V::files, "files", "data files begun"},
    {"sync_points", &V::sync_points, "sync points", "sync points completed, the first one included", kFull},
    {"abandoned_sync_points", &V::abandoned_sync_points, "sync points",
     "sync points abandoned, because a full collection came, or because of a full queue; each is tried again",
     kFull, kNotice, "if there are many, give a larger `queue=`"},
    {"requested_collections", &V::requested_collections, "collections",
     "young collections requested, because none came before the data file was full", kFull, kNotice,
     "if there are many, give a larger `maxsize=` or `dev=`"},
    {"sync_pause_ns", &V::sync_pause_ns, "ns", "part of the pauses that was spent on sync points", kFull},
    {"censuses", &V::censuses, "censuses", "censuses completed", kCensus},
    {"abandoned_censuses", &V::abandoned_censuses, "censuses",
     "censuses abandoned, because a full collection came, or the end; each but the last is tried again",
     kCensus},
    {"census_objects", &V::census_objects, "objects", "objects counted by all censuses", kCensus},
    {"census_ns", &V::census_ns, "ns", "CPU time of reading the heap for censuses", kCensus},
    {"census_pause_ns", &V::census_pause_ns, "ns", "part of the pauses that was spent on censuses", kCensus},
    {"compressed_chunks", &V::compressed_chunks, "chunks", "chunks stored compressed"},
    {"compress_ns", &V::compress_ns, "ns", "CPU time of compression, in all threads"},
    {"write_ns", &V::write_ns, "ns", "time in writes"},
    {"waits", &V::waits, "waits", "times that a thread waited because the queue was full", kAll, kNotice,
     "give a larger `queue=`, a faster disk or, if events may be lost instead, `on-overflow=drop`"},
    {"blocked_ns", &V::blocked_ns, "ns", "time of these waits, of all threads together"},
    {"walk_ns", &V::walk_ns, "ns", "CPU time spent on reading TLABs, in all threads", kFull},
    {"batches_read", &V::batches_read, "batches", "batches of stretches that walkers read", kFull},
    {"batches_refused", &V::batches_refused, "batches",
     "batches that walkers left to the threads that filled them", kFull},
    {"walker_rests", &V::walker_rests, "rests",
     "times that walkers paused because the program had to wait for a processor", kFull},
    {"provenance_files", &V::provenance_files, "files",
     "provenance files written beside data files (`keep=yes`)", kFull},
    {"lost_provenance", &V::lost_provenance, "times",
     "times that the provenance of live objects was lost: no room on disk or in memory (`keep=yes`)", kFull,
     kNotice, "give a larger `maxsize=`"},
    {"provenance_ns", &V::provenance_ns, "ns",
     "CPU time of following live objects through collections (`keep=yes`), but for that in pauses", kFull},
    {"queue_high_water_bytes", &V::queue_high_water_bytes, "bytes", "the most that was ever queued"},
    {"dropped_chunks", &V::dropped_chunks, "chunks",
     "dropped because `maxsize=` was reached before a collection came", kAll, kLoss,
     "give a larger `maxsize=`"},
    {"dropped_bytes", &V::dropped_bytes, "bytes", "events in these chunks", kAll, kLoss},
    {"lost_segments", &V::lost_segments, "segments",
     "dropped because the file could not be written fast enough", kAll, kLoss,
     "give a larger `queue=` or a faster disk"},
    {"lost_bytes", &V::lost_bytes, "bytes", "events in these segments", kAll, kLoss},
    {"threads", &V::threads, "threads", "threads defined"},
    {"site_classes", &V::site_classes, "pairs", "site-class pairs defined"},
    {"sites", &V::sites, "sites", "allocation sites defined"},
    {"unknown_sites", &V::unknown_sites, "sites",
     "site ids that the VM could not describe; their objects have no site", kPatched},
    {"unknown_frames", &V::unknown_frames, "frames", "stack frames that the VM could not name", kSample},
    {"methods", &V::methods, "methods", "methods defined"},
    {"classes", &V::classes, "classes", "classes defined"},
    {"distinct_stacks", &V::distinct_stacks, "stacks", "stacks defined, those of their callers included",
     kFull},
    {"live_site_classes", &V::live_site_classes, "pairs", "site-class pairs whose class is loaded", kPatched},
    {"table_bytes", &V::table_bytes, "bytes",
     "memory of the agent's tables of classes, methods, sites, pairs and stacks, about", kPatched},
};

bool Has(const CounterRow& row, ValidIn mode) { return Includes(row.valid_in, mode); }

}  // namespace

std::span<const CounterRow> CounterRows() { return kCounters; }

std::string CountersJson(const CounterValues& values, ValidIn mode) {
  std::string json = "{";
  for (const CounterRow& row : kCounters) {
    if (Has(row, mode))
      json += fmt::format("{}\"{}\":{}", json.size() == 1 ? "" : ",", row.key, values.*row.value);
  }
  return json + "}";
}

std::vector<std::string> CounterLines(const CounterValues& values, ValidIn mode, Severity severity) {
  std::vector<std::string> lines;
  for (const CounterRow& row : kCounters) {
    if (row.severity != severity || row.remedy.empty() || !Has(row, mode) || values.*row.value == 0) continue;
    lines.push_back(fmt::format("{} {}: {}; {}", values.*row.value, row.unit, row.meaning, row.remedy));
    std::erase(lines.back(), '`');
  }
  return lines;
}

}  // namespace anttracks::core
