// SPDX-License-Identifier: Apache-2.0
// What all commands share: the trace, the output streams, exit codes, and warnings at the end.
//
// Thread safety: none.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/cli/progress.h"
#include "analyzer/passes/pass.h"

namespace anttracks::analyzer {

enum Exit : int {
  kExitFine = 0,
  kExitErrors = 1,
  kExitUsage = 2,
  kExitUnreadable = 3,
  kExitDamaged = 4,
};

enum class Output { kText, kJson, kCsv };

inline constexpr std::string_view kNoCensus =
    "there is no census in the trace; one follows a collection, when its time (every=) has come";

// A trace of samples; see Meta.
struct SampledMeta {
  uint64_t interval = 0, depth = 0;
};

struct Session {
  std::ostream& out;
  std::ostream& err;
  bool show_progress = false;
  std::vector<std::string> files = {};
  Output output = Output::kText;
  size_t top = 0;                     // rows of a table; 0: all
  std::string program = "anttracks";  // as it was started, for commands that reports suggest
  std::unique_ptr<trace::ChunkSource> reader = nullptr;
  bool has_meta = false;                    // set by Open: it is written what the trace holds
  std::optional<SampledMeta> sampled = {};  // set by Open; nullopt: no trace of samples
  bool census = false;                      // set by Open: a trace of censuses
  bool read_ahead = true;                   // read in a thread of its own

  // Opens the files. False, with a message: they are not a trace. True if they are open already.
  bool Open();
  // Number of the first data file that is there: so many were deleted of a rotated trace, or not named.
  uint64_t first_file() const;
  // "without the first 3 data files, which are not there", or "".
  std::string WithoutFirstFiles() const;
  // Whether data files of a rotated trace were named, not all of them by its definitions file.
  bool names_data_files() const;
  // Prints why the trace cannot be read.
  int Unreadable(const trace::Status& status);
  // Prints that `what` is not possible with a trace of samples.
  int NotInSamples(std::string_view what);
  // The same with a trace of censuses.
  int NotInCensuses(std::string_view what);
  // Prints that the trace has no census.
  int NoCensus();
  // Prints that there is no collection with this id, or of a trace of censuses no census after it, or that it
  // may be behind the damage. ids: those that there are.
  int NoSuchGc(uint64_t id, const std::vector<uint64_t>& ids, const PassSummary& summary);
  // Prints what the results do not cover; returns the exit code.
  int Finish(const PassSummary& summary, const Problems& problems);

  template <class Sink>
  PassSummary Run(Definitions& definitions, Problems& problems, Sink& sink, PassOptions options = {}) {
    Progress progress(show_progress);
    options.progress = [&](uint64_t done, uint64_t total) { progress.Update(done, total); };
    options.part = names_data_files();
    return Pass<Sink>(*reader, definitions, problems, sink, std::move(options)).Run();
  }
};

// "FILE: chunk at OFFSET, byte OFFSET: kind: text"
std::string ProblemText(const Session& session, const Problem& problem);
std::string TruncationNote(uint64_t bytes);
// What is wrong with the trace, but for losses and what follows from them.
uint64_t Contradictions(const Problems& problems);
// files: PassSummary::later_files
std::string LaterFilesNote(const std::string& files);
// Why numbers are not those of the whole trace, but for files that were deleted: losses, damage. A sentence
// each.
std::vector<std::string> Gaps(const PassSummary& summary, const Problems& problems);
// What of Rebuild::walks_left_out, or "".
std::string LeftOutNote(uint64_t walks);
// How the trace ended, or why that is not known.
std::string EndText(const PassSummary& summary, const std::string& reason);

}  // namespace anttracks::analyzer
