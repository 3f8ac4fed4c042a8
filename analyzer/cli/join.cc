// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/joined_dump.h"
#include "analyzer/cli/moment.h"
#include "analyzer/cli/report.h"
#include "analyzer/hprof/annotate.h"
#include "analyzer/hprof/hprof_writer.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

// Dumps of another process have nearly no object that is one of the trace's.
constexpr double kLeastAgreement = 0.5;

// The dump without the trace. False, with a message: it cannot be read.
bool ReadDump(Session& session, const std::string& path, JoinedDump* joined) {
  const auto fail = [&](const std::string& why) {
    session.err << "anttracks: " << why << "\n";
    return false;
  };
  auto reader = hprof::HprofReader::Open(path);
  if (!reader.ok()) return fail(reader.message());
  joined->reader = std::move(*reader);
  auto dump = hprof::Dump::Read(*joined->reader);
  if (!dump.ok()) return fail(dump.message());
  joined->dump = std::move(*dump);
  if (joined->dump->size() == 0) return fail(path + " has no objects");
  return true;
}

// Who refers to whom, who dominates whom, and how much.
bool ReadReferences(Session& session, JoinedDump* joined) {
  auto references = hprof::References::Read(*joined->reader, *joined->dump);
  if (!references.ok()) {
    session.err << "anttracks: " << references.message() << "\n";
    return false;
  }
  joined->references = std::move(*references);
  std::vector<uint32_t> roots;
  for (const hprof::DumpRoot& root : joined->references->roots()) roots.push_back(root.object);
  joined->dominators = std::make_unique<hprof::Dominators>(*joined->references, roots);
  return true;
}

std::optional<int64_t> TimeInTrace(const Session& session, const JoinedDump& joined) {
  const uint64_t began = session.reader->files().front().wall_clock_ns;
  const uint64_t milliseconds = joined.reader->milliseconds();
  constexpr uint64_t kNsPerMs = 1'000'000;
  constexpr uint64_t kMost = static_cast<uint64_t>(INT64_MAX) / 2 / kNsPerMs;
  if (began == 0 || milliseconds == 0 || milliseconds > kMost || began > kMost * kNsPerMs) return std::nullopt;
  return static_cast<int64_t>(milliseconds * kNsPerMs) - static_cast<int64_t>(began);
}

int NotOfThisTrace(Session& session, const JoinedDump& joined, const std::string& agreement) {
  session.err << fmt::format(
      "anttracks: {} is no dump of the traced JVM: {}; another run of the program has other addresses\n",
      joined.reader->path(), agreement);
  return kExitUsage;
}

// After how many collections the dump was made. nullopt: *exit is the exit code, and why was told.
std::optional<uint64_t> FindMoment(Session& session, const JoinArguments& arguments, JoinedDump* joined,
                                   int* exit) {
  Problems problems;
  Definitions definitions(problems);
  DumpMoments moments(definitions, problems, *joined->dump);
  const PassSummary summary = session.Run(definitions, problems, moments);
  if (!summary.fatal.ok()) {
    *exit = session.Unreadable(summary.fatal);
    return std::nullopt;
  }
  if (!summary.has_meta) {  // damaged; then there is no heap to compare with
    *exit = session.Finish(summary, problems);
    return std::nullopt;
  }
  moments.Finish(summary.duration_ns);
  if (arguments.gc) {
    const std::vector<uint64_t> ids = moments.GcIds();
    const auto found = std::find(ids.begin(), ids.end(), *arguments.gc);
    joined->time.given = true;
    if (found != ids.end()) return static_cast<uint64_t>(found - ids.begin()) + 1;
    *exit = session.NoSuchGc(*arguments.gc, ids, summary);
    return std::nullopt;
  }
  const auto best = moments.Best(joined->time.time_ns);
  joined->time.agreeing = best ? best->agreeing : 0;
  joined->time.samples = moments.samples();
  if (best && best->agreeing >= kLeastAgreement * moments.samples()) return best->gcs;
  *exit =
      NotOfThisTrace(session, *joined,
                     fmt::format("of {} of its objects, {} at most are in the heap of the trace at any time",
                                 Count(moments.samples()), Count(joined->time.agreeing)));
  return std::nullopt;
}

