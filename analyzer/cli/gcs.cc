// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/rebuild.h"

namespace anttracks::analyzer {
namespace {

nlohmann::ordered_json ToJson(const GcRecord& gc) {
  const auto totals = [](const HeapTotals& t) {
    return nlohmann::ordered_json{{"objects", t.objects}, {"bytes", t.words * 8}};
  };
  nlohmann::ordered_json json{{"id", gc.id},
          {"kind", GcLabel(gc.kind)},
          {"cause", gc.cause},
          {"start_ns", gc.begin_ns},
          {"duration_ns", gc.end_ns - gc.begin_ns},
          {"bytes_before", gc.used_before},
          {"bytes_after", gc.used_after},
          {"moved", totals(gc.moved)},
          {"stayed", totals(gc.stayed)},
          {"died", totals(gc.died)},
          {"fillers", totals(gc.fillers)},
          {"live", totals(gc.live)},
          {"exact", gc.exact},
          {"sync_point", gc.sync == SyncState::kNone ? nlohmann::ordered_json() : SyncLabel(gc.sync)}};
  if (gc.skipped_words == 0) return json;
  json["skipped_bytes"] = gc.skipped_words * 8;  // how many objects of it died is not known
  json["found"] = totals(gc.found);
  return json;
}

std::string ToText(const std::vector<GcRecord>& gcs) {
  using Align = Table::Align;
  const bool any_sync =
      std::any_of(gcs.begin(), gcs.end(), [](const GcRecord& gc) { return gc.sync != SyncState::kNone; });
  std::vector<Table::Column> columns{{"GC"},       {"Kind", Align::kLeft}, {"Cause", Align::kLeft},
                                     {"Start"},    {"Duration"},           {"Before"},
                                     {"After"},    {"Moved"},              {"Stayed"},
                                     {"Died"},     {"Live"}};
  if (any_sync) columns.push_back({"Sync point", Align::kLeft});
  Table table(std::move(columns));
  for (const GcRecord& gc : gcs) {
    const auto objects = [&](const HeapTotals& totals) {
      return gc.exact ? Count(totals.objects) : std::string("?");
    };
    std::vector<std::string> cells{std::to_string(gc.id), std::string(GcLabel(gc.kind)), Printable(gc.cause),
                                   Duration(gc.begin_ns), Duration(gc.end_ns - gc.begin_ns), Bytes(gc.used_before),
                                   Bytes(gc.used_after), objects(gc.moved), objects(gc.stayed),
                                   (gc.exact && gc.skipped_words != 0 ? ">= " : "") + objects(gc.died), objects(gc.live)};
    if (any_sync) cells.emplace_back(SyncLabel(gc.sync));
    table.Add(std::move(cells));
  }
  return table.ToString();
}

}  // namespace

int RunGcs(Session& session) {
  if (!session.Open()) return kExitUnreadable;
  Problems problems;
  Definitions definitions(problems);
  Rebuild rebuild(definitions, problems, {});
  const PassSummary summary = session.Run(definitions, problems, rebuild);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  if (session.json) {
    auto list = nlohmann::ordered_json::array();
    for (const GcRecord& gc : rebuild.gcs()) list.push_back(ToJson(gc));
    session.out << JsonText({{"gcs", list}});
  } else if (rebuild.gcs().empty()) {
    session.out << "no collection in the trace\n";
  } else {
    session.out << ToText(rebuild.gcs());
  }
  return session.Finish(summary, problems);
}

}  // namespace anttracks::analyzer
