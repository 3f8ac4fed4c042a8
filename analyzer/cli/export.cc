// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ostream>
#include <utility>

#include "analyzer/cli/call_tree_of.h"
#include "analyzer/cli/census.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/content.h"
#include "analyzer/cli/export_hprof.h"
#include "analyzer/cli/profile_of.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/export/collapsed.h"
#include "analyzer/export/csv.h"
#include "analyzer/export/dhat.h"
#include "analyzer/export/perfetto.h"
#include "analyzer/export/pprof.h"
#include "analyzer/export/sqlite.h"
#include "analyzer/hprof/hprof_writer.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/block_lives.h"
#include "analyzer/passes/gc_spaces.h"
#include "trace/output_file.h"

namespace anttracks::analyzer {
namespace {

using trace::Result;
using trace::Status;

// Anything but a trace: whoever mistook the order of TRACE and OUT must not lose it.
constexpr trace::FileSort kNoTrace{
    "", [](std::span<const uint8_t> start) { return start.empty() || !trace::IsTraceFile(start); }};

int Refused(Session& session, const std::string& why) {
  session.err << "anttracks: " << why << "\n";
  return kExitUsage;
}

// What was written, in words and in the format's bytes.
struct Export {
  Result<std::string> bytes;
  std::string contents = {};
  std::vector<std::string> notes = {};
  int failure = kExitUsage;  // the exit code if there are no bytes
};

int Write(Session& session, const ExportArguments& arguments, const Export& made) {
  if (!made.bytes.ok()) {
    session.err << "anttracks: " << made.bytes.message() << "\n";
    return made.failure;
  }
  const std::string& bytes = *made.bytes;
  const Status status =
      trace::WriteFile(arguments.out, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, kNoTrace,
                       arguments.force ? trace::Replace::kYes : trace::Replace::kNo);
  if (!status.ok()) return Refused(session, status.message());
  PrintNotes(session, made.notes);
  session.out << "wrote " << arguments.out << ": " << made.contents << "\n";
  return kExitFine;
}

std::string TotalsText(const CallTotals& totals, bool exact) {
  const std::string about = exact ? "" : "~";
  return fmt::format("{}{}, {}{}", about, Plural(totals.objects, "object"), about, Bytes(totals.bytes));
}

std::string Contents(const ExportProfile& profile) {
  CallTotals allocated, live;
  for (const ExportSample& sample : profile.samples) {
    allocated.Add(sample.allocated);
    live.Add(sample.live);
  }
  const std::string of_live =
      fmt::format("live {}: {}", profile.moment, TotalsText(live, profile.basis != ExportBasis::kSamples));
  if (!profile.allocated()) return of_live;
  const bool estimated = profile.basis == ExportBasis::kShare || profile.basis == ExportBasis::kSamples;
  return fmt::format("allocated {}; {}", TotalsText(allocated, !estimated), of_live);
}

// Those that Finish does not tell.
std::vector<std::string> NotesToPrint(const ExportProfile& profile, const Content& content) {
  std::vector<std::string> notes;
  const auto finish_tells = [&](const std::string& note) {
    return std::find(content.gaps.begin(), content.gaps.end(), note) != content.gaps.end();
  };
  std::remove_copy_if(profile.notes.begin(), profile.notes.end(), std::back_inserter(notes), finish_tells);
  return notes;
}

ExportGc GcOf(const GcRecord& gc, const GcSpaces::ByKind& usages) {
  const auto totals = [](const HeapTotals& of) { return CallTotals{of.bytes(), of.objects}; };
  ExportGc made{.id = gc.id,
                .kind = std::string(GcLabel(gc.kind)),
                .cause = Printable(gc.cause),
                .begin_ns = gc.begin_ns,
                .end_ns = gc.end_ns,
                .used_before = gc.used_before,
                .used_after = gc.used_after,
                .moved = totals(gc.moved),
                .died = totals(gc.died),
                .live = totals(gc.live),
                .exact = gc.exact,
                .spaces = {}};
  for (size_t kind = 0; kind < usages.size(); kind++) {
    const GcSpaces::Usage& usage = usages[kind];
    if (usage.used_before == 0 && usage.capacity == 0) continue;
    made.spaces.push_back({std::string(SpaceLabel(static_cast<SpaceKind>(kind))), usage.used_before,
                           usage.used_after, usage.capacity});
  }
  return made;
}

ExportCensus CensusOf(const CensusEvent& census) {
  ExportCensus made{.gc = census.gc,
                    .kind = std::string(GcLabel(census.kind)),
                    .old_space = census.old_space,
                    .time_ns = census.time,
                    .count_ns = census.duration,
                    .allocated_bytes = InBytes(census.allocated_words),
                    .counted = {InBytes(census.words), census.objects},
                    .spaces = {}};
  for (size_t kind = 0; kind < census.used_words.size(); kind++) {
    if (census.used_words[kind] == 0) continue;
    made.spaces.emplace_back(SpaceLabel(static_cast<SpaceKind>(kind)), InBytes(census.used_words[kind]));
  }
  return made;
}

// The collections or censuses, from a pass of their own.
struct Timeline {
  Problems problems;
  Definitions definitions{problems};
  PassSummary summary;
  ExportTimeline timeline;

