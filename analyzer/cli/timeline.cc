// SPDX-License-Identifier: Apache-2.0
// The program over time, in intervals of equal length: what was allocated, how long collections paused it, and
// what they left in each space.
#include "analyzer/passes/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/report.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

constexpr size_t kBar = 12;  // characters of the longest bar

struct Interval {
  uint64_t begin_ns = 0, end_ns = 0;
  Timeline::Slot allocated;
  uint64_t gcs = 0, pause_ns = 0, longest_ns = 0;
  uint64_t used_before = 0;                    // the most before a collection; 0: there was none
  const Timeline::Collection* last = nullptr;  // in it, or before it

  uint64_t bytes() const { return InBytes(allocated.read.words + allocated.skipped_words); }
  double bytes_per_s() const {
    const double seconds = static_cast<double>(end_ns - begin_ns) / 1e9;
    return seconds <= 0 ? 0 : static_cast<double>(bytes()) / seconds;
  }
  uint64_t used_after() const {
    return last == nullptr ? 0 : std::accumulate(last->used_after.begin(), last->used_after.end(), uint64_t{0});
  }
};

// A time, or the end of a collection. Of the beginning or the end if there is no mark.
uint64_t TimeOf(const std::optional<Mark>& mark, const Timeline& timeline, uint64_t otherwise) {
  if (!mark) return otherwise;
  if (mark->kind == Mark::Kind::kTime) return std::min(mark->number, otherwise == 0 ? UINT64_MAX : otherwise);
  for (const Timeline::Collection& gc : timeline.collections()) {
    if (gc.id == mark->number) return gc.end_ns;
  }
  return otherwise;
}

std::vector<Interval> IntervalsOf(const Timeline& timeline, const Selection& selection, uint64_t end_ns,
                                  size_t count) {
  const uint64_t slot_ns = timeline.slot_ns();
  const uint64_t first = TimeOf(selection.from, timeline, 0) / slot_ns;
  const uint64_t end = std::max(first, TimeOf(selection.to, timeline, end_ns) / slot_ns) + 1;
  std::vector<Interval> intervals(std::min<size_t>(count, end - first));
  const auto ns = [&](uint64_t slot) { return slot > UINT64_MAX / slot_ns ? UINT64_MAX : slot * slot_ns; };
  const auto bound = [&](size_t i) { return first + (end - first) * i / intervals.size(); };
  auto gc = timeline.collections().begin();
  const Timeline::Collection* last = nullptr;
  for (; gc != timeline.collections().end() && gc->begin_ns < ns(first); ++gc) last = &*gc;
  for (size_t i = 0; i < intervals.size(); i++) {
    Interval& interval = intervals[i];
    interval.begin_ns = ns(bound(i));
    interval.end_ns = ns(bound(i + 1));
    if (interval.end_ns > end_ns && end_ns > interval.begin_ns) interval.end_ns = end_ns;
    for (uint64_t slot = bound(i); slot < std::min<uint64_t>(bound(i + 1), timeline.slots().size()); slot++)
      interval.allocated.Add(timeline.slots()[slot]);
    for (; gc != timeline.collections().end() && gc->begin_ns < ns(bound(i + 1)); ++gc) {
      const uint64_t pause = gc->end_ns - gc->begin_ns;
      interval.gcs++;
      interval.pause_ns += pause;
      interval.longest_ns = std::max(interval.longest_ns, pause);
      interval.used_before = std::max(interval.used_before, gc->used_before);
      last = &*gc;
    }
    interval.last = last;
  }
  return intervals;
}

Cell Bar(double value, double most) {
  const double part = most <= 0 ? 0 : value / most;
  const auto length = static_cast<size_t>(part * static_cast<double>(kBar) + 0.5);
  return {nullptr, std::string(std::max<size_t>(length, value > 0 ? 1 : 0), '#') + (value > 0 ? "" : " ")};
}

