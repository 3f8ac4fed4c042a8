// SPDX-License-Identifier: Apache-2.0
// What the page of `report` shows, of a trace of every object, of one of samples, and of censuses alike.
//
// Thread safety: none. Units: bytes, ns since the start of the trace.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/cli/amount.h"
#include "analyzer/cli/application_sites.h"
#include "analyzer/cli/session.h"
#include "analyzer/model/call_tree.h"
#include "analyzer/passes/stack_samples.h"
#include "analyzer/report/page_sink.h"

namespace anttracks::analyzer {

// For so many collections at most the page has what was live after each of them.
inline constexpr size_t kMostMoments = 64;

// A collection; of a trace of censuses one that a census follows, whose begin is not known.
struct PageGc {
  uint64_t id = 0, begin_ns = 0, end_ns = 0;
  std::string kind, cause;  // empty: not known, as from samples
  UsedBySpace before{}, after{};
  uint64_t moved_bytes = 0;
  std::optional<CallTotals> live;  // none: the heap was not known
  // Of censuses:
  uint64_t count_ns = 0;   // how long the counting took
  bool with_dead = false;  // what is dead in the old space is counted as live
};

struct PageSync {
  std::string reason, state;
  uint64_t time_ns = 0;
};

// What was live at one moment, of which the text tells: "after GC 7 (young, Allocation Failure), at 1.23 s".
struct PageMoment {
  static constexpr size_t kEnd = SIZE_MAX;
  size_t gc = kEnd;  // after that one of PageContent::gcs, or at the end of the trace
  std::string text;
  std::map<uint32_t, CallTotals> live;  // by site-class pair
};

struct PageLeak {
  struct Point {
    uint64_t gc = 0, time_ns = 0;
    bool old_space = false;
    CallTotals live;
  };
  std::string site, class_name, application, verdict;
  bool leaks = false;
  uint64_t since_gc = 0;
  CallTotals then, now;
  uint64_t bytes_per_gc = 0, bytes_per_minute = 0;
  std::optional<uint64_t> oldest_ns;
  double share = 0;
  std::vector<Point> history;
};

struct PageContent {
  Problems problems;
  Definitions definitions{problems};
  PassSummary summary;
  std::vector<std::pair<std::string, std::string>> head;  // name and text
  std::vector<std::string> notes;                         // what qualifies the numbers
  bool censuses = false;  // nothing is known of what was allocated, but for the rate
  Basis allocated_basis = Basis::kExact, live_basis = Basis::kExact;
  std::map<uint32_t, Amount> allocated, survived;  // by site-class pair
  std::vector<PageGc> gcs;
  std::vector<PageSync> syncs;
  RateOverTime rate;
  // In the order of time; at least one, if there was a META, and of censuses a census.
  std::vector<PageMoment> moments;
  StackSamples stacks;
  std::string stacks_note;  // how paths of calls are known
  std::vector<PageLeak> leaks;
  std::string leaks_note;
  nlohmann::ordered_json lifetimes;  // of `lifetimes --json`; null: see the note
  std::string lifetimes_note;

  PageContent() = default;
  PageContent(const PageContent&) = delete;
  PageContent& operator=(const PageContent&) = delete;
};

// Reads the trace, which is open. The summary says if that failed.
std::unique_ptr<PageContent> ReadPageContent(Session& session, const ApplicationFrames& frames);

}  // namespace anttracks::analyzer
