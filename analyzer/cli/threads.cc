// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "analyzer/cli/amount.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/content.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/counts.h"

namespace anttracks::analyzer {
namespace {

struct ThreadRow {
  uint64_t id = 0;
  CountByThread::Row counts;
  uint64_t bytes() const { return InBytes(counts.words()); }
};

std::vector<ThreadRow> RowsOf(const Definitions& definitions, CountByThread& counts) {
  std::vector<ThreadRow> rows;
  for (const auto& [id, row] : counts.rows()) rows.push_back({id, row});
  definitions.ForEachThread([&](uint64_t id, const ThreadInfo&) {
    if (counts.rows().count(id) == 0) rows.push_back({id, {}});
  });
  std::stable_sort(rows.begin(), rows.end(), [](const ThreadRow& a, const ThreadRow& b) {
    return std::pair(b.bytes(), a.id) < std::pair(a.bytes(), b.id);
  });
  return rows;
}

std::vector<Column> ThreadColumns() {
  return {{.key = "id", .title = "Id", .unit = Unit::kId},
          {.key = "java_id", .title = "Java id", .unit = Unit::kId},
          {.key = "os_id", .unit = Unit::kId, .where = Where::kInData},
          {.key = "name", .title = "Name"}};
}

Row ThreadCells(uint64_t id, const ThreadInfo& info) {
  Cell java_id(info.java_id);
  if (info.java_id == 0) java_id.text = "-";
  return {id, std::move(java_id), info.os_id, Cell(info.name, info.defined ? "" : "<unknown>")};
}

Report TableOf() {
  Report report;
  report.rows_key = "threads";
  report.columns = ThreadColumns();
  report.text_order = {"id", "java_id", "samples", "objects", "bytes", "outside_tlab_objects", "name"};
  return report;
}

Report ReportOf(const Definitions& definitions, CountByThread& counts) {
  const bool estimated = counts.estimates();
  Report report = TableOf();
  report.columns.push_back({.key = "objects",
                            .title = "Objects",
                            .unit = Unit::kCount,
                            .accuracy = estimated ? Accuracy::kInterval : Accuracy::kExact});
  report.columns.push_back({.key = "bytes", .title = "Bytes", .unit = Unit::kBytes, .with_share = true});
  if (estimated)
    report.columns.push_back({.key = "skipped_bytes", .unit = Unit::kBytes, .where = Where::kInData});
  report.columns.push_back({.key = "outside_tlab_objects", .title = "Outside TLABs", .unit = Unit::kCount});
  report.columns.push_back({.key = "outside_tlab_bytes", .unit = Unit::kBytes, .where = Where::kInData});
  const std::vector<ThreadRow> rows = RowsOf(definitions, counts);
  for (const ThreadRow& row : rows) {
    Row cells = ThreadCells(row.id, definitions.thread(row.id));
    const Estimated objects = row.counts.objects();
    cells.push_back(estimated ? Cell(objects) : Cell(Rounded(objects.value)));
    cells.emplace_back(row.bytes());
    if (estimated) cells.emplace_back(InBytes(row.counts.chosen.skipped_words()));
    cells.emplace_back(row.counts.outside.objects);
    cells.emplace_back(row.counts.outside.bytes());
    report.rows.push_back(std::move(cells));
  }
  report.sum_label = Plural(rows.size(), "thread");
  if (estimated)
    report.notes = {"numbers of objects are estimates, bytes are exact; a range is a 95 % interval"};
  return report;
}

Report ReportOf(const Sampled& sampled) {
  std::vector<std::pair<uint64_t, Amount>> rows;
  const auto thread = [](const SampledObject& s) -> uint64_t { return s.thread; };
  for (const auto& [id, estimate] : sampled.By(thread, [](const SampledObject&) { return true; })) {
    rows.emplace_back(id, Amount(estimate));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  Report report = TableOf();
  for (Column& column : AmountColumns(Basis::kSamples)) {
    column.with_share = column.unit == Unit::kBytes;
    report.columns.push_back(std::move(column));
  }
  for (const auto& [id, amount] : rows) {
    Row cells = ThreadCells(id, sampled.definitions().thread(id));
    amount.AddCells(&cells, Basis::kSamples);
    report.rows.push_back(std::move(cells));
  }
  report.sum_label = Plural(rows.size(), "thread") + " with samples";
  report.head = EstimatesJson(sampled);
  report.notes = {EstimatesNote(sampled)};
  report.heading = report.notes[0] + "\n\n";
  return report;
}

// By thread, of the objects that are selected; those of the collector are of no thread.
Report ReportOf(const Content& content, const Selection& selection) {
  std::map<uint64_t, Amount> by_thread;
  Chooser chosen(content.definitions, selection);
  for (const Portion& portion : content.portions) {
    if (chosen(portion.key)) by_thread[portion.key.thread].Add(portion.allocated);
  }
  std::vector<std::pair<uint64_t, Amount>> rows(by_thread.begin(), by_thread.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  Report report = TableOf();
  for (Column& column : AmountColumns(content.allocated)) {
    column.with_share = column.unit == Unit::kBytes;
    report.columns.push_back(std::move(column));
  }
  for (const auto& [id, amount] : rows) {
    Row cells = ThreadCells(id, content.definitions.thread(id));
    amount.AddCells(&cells, content.allocated);
    report.rows.push_back(std::move(cells));
  }
  report.sum_label = Plural(rows.size(), "thread");
  report.head = content.head;
  if (!content.note.empty()) report.notes.push_back(content.note);
  report.heading = content.note + (content.note.empty() ? "" : "\n");
  ShowSelection(selection, &report);
  report.heading += "\n";
  return report;
}

int RunSelected(Session& session, const Selection& selection) {
  int exit = kExitFine;
  const auto content = ReadSelected(session, {selection, true, false, std::nullopt}, &exit);
  if (!content) return exit;
  Print(session, ReportOf(*content, selection));
  return session.Finish(content->summary, content->problems);
}

}  // namespace

int RunThreads(Session& session, const ThreadsArguments& arguments) {
  if (!arguments.selection.all()) return RunSelected(session, arguments.selection);
  Problems problems;
  Definitions definitions(problems);
  CountByThread counts;
  const PassSummary summary = session.Run(definitions, problems, counts);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  Print(session, ReportOf(definitions, counts));
  return session.Finish(summary, problems);
}

int RunSampledThreads(Session& session, const ThreadsArguments& arguments) {
  if (!arguments.selection.all()) return RunSelected(session, arguments.selection);
  const SampledTrace trace(session);
  if (!trace.summary.fatal.ok()) return session.Unreadable(trace.summary.fatal);
  Print(session, ReportOf(trace.sampled));
  return session.Finish(trace.summary, trace.problems);
}

}  // namespace anttracks::analyzer
