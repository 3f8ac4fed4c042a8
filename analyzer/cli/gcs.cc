// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "analyzer/cli/census.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/report.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/rebuild.h"

namespace anttracks::analyzer {
namespace {

constexpr const char* kNoGc = "no collection in the trace\n";

// Asked for each collection in the order of the trace. A collection is behind those before it, and not behind
// itself.
class GcWindow {
 public:
  explicit GcWindow(const Selection& selection) : selection_(selection), marks_(selection.marks()) {}
  bool HasNext(uint64_t id, uint64_t begin_ns) {
    const bool has = selection_.InWindow(marks_.At(begin_ns));
    marks_.GcEnd(id);
    return has;
  }

 private:
  const Selection& selection_;
  Marks marks_;
};

// As ShowSelection; with an empty table, too.
void ShowWindow(const Selection& selection, Report* report) {
  if (selection.all()) return;
  const std::string heading = std::exchange(report->heading, "");
  ShowSelection(selection, report);
  if (report->rows.empty()) report->if_empty = report->heading + "no collection in the window\n";
  report->heading += heading.empty() ? "\n" : heading;
}

std::vector<Column> TimeColumns() {
  return {{.key = "start_ns", .title = "Start", .unit = Unit::kNs},
          {.key = "duration_ns", .title = "Duration", .unit = Unit::kNs}};
}

// NAME.objects, in the table, and NAME.bytes.
void AddTotalsColumns(std::vector<Column>* columns, const std::string& name, const std::string& title) {
  const Where where = title.empty() ? Where::kInData : Where::kEverywhere;
  columns->push_back({.key = name + ".objects", .title = title, .unit = Unit::kCount, .where = where});
  columns->push_back({.key = name + ".bytes", .unit = Unit::kBytes, .where = Where::kInData});
}

bool HasSkipped(const GcRecord& gc) { return gc.skipped_words != 0; }

std::vector<Column> ColumnsFor(const std::vector<GcRecord>& gcs) {
  const bool any_sync =
      std::any_of(gcs.begin(), gcs.end(), [](const GcRecord& gc) { return gc.sync != SyncState::kNone; });
  std::vector<Column> columns{{.key = "id", .title = "GC", .unit = Unit::kId},
                              {.key = "kind", .title = "Kind"},
                              {.key = "cause", .title = "Cause"}};
  for (Column& column : TimeColumns()) columns.push_back(std::move(column));
  columns.push_back({.key = "bytes_before", .title = "Before", .unit = Unit::kRoundedBytes});
  columns.push_back({.key = "bytes_after", .title = "After", .unit = Unit::kRoundedBytes});
  AddTotalsColumns(&columns, "moved", "Moved");
  AddTotalsColumns(&columns, "stayed", "Stayed");
  AddTotalsColumns(&columns, "died", "Died");
  AddTotalsColumns(&columns, "fillers", "");
  AddTotalsColumns(&columns, "live", "Live");
  columns.push_back({.key = "exact", .unit = Unit::kFlag, .where = Where::kInData});
  columns.push_back(
      {.key = "sync_point", .title = "Sync point", .where = any_sync ? Where::kEverywhere : Where::kInData});
  if (std::none_of(gcs.begin(), gcs.end(), HasSkipped)) return columns;
  columns.push_back({.key = "skipped_bytes", .unit = Unit::kBytes, .where = Where::kInData});
  AddTotalsColumns(&columns, "found", "");
  return columns;
}

// any_skipped: in some collection, so that there are columns for it.
Row CellsOf(const GcRecord& gc, bool any_skipped) {
  Row cells{gc.id,        std::string(GcLabel(gc.kind)), gc.cause,
            gc.begin_ns,  gc.end_ns - gc.begin_ns,       gc.used_before,
            gc.used_after};
  const auto add = [&](const HeapTotals& totals, const char* before = "") {
    cells.emplace_back(totals.objects, gc.exact ? before + Count(totals.objects) : before + std::string("?"));
    cells.emplace_back(totals.bytes());
  };
  add(gc.moved);
  add(gc.stayed);
  add(gc.died,
      gc.exact && HasSkipped(gc) ? ">= " : "");  // how many objects of what was skipped died is not known
  add(gc.fillers);
  add(gc.live);
  cells.emplace_back(gc.exact);
  const bool sync = gc.sync != SyncState::kNone;
  cells.push_back(sync ? Cell(std::string(SyncLabel(gc.sync))) : Cell(nullptr, " "));
  if (!any_skipped) return cells;
  if (HasSkipped(gc)) {
    cells.insert(cells.end(), {InBytes(gc.skipped_words), gc.found.objects, gc.found.bytes()});
  } else {
    cells.insert(cells.end(), 3, Cell(Value()));
  }
  return cells;
}

Report ReportOf(const std::vector<GcRecord>& gcs) {
  const bool any_skipped = std::any_of(gcs.begin(), gcs.end(), HasSkipped);
  Report report;
  report.rows_key = "gcs";
  report.if_empty = kNoGc;
  report.columns = ColumnsFor(gcs);
  for (const GcRecord& gc : gcs) report.rows.push_back(CellsOf(gc, any_skipped));
  const bool exact = std::all_of(gcs.begin(), gcs.end(), [](const GcRecord& gc) { return gc.exact; });
  if (!exact)
    report.notes.push_back("where exact is false, the heap was not known: numbers of objects are incomplete");
  if (any_skipped) report.notes.push_back("where bytes were skipped, more objects died than are counted");
  return report;
}

// What lived after a collection, and what was allocated and died since the one before.
struct SampledGc {
  Sampled::Gc gc;
  Estimate live, died;
};

// Sums of births and deaths by collection: one look at each sample whatever the number of collections.
std::vector<SampledGc> RowsOf(const Sampled& sampled) {
  std::map<uint64_t, Estimate> born, died;
  for (const SampledObject& sample : sampled.samples()) {
    born[sample.born].Add(sampled.Of(sample));
    if (sample.died == SampledObject::kAlive) continue;
    // One that was recorded only after the collection that freed it had begun never lived after one.
    died[std::max(sample.died, sample.born + 1)].Add(sampled.Of(sample));
  }
  std::vector<SampledGc> rows;
  Estimate made, gone;
  auto next_born = born.begin(), next_died = died.begin();
  for (const Sampled::Gc& gc : sampled.gcs()) {
    SampledGc row{gc, {}, {}};
    for (; next_born != born.end() && next_born->first <= gc.id; ++next_born) made.Add(next_born->second);
    for (; next_died != died.end() && next_died->first <= gc.id + 1; ++next_died)
      row.died.Add(next_died->second);
    gone.Add(row.died);
    row.live = {made.samples - std::min(made.samples, gone.samples), std::max(0.0, made.objects - gone.objects),
                std::max(0.0, made.bytes - gone.bytes)};
    rows.push_back(row);
  }
  return rows;
}

Estimated Point(double value) { return {value, value, value}; }

Report ReportOf(const Sampled& sampled, const Selection& selection) {
  const auto estimate = Accuracy::kEstimate;
  Report report;
  report.rows_key = "gcs";
  report.head = EstimatesJson(sampled);
  report.notes = {EstimatesNote(sampled)};
  report.heading = report.notes[0] + "\n\n";
  report.if_empty = kNoGc;
  report.columns = {{.key = "id", .title = "GC", .unit = Unit::kId},
                    {.key = "kind", .where = Where::kInData},
                    {.key = "cause", .where = Where::kInData}};
  for (Column& column : TimeColumns()) report.columns.push_back(std::move(column));
  const Column more[] = {
      {.key = "live.objects", .title = "Live objects", .unit = Unit::kCount, .accuracy = estimate},
      {.key = "live.bytes", .title = "Live bytes", .unit = Unit::kRoundedBytes, .accuracy = estimate},
      {.key = "live.samples", .title = "Live samples", .unit = Unit::kCount},
      {.key = "died.objects", .unit = Unit::kCount, .accuracy = estimate, .where = Where::kInData},
      {.key = "died.bytes", .title = "Died", .unit = Unit::kRoundedBytes, .accuracy = estimate},
      {.key = "died.samples", .unit = Unit::kCount, .where = Where::kInData}};
  report.columns.insert(report.columns.end(), std::begin(more), std::end(more));
  report.text_order = {"id",           "start_ns",   "duration_ns", "live.samples",
                       "live.objects", "live.bytes", "died.bytes"};
  GcWindow window(selection);
  for (const auto& [gc, live, died] : RowsOf(sampled)) {
    if (!window.HasNext(gc.id, gc.begin_ns)) continue;
    report.rows.push_back({gc.id, nullptr, nullptr, gc.begin_ns, gc.end_ns - gc.begin_ns, Point(live.objects),
                           Point(live.bytes), live.samples, Point(died.objects), Point(died.bytes),
                           died.samples});
  }
  return report;
}

// The collections that a census follows.
Report ReportOf(const Censuses& censuses) {
  Report report;
  report.rows_key = "gcs";
  report.if_empty = std::string(kNoCensus) + "\n";
  report.columns = {{.key = "id", .title = "GC", .unit = Unit::kId},
                    {.key = "kind", .title = "Kind"},
                    {.key = "old_space", .title = "Old space", .unit = Unit::kFlag},
                    {.key = "time_ns", .title = "At", .unit = Unit::kNs},
                    {.key = "count_ns", .title = "Counted in", .unit = Unit::kNs},
                    {.key = "collections", .title = "GCs so far", .unit = Unit::kCount},
                    {.key = "allocated_bytes", .title = "Allocated so far", .unit = Unit::kBytes}};
  for (const char* key : {"used.eden", "used.survivor", "used.old", "used.humongous", "used.archive"})
    report.columns.push_back({.key = key, .unit = Unit::kBytes, .where = Where::kInData});
  report.columns.push_back({.key = "live.objects", .title = "Objects", .unit = Unit::kCount});
  report.columns.push_back({.key = "live.bytes", .title = "Bytes", .unit = Unit::kBytes});
  for (const CensusEvent& census : censuses.events()) {
    const auto used = [&census](SpaceKind kind) {
      return InBytes(census.used_words[static_cast<size_t>(kind)]);
    };
    report.rows.push_back({census.gc, std::string(GcLabel(census.kind)), census.old_space, census.time,
                           census.duration, census.collections, InBytes(census.allocated_words),
                           used(SpaceKind::kEden), used(SpaceKind::kSurvivor), used(SpaceKind::kOld),
                           used(SpaceKind::kHumongous), used(SpaceKind::kArchive), census.objects,
                           InBytes(census.words)});
  }
  return report;
}

}  // namespace

int RunGcs(Session& session, const GcsArguments& arguments) {
  const Selection& selection = arguments.selection;
  if (const auto exit = CheckWindow(session, selection, false)) return *exit;
  Problems problems;
  Definitions definitions(problems);
  Rebuild rebuild(definitions, problems, {});
  const PassSummary summary = session.Run(definitions, problems, rebuild);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  if (const auto exit = CheckGcs(session, summary, selection, rebuild.GcIds())) return *exit;
  std::vector<GcRecord> gcs;
  GcWindow window(selection);
  for (const GcRecord& gc : rebuild.gcs())
    if (window.HasNext(gc.id, gc.begin_ns)) gcs.push_back(gc);
  Report report = ReportOf(gcs);
  ShowWindow(selection, &report);
  Print(session, report);
  return session.Finish(summary, problems);
}

int RunSampledGcs(Session& session, const GcsArguments& arguments) {
  const Selection& selection = arguments.selection;
  if (const auto exit = CheckWindow(session, selection, false)) return *exit;
  const SampledTrace trace(session);
  if (!trace.summary.fatal.ok()) return session.Unreadable(trace.summary.fatal);
  if (const auto exit = CheckGcs(session, trace.summary, selection, trace.GcIds())) return *exit;
  Report report = ReportOf(trace.sampled, selection);
  ShowWindow(selection, &report);
  Print(session, report);
  return session.Finish(trace.summary, trace.problems);
}

int RunCensusGcs(Session& session, const GcsArguments& arguments) {
  if (arguments.selection.from || arguments.selection.to)
    return session.NotInCensuses("a window of time shows only what was allocated in it");
  const CensusTrace trace(session);
  if (!trace.summary.fatal.ok()) return session.Unreadable(trace.summary.fatal);
  Print(session, ReportOf(trace.censuses));
  return session.Finish(trace.summary, trace.problems);
}

}  // namespace anttracks::analyzer
