// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/quality.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/report.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

struct Summary {
  const QualityRow* sync = nullptr;  // the first one
  const QualityRow* last = nullptr;  // collection
  uint64_t gcs = 0;                  // whose heap is known
  double mean = 0;                   // quality after them
};

Summary Summarize(const std::vector<QualityRow>& rows) {
  Summary summary;
  double sum = 0;
  for (const QualityRow& row : rows) {
    if (!row.known) continue;
    if (row.is_sync) {
      if (summary.sync == nullptr) summary.sync = &row;
      continue;
    }
    summary.last = &row;
    summary.gcs++;
    sum += Share(row.complete, row.objects);
  }
  if (summary.gcs != 0) summary.mean = sum / static_cast<double>(summary.gcs);
  return summary;
}

std::string Text(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string SummaryText(const Summary& summary) {
  if (summary.sync == nullptr) return "no complete sync point in the trace: the heap is known nowhere\n";
  std::string text = fmt::format("complete information: {} of the objects at the first sync point",
                                 Text(Share(summary.sync->complete, summary.sync->objects)));
  if (summary.last != nullptr) {
    text += fmt::format(", {} after GC {}, mean of {} {}",
                        Text(Share(summary.last->complete, summary.last->objects)), summary.last->gc,
                        Plural(summary.gcs, "GC"), Text(summary.mean));
  }
  return text + "\n";
}

Row CellsOf(const QualityRow& row) {
  const auto share = [&](uint64_t part) {
    return Cell(part, row.known ? Percent(part, row.objects) : std::string("?"));
  };
  const std::string kind(row.is_sync ? "sync point" : GcLabel(row.kind));
  return {row.is_sync ? Cell(nullptr) : Cell(row.gc),
          kind,
          row.time_ns,
          row.known,
          Cell(row.objects, row.known ? "" : "?"),
          share(row.complete),
          share(row.with_class),
          share(row.with_size),
          share(row.with_site),
          share(row.with_thread),
          share(row.with_time),
          row.known ? Cell(Share(row.complete, row.objects)) : Cell(nullptr)};
}

Report ReportOf(const std::vector<QualityRow>& rows) {
  const Summary summary = Summarize(rows);
  const auto quality = [](const QualityRow* row) {
    return row == nullptr ? nlohmann::ordered_json()
                          : nlohmann::ordered_json(Share(row->complete, row->objects));
  };
  Report report;
  report.head["first_sync_point"] = quality(summary.sync);
  report.head["last_gc"] = quality(summary.last);
  report.head["mean_of_gcs"] =
      summary.gcs == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(summary.mean);
  report.columns = {{.key = "gc", .title = "GC", .unit = Unit::kId},
                    {.key = "kind", .title = "Kind"},
                    {.key = "time_ns", .title = "Time", .unit = Unit::kNs},
                    {.key = "known", .unit = Unit::kFlag, .where = Where::kInData},
                    {.key = "objects", .title = "Live", .unit = Unit::kCount},
                    {.key = "complete", .title = "Complete", .unit = Unit::kCount},
                    {.key = "with_class", .title = "Class", .unit = Unit::kCount},
                    {.key = "with_size", .title = "Size", .unit = Unit::kCount},
                    {.key = "with_site", .title = "Site", .unit = Unit::kCount},
                    {.key = "with_thread", .title = "Thread", .unit = Unit::kCount},
                    {.key = "with_time", .title = "Alloc time", .unit = Unit::kCount},
                    {.key = "quality", .unit = Unit::kShare, .where = Where::kInData}};
  for (const QualityRow& row : rows) report.rows.push_back(CellsOf(row));
  report.if_empty = SummaryText(summary);
  report.footing = "\n" + SummaryText(summary);
  return report;
}

}  // namespace

int RunQuality(Session& session) {
  Problems problems;
  Definitions definitions(problems);
  Quality quality(definitions, problems);
  const PassSummary pass = session.Run(definitions, problems, quality);
  if (!pass.fatal.ok()) return session.Unreadable(pass.fatal);
  Report report = ReportOf(quality.rows());
  report.notes.push_back(LeftOutNote(quality.walks_left_out()));
  if (quality.walks_left_out() != 0) report.footing += "?: " + report.notes.back() + "\n";
  Print(session, report);
  return session.Finish(pass, problems);
}

}  // namespace anttracks::analyzer
