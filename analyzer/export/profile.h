// SPDX-License-Identifier: Apache-2.0
// What the formats are written from: what a program allocated and what of it is live, by class and stack, and
// by class, site and thread. Both have the same totals, but for the rounding of estimates.
//
// All texts are valid UTF-8 without control characters. Numbers in a vector are its indices.
//
// Thread safety: that of any value type. Units: bytes, ns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/model/call_tree.h"

namespace anttracks::analyzer {

// What the user says of the process: service=web.
struct ExportLabel {
  std::string name, value;
};

// How the numbers of what was allocated came about.
enum class ExportBasis {
  kExact,       // every object was seen
  kIncomplete,  // no more than was seen: events were lost, or the trace is damaged
  kShare,       // a share of the allocations was read; what is live is exact
  kSamples,     // so what is live is an estimate, too
  kNothing,     // they are not known: what is live was counted, in a census
};
// "exact", "incomplete", "share", "samples", "census"
std::string_view BasisText(ExportBasis basis);

struct ExportProcess {
  uint64_t trace_id = 0, pid = 0;
  uint64_t started_ns = 0;  // since 1970-01-01 UTC
  uint64_t duration_ns = 0;
  std::string command, vm, vm_flags, options;
  std::vector<ExportLabel> labels;  // in the order in which they were given; names are unique

  // "1122334455667788", as `info` has it.
  std::string TraceId() const;
  // "2023-11-14T22:13:20.000Z"
  std::string Started() const;
};

// A place in the code. What is none, such as "<unknown>", has a text and a method, which are equal.
struct ExportFrame {
  std::string text;  // "app.List.add(List.java:12)", as reports have it
  std::string class_name, method, file;
  int32_t line = -1;  // -1: not known

  // "app.List.add"
  std::string Function() const { return class_name.empty() ? method : class_name + "." + method; }
};

struct ExportSample {
  uint32_t stack = 0, of_class = 0;
  CallTotals allocated, live;
};

struct ExportAllocation {
  uint32_t site = 0;  // a frame
  uint32_t of_class = 0, thread = 0;
  CallTotals allocated, live;
};

struct ExportThread {
  std::string name;  // "main (1)", as reports have it
  std::string java_name;
  uint64_t java_id = 0, os_id = 0;
};

// All spaces of one kind together.
struct ExportSpace {
  std::string name;  // "eden"
  uint64_t used_before = 0, used_after = 0, capacity = 0;
};

struct ExportGc {
  uint64_t id = 0;
  std::string kind, cause;            // "": not known, as of a trace of samples; then it has times only
  uint64_t begin_ns = 0, end_ns = 0;  // since the start of the trace
  uint64_t used_before = 0, used_after = 0;
  CallTotals moved, died, live;
  bool exact = false;  // all objects were known
  std::vector<ExportSpace> spaces;
};

// What was counted after a collection.
struct ExportCensus {
  uint64_t gc = 0;
  std::string kind;
  bool old_space = false;              // false: what is dead in the old space was counted, too
  uint64_t time_ns = 0, count_ns = 0;  // when the collection ended, and how long the counting took
  uint64_t allocated_bytes = 0;        // by the whole program since the first collection
  CallTotals counted;
  std::vector<std::pair<std::string, uint64_t>> spaces;  // name and used bytes, after the collection
};

// What happened when. A trace has one or the other.
struct ExportTimeline {
  std::vector<ExportGc> gcs;
  std::vector<ExportCensus> censuses;
};

struct ExportProfile {
  ExportProcess process;
  ExportBasis basis = ExportBasis::kExact;
  uint64_t interval = 0;           // of samples, bytes
  std::string moment;              // when it lives what is live: "after GC 7 (young, ...), at 1.2 s"
  std::vector<std::string> notes;  // what qualifies the numbers
  std::vector<ExportFrame> frames;
  std::vector<std::string> classes;
  std::vector<ExportThread> threads;
  std::vector<std::vector<uint32_t>> stacks;  // of frames, innermost first; no two are equal
  std::vector<ExportSample> samples;          // one for each stack and class
  std::vector<ExportAllocation> allocations;  // one for each site, class and thread

  // Whether what was allocated is known.
  bool allocated() const { return basis != ExportBasis::kNothing; }
};

}  // namespace anttracks::analyzer
