// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "analyzer/cli/census.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/leak_rows.h"
#include "analyzer/cli/moment.h"
#include "analyzer/cli/report.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

std::vector<Column> LeakColumns(bool all) {
  std::vector<Column> columns{
      {.key = "verdict", .title = "Verdict", .where = all ? Where::kEverywhere : Where::kInData},
      {.key = "site", .title = "Site"}};
  for (Column& column : ApplicationColumns()) columns.push_back(std::move(column));
  columns.insert(columns.end(),
                 {{.key = "class", .title = "Class"},
                  {.key = "since_gc", .title = "Since GC", .unit = Unit::kId},
                  {.key = "since_ns", .unit = Unit::kNs, .where = Where::kInData},
                  {.key = "then.objects", .unit = Unit::kCount, .where = Where::kInData},
                  {.key = "then.bytes", .title = "Bytes then", .unit = Unit::kBytes},
                  {.key = "now.objects", .title = "Objects now", .unit = Unit::kCount},
                  {.key = "now.bytes", .title = "Bytes now", .unit = Unit::kBytes},
                  {.key = "grown_objects", .unit = Unit::kCount, .where = Where::kInData},
                  {.key = "grown_bytes", .unit = Unit::kBytes, .where = Where::kInData},
                  {.key = "bytes_per_gc", .title = "Per GC", .unit = Unit::kRoundedBytes},
                  {.key = "bytes_per_minute", .title = "Per minute", .unit = Unit::kRoundedBytes},
                  {.key = "oldest_ns", .title = "Oldest", .unit = Unit::kNs},
                  {.key = "freed_objects", .unit = Unit::kCount, .where = Where::kInData},
                  {.key = "share_of_growth", .title = "Of growth", .unit = Unit::kShare}});
  return columns;
}

Cell OldestOf(const LeakRow& row) {
  if (row.oldest_ns) return *row.oldest_ns;
  return Cell(nullptr, row.births_known ? "before trace" : "-");
}

Row CellsOf(const LeakRow& row) {
  const Growth& growth = row.growth;
  Row cells{std::string(VerdictName(growth.verdict)), row.site};
  AddApplicationCells(&cells, row.application, row.site, kNoApplicationFrame);
  cells.insert(cells.end(),
               {row.class_name, row.since_gc, row.since_ns, row.then.objects, row.then.bytes(), row.now.objects,
                row.now.bytes(), growth.objects, row.grown_bytes(), Rounded(row.bytes_per_gc()),
                Rounded(row.bytes_per_minute()), OldestOf(row), growth.freed, row.share});
  return cells;
}

std::string Judged(const Leaks& leaks) {
  if (leaks.censuses) {
    return fmt::format(
        "judged by {} censuses that follow a collection of the old space, the last one GC {} ({}) at {}",
        Count(leaks.old_space_collections), leaks.last->gc, GcLabel(leaks.last->kind),
        Duration(leaks.last->time_ns));
  }
  return fmt::format("judged by {}, the last one GC {} ({}) at {}",
                     Plural(leaks.old_space_collections, "old-space collection"), leaks.last->gc,
                     GcLabel(leaks.last->kind), Duration(leaks.last->time_ns));
}

Report TableOf(const Leaks& leaks, bool all) {
  Report report;
  report.rows_key = "leaks";
  report.columns = LeakColumns(all);
  report.text_order = {
      "verdict",   "then.bytes",      "now.bytes", "now.objects", "bytes_per_gc", "bytes_per_minute",
      "oldest_ns", "share_of_growth", "since_gc",  "class",       "site"};
  for (const LeakRow& row : leaks.rows) {
    if (all ? row.growth.objects != 0 : row.growth.verdict == Verdict::kLeak)
      report.rows.push_back(CellsOf(row));
  }
  report.head["known"] = leaks.why_unknown.empty();
  report.head["old_space_collections"] = leaks.old_space_collections;
  report.head["growing_of_late"] = leaks.CountOf(Verdict::kRecent);
  report.head["gc"] = leaks.last == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(leaks.last->gc);
  if (!leaks.why_unknown.empty()) {
    report.heading = leaks.why_unknown + "\n" + (report.rows.empty() ? "" : "\n");
    report.if_empty = report.heading;
    report.notes.push_back(leaks.why_unknown);
    return report;
  }
  const size_t count = leaks.count();
  report.heading = count == 0 ? fmt::format("no leak: of {} none piles up", Plural(leaks.rows.size(), "site"))
                              : fmt::format("{} up what is never freed",
                                            count == 1 ? "1 site piles" : Count(count) + " sites pile");
  report.heading += ", " + Judged(leaks) + "\n";
  const std::string recent = RecentText(leaks);
  if (!recent.empty()) {
    report.heading += recent + (all ? "\n" : "; --all shows it\n");
    report.notes.push_back(recent);
  }
  if (!report.rows.empty()) report.heading += "\n";
  report.if_empty = report.heading;
  return report;
}

