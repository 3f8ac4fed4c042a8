// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/quality.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
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
    text += fmt::format(", {} after GC {}, mean of {} {}", Text(Share(summary.last->complete, summary.last->objects)),
                        summary.last->gc, Plural(summary.gcs, "GC"), Text(summary.mean));
  }
  return text + "\n";
}

std::string ToText(const std::vector<QualityRow>& rows) {
  Table table({{"GC"},
               {"Kind", Table::Align::kLeft},
               {"Time"},
               {"Live"},
               {"Complete"},
               {"Class"},
               {"Size"},
               {"Site"},
               {"Thread"},
               {"Alloc time"}});
  for (const QualityRow& row : rows) {
    const auto share = [&](uint64_t part) { return row.known ? Percent(part, row.objects) : std::string("?"); };
    table.Add({row.is_sync ? "-" : std::to_string(row.gc), row.is_sync ? "sync point" : std::string(GcLabel(row.kind)),
               Duration(row.time_ns), row.known ? Count(row.objects) : "?", share(row.complete),
               share(row.with_class), share(row.with_size), share(row.with_site), share(row.with_thread),
               share(row.with_time)});
  }
  return table.empty() ? std::string() : table.ToString() + "\n";
}

nlohmann::ordered_json ToJson(const QualityRow& row) {
  nlohmann::ordered_json json;
  json["gc"] = row.is_sync ? nlohmann::ordered_json() : nlohmann::ordered_json(row.gc);
  json["kind"] = row.is_sync ? "sync point" : std::string(GcLabel(row.kind));
  json["time_ns"] = row.time_ns;
  json["known"] = row.known;
  json["objects"] = row.objects;
  json["complete"] = row.complete;
  json["with_class"] = row.with_class;
  json["with_size"] = row.with_size;
  json["with_site"] = row.with_site;
  json["with_thread"] = row.with_thread;
  json["with_time"] = row.with_time;
  json["quality"] = row.known ? nlohmann::ordered_json(Share(row.complete, row.objects)) : nlohmann::ordered_json();
  return json;
}

nlohmann::ordered_json ToJson(const std::vector<QualityRow>& rows, const Summary& summary) {
  const auto quality = [](const QualityRow* row) {
    return row == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(Share(row->complete, row->objects));
  };
  nlohmann::ordered_json json;
  json["first_sync_point"] = quality(summary.sync);
  json["last_gc"] = quality(summary.last);
  json["mean_of_gcs"] = summary.gcs == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(summary.mean);
  json["rows"] = nlohmann::ordered_json::array();
  for (const QualityRow& row : rows) json["rows"].push_back(ToJson(row));
  return json;
}

}  // namespace

int RunQuality(Session& session) {
  if (!session.Open()) return kExitUnreadable;
  Problems problems;
  Definitions definitions(problems);
  Quality quality(definitions, problems);
  const PassSummary pass = session.Run(definitions, problems, quality);
  if (!pass.fatal.ok()) return session.Unreadable(pass.fatal);
  const Summary summary = Summarize(quality.rows());
  if (session.json) {
    session.out << JsonText(ToJson(quality.rows(), summary));
  } else {
    session.out << ToText(quality.rows()) << SummaryText(summary);
  }
  return session.Finish(pass, problems);
}

}  // namespace anttracks::analyzer