std::vector<Column> Columns(bool skipped) {
  std::vector<Column> columns{{.key = "begin_ns", .title = "From", .unit = Unit::kNs},
                              {.key = "end_ns", .unit = Unit::kNs, .where = Where::kInData},
                              {.key = skipped ? "read_objects" : "objects",
                               .title = skipped ? "Objects read" : "Objects",
                               .unit = Unit::kCount},
                              {.key = "bytes", .title = "Allocated", .unit = Unit::kRoundedBytes},
                              {.key = "bytes_per_s", .title = "A second", .unit = Unit::kRoundedBytes},
                              {.key = "rate_bar", .title = "Rate", .where = Where::kInText},
                              {.key = "gcs", .title = "GCs", .unit = Unit::kCount},
                              {.key = "pauses_ns", .title = "Pauses", .unit = Unit::kNs},
                              {.key = "longest_ns", .title = "Longest", .unit = Unit::kNs},
                              {.key = "bytes_before", .title = "Heap before", .unit = Unit::kRoundedBytes},
                              {.key = "bytes_after", .title = "After", .unit = Unit::kRoundedBytes}};
  for (size_t kind = 0; kind < Timeline::kSpaces; kind++) {
    const std::string name(SpaceLabel(static_cast<SpaceKind>(kind)));
    const bool shown =
        kind != static_cast<size_t>(SpaceKind::kArchive) && kind != static_cast<size_t>(SpaceKind::kEden);
    std::string title = name;
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    columns.push_back({.key = "after." + name,
                       .title = std::move(title),
                       .unit = Unit::kRoundedBytes,
                       .where = shown ? Where::kEverywhere : Where::kInData});
  }
  columns.push_back({.key = "heap_bar", .title = "Heap", .where = Where::kInText});
  return columns;
}

Report ReportOf(const Timeline& timeline, const TimelineArguments& arguments, uint64_t end_ns) {
  const std::vector<Interval> intervals =
      IntervalsOf(timeline, arguments.selection, end_ns, arguments.intervals);
  const bool skipped = std::any_of(timeline.slots().begin(), timeline.slots().end(),
                                   [](const Timeline::Slot& slot) { return slot.skipped_words != 0; });
  double most_rate = 0, most_heap = 0;
  for (const Interval& interval : intervals) {
    most_rate = std::max(most_rate, interval.bytes_per_s());
    most_heap = std::max(most_heap, static_cast<double>(interval.used_after()));
  }
  Report report;
  report.rows_key = "intervals";
  report.columns = Columns(skipped);
  ShowSelection(arguments.selection, &report);
  if (skipped) {
    report.notes.push_back(arguments.selection.where.empty()
                               ? "some stretches were not read: their bytes count, their objects do not"
                               : "some stretches were not read: their bytes count whatever is selected");
    report.heading += report.notes.back() + "\n";
  }
  if (!report.heading.empty()) report.heading += "\n";
  for (const Interval& interval : intervals) {
    const bool any = interval.last != nullptr;
    Row row{interval.begin_ns, interval.end_ns, interval.allocated.read.objects, interval.bytes(),
            Rounded(interval.bytes_per_s())};
    row.push_back(Bar(interval.bytes_per_s(), most_rate));
    row.insert(row.end(), {interval.gcs, interval.pause_ns, interval.longest_ns});
    row.push_back(interval.gcs == 0 ? Cell(nullptr, " ") : Cell(interval.used_before));
    row.push_back(any ? Cell(interval.used_after()) : Cell(nullptr, " "));
    for (size_t kind = 0; kind < Timeline::kSpaces; kind++)
      row.push_back(any ? Cell(interval.last->used_after[kind]) : Cell(nullptr, " "));
    row.push_back(Bar(static_cast<double>(interval.used_after()), most_heap));
    report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace

int RunTimeline(Session& session, const TimelineArguments& arguments) {
  const Selection& selection = arguments.selection;
  if (const auto exit = CheckWindow(session, selection, false)) return *exit;
  Problems problems;
  Definitions definitions(problems);
  Chooser chosen(definitions, selection);
  std::function<bool(uint32_t)> wanted;
  if (!selection.where.empty()) wanted = [&](uint32_t id) { return chosen.OfAnyTime({.site_class = id}); };
  Timeline timeline(definitions, std::move(wanted));
  const PassSummary summary = session.Run(definitions, problems, timeline);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  std::vector<uint64_t> ids;
  for (const Timeline::Collection& gc : timeline.collections()) ids.push_back(gc.id);
  if (const auto exit = CheckGcs(session, summary, selection, ids)) return *exit;
  timeline.Finish(summary.duration_ns);
  Print(session, ReportOf(timeline, arguments, summary.duration_ns));
  return session.Finish(summary, problems);
}

}  // namespace anttracks::analyzer