// A row for each site that TableOf shows and each collection that is left of the history.
Report HistoryOf(const Evidence& evidence, const Leaks& leaks, bool all) {
  Report report;
  report.rows_key = "history";
  report.columns = {{.key = "gc", .title = "GC", .unit = Unit::kId},
                    {.key = "kind", .title = "Kind"},
                    {.key = "time_ns", .title = "Time", .unit = Unit::kNs},
                    {.key = "old_space", .unit = Unit::kFlag, .where = Where::kInData},
                    {.key = "objects", .title = "Objects", .unit = Unit::kCount},
                    {.key = "bytes", .title = "Bytes", .unit = Unit::kBytes},
                    {.key = "class", .title = "Class"},
                    {.key = "site", .title = "Site"}};
  const std::vector<const HistoryPoint*> points = evidence.points();
  for (const LeakRow& row : leaks.rows) {
    if (row.growth.verdict != Verdict::kLeak && !(all && row.growth.objects != 0)) continue;
    for (const HistoryPoint* point : points) {
      const HeapTotals live = LiveAt(*point, row.site_classes);
      report.rows.push_back({point->gc, std::string(GcLabel(point->kind)), point->time_ns, point->old_space,
                             live.objects, live.bytes(), row.class_name, row.site});
    }
  }
  report.if_empty = leaks.why_unknown.empty() ? "no leak, so no history (--all shows those of all sites)\n"
                                              : leaks.why_unknown + "\n";
  return report;
}

// Leaves the rows that are selected.
void Choose(Session& session, const Definitions& definitions, const Selection& selection, Leaks* leaks) {
  std::vector<PortionKey> keys;
  for (const LeakRow& row : leaks->rows) {
    for (const uint32_t id : row.site_classes) keys.push_back({.site_class = id});
  }
  TellUnknownNames(session, definitions, keys, selection.where);
  leaks->Choose(definitions, selection);
}

// What both kinds of traces have in common.
void Show(Session& session, const LeaksArguments& arguments, const Evidence& evidence,
          ApplicationSites& applications) {
  Leaks leaks = FindLeaks(evidence, applications);
  const Selection selection{arguments.where, {}, {}};
  Choose(session, evidence.definitions(), selection, &leaks);
  Report report = arguments.history ? HistoryOf(evidence, leaks, arguments.all) : TableOf(leaks, arguments.all);
  const std::string told = std::exchange(report.heading, "");
  ShowSelection(selection, &report);
  report.if_empty = report.heading + report.if_empty;
  report.heading += told;
  Print(session, report);
}

}  // namespace

int RunLeaks(Session& session, const LeaksArguments& arguments) {
  Problems problems;
  Definitions definitions(problems);
  Histories histories(definitions, problems, {.last = arguments.gc, .every = arguments.history});
  const PassSummary summary = session.Run(definitions, problems, histories);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  if (!summary.has_meta) return session.Finish(summary, problems);
  if (arguments.gc && !histories.reached_last())
    return session.NoSuchGc(*arguments.gc, histories.GcIds(), summary);
  histories.FreeHeap();
  const ApplicationFrames frames(arguments.app, arguments.library);
  ApplicationSites applications(definitions, histories.stacks(), frames);
  Show(session, arguments, Evidence(histories), applications);
  PrintNotes(session, {LeftOutNote(histories.walks_left_out())});
  return session.Finish(summary, problems);
}

int RunCensusLeaks(Session& session, const LeaksArguments& arguments) {
  CensusTrace trace(session, arguments.gc);
  if (!trace.summary.fatal.ok()) return session.Unreadable(trace.summary.fatal);
  if (arguments.gc && !trace.censuses.reached_last())
    return session.NoSuchGc(*arguments.gc, trace.censuses.GcIds(), trace.summary);
  const ApplicationFrames frames(arguments.app, arguments.library);
  const StackSamples none;
  ApplicationSites applications(trace.definitions, none, frames);
  Show(session, arguments, Evidence(trace.censuses), applications);
  return session.Finish(trace.summary, trace.problems);
}

}  // namespace anttracks::analyzer