// Everything. An exit code, with a message, if that is not possible.
std::optional<int> Join(Session& session, const JoinArguments& arguments, JoinedDump* joined) {
  if (!ReadDump(session, arguments.dump, joined)) return kExitUnreadable;
  session.files = {arguments.trace};
  if (!session.Open()) return kExitUnreadable;
  if (session.sampled) return session.NotInSamples("join needs the address of every object");
  if (session.census) return session.NotInCensuses("join needs the address of every object");
  joined->time.time_ns = TimeInTrace(session, *joined);
  int exit = kExitFine;
  const std::optional<uint64_t> gcs = FindMoment(session, arguments, joined, &exit);
  if (!gcs) return exit;
  joined->heap.emplace(joined->definitions, joined->problems, *gcs);
  joined->summary = session.Run(joined->definitions, joined->problems, *joined->heap);
  if (!joined->summary.fatal.ok()) return session.Unreadable(joined->summary.fatal);
  if (!joined->summary.has_meta) return session.Finish(joined->summary, joined->problems);
  joined->match.emplace(*joined->dump, *joined->heap);
  const uint64_t agreeing = joined->match->count(Fit::kAgrees);
  if (static_cast<double>(agreeing) < kLeastAgreement * static_cast<double>(joined->dump->size())) {
    session.err << fmt::format("anttracks: {} was not made {}: {} of its {} are in the heap then{}\n",
                               joined->reader->path(), MomentText(*joined), Count(agreeing),
                               Plural(joined->dump->size(), "object"),
                               joined->time.given ? "; without --gc the moment is found" : "");
    return kExitUsage;
  }
  if (!ReadReferences(session, joined)) return kExitUnreadable;
  joined->FindReasons();
  joined->retained.emplace(*joined->dominators, joined->dump->size(),
                           [joined](uint32_t object) { return joined->bytes(object); });
  return std::nullopt;
}

int Export(Session& session, const JoinedDump& joined, const JoinArguments& arguments) {
  std::set<uint32_t> sites;
  for (uint32_t object = 0; object < joined.dump->size(); object++) {
    if (joined.known(object)) sites.insert(joined.pair(object).site);
  }
  uint32_t hint = 0;
  const auto site_of = [&](uint64_t id) -> std::optional<uint32_t> {
    const uint32_t object = joined.dump->Find(id, hint);
    if (object == hprof::kNone) return std::nullopt;
    hint = object + 1;
    if (!joined.known(object)) return std::nullopt;
    return joined.pair(object).site;
  };
  const auto written = hprof::Annotate(*joined.reader, joined.definitions, {sites.begin(), sites.end()},
                                       site_of, arguments.export_to, arguments.force);
  if (!written.ok()) {
    session.err << "anttracks: " << written.message() << "\n";
    return kExitErrors;
  }
  session.out << JoinHeading(joined)
              << fmt::format("{}: {} with their allocation stacks, of {}\n", arguments.export_to,
                             Plural(written->objects, "object"), Plural(written->stacks, "site"));
  return kExitFine;
}

void TellUnknown(Session& session, const JoinedDump& joined, const Selection& selection) {
  if (selection.where.empty()) return;
  std::set<PortionKey> keys;
  for (uint32_t object = 0; object < joined.dump->size(); object++) {
    if (joined.known(object)) keys.insert(joined.KeyOf(object));
  }
  TellUnknownNames(session, joined.definitions, {keys.begin(), keys.end()}, selection.where);
}

}  // namespace

int RunJoin(Session& session, const JoinArguments& arguments) {
  if (!arguments.export_to.empty()) {  // otherwise all would be read in vain
    const trace::Status status = trace::MayWrite(arguments.export_to, hprof::kDumpFile,
                                                 arguments.force ? trace::Replace::kYes : trace::Replace::kNo);
    if (!status.ok()) {
      session.err << "anttracks: " << status.message() << "\n";
      return kExitErrors;
    }
  }
  JoinedDump joined;
  if (const auto exit = Join(session, arguments, &joined)) return *exit;
  TellUnknown(session, joined, arguments.selection);
  int exit = kExitFine;
  if (!arguments.export_to.empty()) {
    exit = Export(session, joined, arguments);
  } else if (arguments.path) {
    exit = PrintPath(session, joined, arguments);
  } else if (arguments.objects) {
    PrintJoinedObjects(session, joined, arguments);
  } else {
    PrintJoinTable(session, joined, arguments);
  }
  return std::max(exit, session.Finish(joined.summary, joined.problems));
}

}  // namespace anttracks::analyzer
