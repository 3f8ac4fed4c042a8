// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

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
  return {{"id", gc.id},
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
          {"live", totals(gc.live)}};
}

std::string ToText(const std::vector<GcRecord>& gcs) {
  using Align = Table::Align;
  Table table({{"GC"},
               {"Kind", Align::kLeft},
               {"Cause", Align::kLeft},
               {"Start"},
               {"Duration"},
               {"Before"},
               {"After"},
               {"Moved"},
               {"Stayed"},
               {"Died"},
               {"Live"}});
  for (const GcRecord& gc : gcs) {
    table.Add({std::to_string(gc.id), std::string(GcLabel(gc.kind)), Printable(gc.cause), Duration(gc.begin_ns),
               Duration(gc.end_ns - gc.begin_ns), Bytes(gc.used_before), Bytes(gc.used_after),
               Count(gc.moved.objects), Count(gc.stayed.objects), Count(gc.died.objects), Count(gc.live.objects)});
  }
  return table.ToString();
}

}  // namespace

int RunGcs(Session& session) {
  if (!session.Open()) return kExitUnreadable;
  Problems problems;
  Symbols symbols(problems);
  Rebuild rebuild(symbols, problems, {});
  const PassSummary summary = session.Run(symbols, problems, rebuild);
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
