// SPDX-License-Identifier: Apache-2.0
// The commands, one file each. Each prints to the session's streams and returns the exit code.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/cli/session.h"

namespace anttracks::analyzer {

struct HeapArguments {
  std::string by = "class";  // class, site, thread, space, age
  std::optional<uint64_t> gc;
  bool end = false;
  bool objects = false;
};

struct SitesArguments {
  bool tiers = false;
  bool callers = false;
  bool live = false;
  std::optional<uint64_t> gc;  // with live: after this collection; none: at the end of the trace
};

struct ClassesArguments {
  std::string name;  // only classes with this in their name
  bool layout = false;
};

struct FoldArguments {
  uint64_t max_bytes = 0;  // of the file that is written; 0: any
  bool force = false;      // replace it if it exists
  uint64_t memory_bytes = 0;  // see child.h
};

struct AttachArguments {
  int pid = 0;
  std::string action;   // of ctl
  std::string options;  // of the agent
  std::string library;  // empty: the one that the process has, or the one beside this program
};

int RunInfo(Session& session);
int RunHeap(Session& session, const HeapArguments& arguments);
int RunGcs(Session& session);
int RunSites(Session& session, const SitesArguments& arguments);
int RunClasses(Session& session, const ClassesArguments& arguments);
int RunThreads(Session& session);
int RunQuality(Session& session);
int RunVerify(Session& session, size_t max_errors);
int RunFold(Session& session, const FoldArguments& arguments);
int RunAttach(Session& session, const AttachArguments& arguments);
int RunCtl(Session& session, const AttachArguments& arguments);

// Parses the arguments (without the program's name) and runs the command.
int Main(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err, bool show_progress);

}  // namespace anttracks::analyzer
