// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/counts.h"

namespace anttracks::analyzer {
namespace {

struct ThreadRow {
  uint64_t id = 0;
  CountByThread::Row counts;
  uint64_t bytes() const { return counts.words() * 8; }
};

std::vector<ThreadRow> Rows(const Definitions& definitions, CountByThread& counts) {
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

nlohmann::ordered_json ToJson(const Definitions& definitions, const ThreadRow& row, bool estimated) {
  const ThreadInfo& info = definitions.thread(row.id);
  const Estimated objects = row.counts.objects();
  nlohmann::ordered_json json{{"id", row.id}, {"java_id", info.java_id}, {"os_id", info.os_id}, {"name", info.name}};
  json["objects"] = Rounded(objects.value);
  if (estimated) {
    json["objects_low"] = Rounded(objects.low);
    json["objects_high"] = Rounded(objects.high);
  }
  json["bytes"] = row.bytes();
  if (estimated) json["skipped_bytes"] = row.counts.chosen.skipped_words() * 8;
  json["outside_tlab_objects"] = row.counts.outside.objects;
  json["outside_tlab_bytes"] = row.counts.outside.words * 8;
  return json;
}

// "1,234", or "~1,234 (1,200 to 1,270)"
std::string ObjectsText(const Estimated& objects, bool estimated) {
  if (!estimated) return Count(Rounded(objects.value));
  return AboutCount(objects.value) + " (" + Count(Rounded(objects.low)) + " to " + Count(Rounded(objects.high)) + ")";
}

std::string ToText(const Definitions& definitions, const std::vector<ThreadRow>& rows, bool estimated, size_t top) {
  uint64_t bytes = 0, outside = 0;
  Estimated objects;
  for (const ThreadRow& row : rows) {
    const Estimated of_row = row.counts.objects();
    objects = {objects.value + of_row.value, objects.low + of_row.low, objects.high + of_row.high};
    bytes += row.bytes();
    outside += row.counts.outside.objects;
  }
  Table table({{"Id"}, {"Java id"}, {estimated ? "Est. objects (95 %)" : "Objects"}, {"Bytes"}, {"Share"}, {"Outside TLABs"},
               {"Name", Table::Align::kLeft}});
  size_t shown = 0;
  for (const ThreadRow& row : rows) {
    if (top != 0 && shown++ == top) break;
    const ThreadInfo& info = definitions.thread(row.id);
    table.Add({std::to_string(row.id), info.java_id == 0 ? "-" : std::to_string(info.java_id),
               ObjectsText(row.counts.objects(), estimated), Count(row.bytes()), Percent(row.bytes(), bytes),
               Count(row.counts.outside.objects), info.defined ? Printable(info.name) : "<unknown>"});
  }
  table.AddRule();
  table.Add({"", "", ObjectsText(objects, estimated), Count(bytes), Percent(bytes, bytes), Count(outside),
             Plural(rows.size(), "thread")});
  return table.ToString();
}

}  // namespace

int RunThreads(Session& session) {
  if (!session.Open()) return kExitUnreadable;
  Problems problems;
  Definitions definitions(problems);
  CountByThread counts(definitions);
  const PassSummary summary = session.Run(definitions, problems, counts);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  const std::vector<ThreadRow> rows = Rows(definitions, counts);
  if (session.json) {
    auto list = nlohmann::ordered_json::array();
    for (const ThreadRow& row : rows) list.push_back(ToJson(definitions, row, counts.estimates()));
    session.out << JsonText({{"threads", list}});
  } else {
    session.out << ToText(definitions, rows, counts.estimates(), session.top);
  }
  return session.Finish(summary, problems);
}

}  // namespace anttracks::analyzer
