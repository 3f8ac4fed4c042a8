// SPDX-License-Identifier: Apache-2.0
// A heap dump joined with a trace, for the reports of `join`: what the trace knows of each object of the dump,
// and what holds it.
//
// Thread safety: none. Ownership: owns all of it, in the order in which it is made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/hprof/dominators.h"
#include "analyzer/hprof/dump.h"
#include "analyzer/hprof/hprof_reader.h"
#include "analyzer/hprof/references.h"
#include "analyzer/hprof/retained.h"
#include "analyzer/model/layout.h"
#include "analyzer/passes/dump_match.h"

namespace anttracks::analyzer {

// How the moment of the dump was found.
struct DumpTime {
  std::optional<int64_t> time_ns;  // of the dump's header, since the start of the trace
  bool given = false;              // --gc
  uint32_t agreeing = 0, samples = 0;
};

// Objects of the dump: those of which site, age and thread are known, and why it is not known of the others.
struct JoinReasons {
  uint64_t complete = 0;
  uint64_t before_trace = 0, no_site = 0, no_thread = 0;               // in the trace
  uint64_t fillers = 0, missing = 0, other_class = 0, other_size = 0;  // not in the trace
};

class JoinedDump {
 public:
  std::unique_ptr<hprof::HprofReader> reader;
  std::unique_ptr<hprof::Dump> dump;
  std::unique_ptr<hprof::References> references;
  std::unique_ptr<hprof::Dominators> dominators;
  Problems problems;
  Definitions definitions{problems};
  std::optional<DumpHeap> heap;
  PassSummary summary;
  std::optional<DumpMatch> match;
  std::optional<hprof::Retained> retained;
  DumpTime time;
  JoinReasons reasons;

  JoinedDump() = default;
  JoinedDump(const JoinedDump&) = delete;
  JoinedDump& operator=(const JoinedDump&) = delete;

  // Sets reasons; when all else but the sizes is there.
  void FindReasons();
  // An object of the dump that is one of the trace's; false: nothing is known of who allocated it.
  bool known(uint32_t object) const { return match->shape(object) != DumpMatch::kNoShape; }
  const SiteClass& pair(uint32_t object) const { return definitions.site_class_of_shape(match->shape(object)); }
  // nullptr: it was there before the trace began, or is a filler, or not known.
  const Provenance* provenance(uint32_t object) const;
  // How many collections it has seen; nullopt: older than the trace, or not known.
  std::optional<uint64_t> age(uint32_t object) const;
  // In the JVM; of an object that the trace does not know computed from the dump.
  uint64_t bytes(uint32_t object) const;
  // The object that dominates it; kNone: none does, or no root reaches it.
  uint32_t dominator(uint32_t object) const;
  // As the trace names it, or the dump.
  std::string class_name(uint32_t object) const;
  std::string site_name(uint32_t object) const;
  std::string thread_name(uint32_t object) const;
  // An object that nothing refers to, of a class with which the VM fills gaps in the heap.
  bool filler(uint32_t object) const;
  // What the trace did not read between the collection and the next one, if objects are missing.
  uint64_t words_missed() const;
  // Of an object that is known.
  PortionKey KeyOf(uint32_t object) const;
  // The objects that --where chooses.
  std::vector<bool> Chosen(const Selection& selection) const;

 private:
  ObjectFormat format_;
};

// "after GC 7 (full, Heap Dump Initiated GC), at 1.23 s"
std::string MomentText(const JoinedDump& joined);

// The reports.
void PrintJoinTable(Session& session, const JoinedDump& joined, const JoinArguments& arguments);
void PrintJoinedObjects(Session& session, const JoinedDump& joined, const JoinArguments& arguments);
// An exit code, with a message, if there is no such object.
int PrintPath(Session& session, const JoinedDump& joined, const JoinArguments& arguments);

// For all of them: which moment the dump belongs to, and how well it fits; lines of text, and JSON.
std::string JoinHeading(const JoinedDump& joined);
nlohmann::ordered_json JoinHead(const JoinedDump& joined);

}  // namespace anttracks::analyzer