  explicit Timeline(Session& session) {
    if (session.sampled) {
      Sampled sampled(definitions, problems, session.sampled->interval);
      summary = session.Run(definitions, problems, sampled);
      for (const Sampled::Gc& gc : sampled.gcs())
        timeline.gcs.push_back({.id = gc.id, .begin_ns = gc.begin_ns, .end_ns = gc.end_ns});
      return;
    }
    if (session.census) {
      Censuses censuses(definitions, problems);
      summary = session.Run(definitions, problems, censuses);
      for (const CensusEvent& census : censuses.events()) timeline.censuses.push_back(CensusOf(census));
      return;
    }
    GcSpaces spaces(definitions, problems);
    summary = session.Run(definitions, problems, spaces);
    // A collection at the end may have begun only.
    for (size_t i = 0; i < spaces.usages().size(); i++)
      timeline.gcs.push_back(GcOf(spaces.gcs()[i], spaces.usages()[i]));
  }
  Timeline(const Timeline&) = delete;

  std::string Count() const {
    return timeline.censuses.empty() ? Plural(timeline.gcs.size(), "collection")
                                     : CensusCount(timeline.censuses.size());
  }
};

int WriteTimeline(Session& session, const ExportArguments& arguments) {
  if (!arguments.selection.all() || arguments.gc)
    return Refused(session,
                   "perfetto shows all collections: --where, --from, --to and --gc choose none of them");
  const Timeline times(session);
  const PassSummary& summary = times.summary;
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  std::vector<std::string> notes;
  if (session.sampled)
    notes.emplace_back("a trace of samples has the times of collections, but not what the heap held");
  const ExportProcess process = ProcessOf(session, summary, arguments.labels);
  if (const std::string without = session.WithoutFirstFiles(); !without.empty()) notes.push_back(without);
  std::vector<std::string> all = notes;
  for (std::string& gap : Gaps(summary, times.problems)) all.push_back(std::move(gap));
  const int exit =
      Write(session, arguments, {PerfettoBytes(process, times.timeline, all), times.Count(), notes});
  return exit != kExitFine ? exit : session.Finish(summary, times.problems);
}

// The points of pairs that have the same stack and class are one.
std::vector<DhatPoint> PointsOf(const BlockLives& lives, const Content& content, const Selection& selection,
                                ProfileBuilder* builder) {
  Chooser chosen(content.definitions, selection);
  std::map<std::pair<uint32_t, uint32_t>, DhatPoint> points;
  const auto totals = [](const HeapTotals& of) { return CallTotals{of.bytes(), of.objects}; };
  for (const auto& [id, sums] : lives.sums()) {
    if (!chosen({0, 0, id})) continue;
    const SiteClass& pair = content.definitions.site_class(id);
    const std::vector<CallPath>& paths = builder->paths().Of(pair.site);
    const auto born = SplitAmong(paths, totals(sums.born)), most = SplitAmong(paths, totals(sums.most)),
               at_highest = SplitAmong(paths, totals(sums.at_highest)),
               live = SplitAmong(paths, totals(sums.live)), lived = SplitAmong(paths, {sums.lived_ns, 0});
    for (size_t i = 0; i < paths.size(); i++) {
      if (born[i].objects == 0 && born[i].bytes == 0) continue;
      const uint32_t stack = builder->Stack(paths[i]), of_class = builder->Class(pair.class_id);
      DhatPoint& point = points[{stack, of_class}];
      point.stack = stack;
      point.of_class = of_class;
      point.allocated.Add(born[i]);
      point.most.Add(most[i]);
      point.at_highest.Add(at_highest[i]);
      point.live.Add(live[i]);
      point.lived_ns += lived[i].bytes;
    }
  }
  std::vector<DhatPoint> all;
  for (const auto& [key, point] : points) all.push_back(point);
  return all;
}

Export DhatOf(Session& session, const ExportArguments& arguments, const Content& content) {
  const ExportProcess process = ProcessOf(session, content.summary, arguments.labels);
  DhatContents contents{.lives = content.allocated == Basis::kExact && content.summary.has_meta};
  CallTotals all;
  if (!contents.lives) {
    ExportProfile profile = ProfileOf(content, arguments.selection, process);
    for (const ExportSample& sample : profile.samples) {
      contents.points.push_back(
          {.stack = sample.stack, .of_class = sample.of_class, .allocated = sample.allocated});
      all.Add(sample.allocated);
    }
    profile.notes.emplace_back("lifetimes and maxima are left out: not every object was seen");
    return {DhatText(profile, contents), "allocated " + TotalsText(all, false), NotesToPrint(profile, content)};
  }
  Problems problems;
  Definitions definitions(problems);
  BlockLives lives(definitions, problems);
  const PassSummary summary = session.Run(definitions, problems, lives);
  if (!summary.fatal.ok()) return {.bytes = summary.fatal, .failure = kExitUnreadable};
  lives.Finish(content.summary.duration_ns);
  ProfileBuilder builder(content, arguments.selection, process);
  contents.points = PointsOf(lives, content, arguments.selection, &builder);
  contents.highest_ns = lives.highest_ns();
  contents.short_lived_ns = content.summary.duration_ns / (lives.gcs().size() + 1);
  for (const DhatPoint& point : contents.points) all.Add(point.allocated);
  const ExportProfile profile = builder.Take();
  std::vector<std::string> notes = NotesToPrint(profile, content);
  if (lives.walks_left_out() != 0)
    notes.push_back("maxima may be larger: " + LeftOutNote(lives.walks_left_out()));
  return {DhatText(profile, contents), "allocated " + TotalsText(all, true), notes};
}

int WriteDhat(Session& session, const ExportArguments& arguments) {
  const Selection& selection = arguments.selection;
  if (selection.threads() || selection.from || selection.to || arguments.gc)
    return Refused(session, "dhat has the whole trace: it takes --where on class, site, package and tier only");
  int exit = kExitFine;
  const auto content = ReadSelected(session, {selection, false, false, std::nullopt}, &exit);
  if (!content) return exit;
  exit = Write(session, arguments, DhatOf(session, arguments, *content));
  return exit != kExitFine ? exit : session.Finish(content->summary, content->problems);
}

Export ProfileExport(Session& session, const ExportArguments& arguments, const Content& content) {
  const ExportProfile profile =
      ProfileOf(content, arguments.selection, ProcessOf(session, content.summary, arguments.labels));
  const auto with = [&](Result<std::string> bytes) {
    return Export{std::move(bytes), Contents(profile), NotesToPrint(profile, content)};
  };
  switch (arguments.format) {
    case ExportFormat::kCollapsed: {
      TreeArguments tree;
      tree.selection = arguments.selection;
      tree.live = !content.allocations;
      return with(PrintableLines(CollapsedText(*CallTreeOf(content, tree))));
    }
    case ExportFormat::kCsv:
      return with(CsvTable(profile));
    case ExportFormat::kSqlite: {
      const Timeline times(session);
      if (!times.summary.fatal.ok()) return {.bytes = times.summary.fatal, .failure = kExitUnreadable};
      return with(SqliteBytes(profile, times.timeline));
    }
    case ExportFormat::kPprof:
    case ExportFormat::kPerfetto:
    case ExportFormat::kDhat:
    case ExportFormat::kHprof:
      break;
  }
  return with(PprofBytes(profile));
}

// Where rows tell threads apart, estimates are made for each of them.
int WriteProfile(Session& session, const ExportArguments& arguments) {
  const bool threads = arguments.format == ExportFormat::kCsv || arguments.format == ExportFormat::kSqlite;
  int exit = kExitFine;
  const auto content = ReadSelected(session, {arguments.selection, threads, true, arguments.gc}, &exit);
  if (!content) return exit;
  exit = Write(session, arguments, ProfileExport(session, arguments, *content));
  return exit != kExitFine ? exit : session.Finish(content->summary, content->problems);
}

}  // namespace

int RunExport(Session& session, const ExportArguments& arguments) {
  const bool dump = arguments.format == ExportFormat::kHprof;
  const Status may_write = trace::MayWrite(arguments.out, dump ? hprof::kDumpFile : kNoTrace,
                                           arguments.force ? trace::Replace::kYes : trace::Replace::kNo);
  if (!may_write.ok()) return Refused(session, may_write.message());
  if (arguments.by_site && arguments.format != ExportFormat::kHprof)
    return Refused(session, "--by-site is for hprof: its roots");
  if (session.census && arguments.format == ExportFormat::kDhat)
    return session.NotInCensuses("dhat is about lifetimes; pprof, sqlite and csv have what is live");
  if (session.census && arguments.format == ExportFormat::kHprof)
    return session.NotInCensuses(
        "a heap dump has each object at its address; pprof, sqlite and csv have what is live");
  switch (arguments.format) {
    case ExportFormat::kPerfetto:
      return WriteTimeline(session, arguments);
    case ExportFormat::kDhat:
      return WriteDhat(session, arguments);
    case ExportFormat::kHprof:
      return ExportHprof(session, arguments);
    case ExportFormat::kPprof:
    case ExportFormat::kCollapsed:
    case ExportFormat::kSqlite:
    case ExportFormat::kCsv:
      break;
  }
  return WriteProfile(session, arguments);
}

}  // namespace anttracks::analyzer
