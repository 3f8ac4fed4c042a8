// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/counts.h"

namespace anttracks::analyzer {
namespace {

struct ThreadRow {
  uint64_t id = 0;
  CountByThread::Row counts;
  uint64_t objects() const { return counts.tlab.objects + counts.outside.objects; }
  uint64_t bytes() const { return (counts.tlab.words + counts.outside.words) * 8; }
};

std::vector<ThreadRow> Rows(const Symbols& symbols, const CountByThread& counts) {
  std::vector<ThreadRow> rows;
  for (const auto& [id, row] : counts.rows()) rows.push_back({id, row});
  symbols.ForEachThread([&](uint64_t id, const ThreadInfo&) {
    if (counts.rows().count(id) == 0) rows.push_back({id, {}});
  });
  std::stable_sort(rows.begin(), rows.end(), [](const ThreadRow& a, const ThreadRow& b) {
    return std::pair(b.bytes(), a.id) < std::pair(a.bytes(), b.id);
  });
  return rows;
}

nlohmann::ordered_json ToJson(const Symbols& symbols, const ThreadRow& row) {
  const ThreadInfo& info = symbols.thread(row.id);
  return {{"id", row.id},
          {"java_id", info.java_id},
          {"os_id", info.os_id},
          {"name", info.name},
          {"objects", row.objects()},
          {"bytes", row.bytes()},
          {"outside_tlab_objects", row.counts.outside.objects},
          {"outside_tlab_bytes", row.counts.outside.words * 8}};
}

std::string ToText(const Symbols& symbols, const std::vector<ThreadRow>& rows, size_t top) {
  uint64_t objects = 0, bytes = 0, outside = 0;
  for (const ThreadRow& row : rows) {
    objects += row.objects();
    bytes += row.bytes();
    outside += row.counts.outside.objects;
  }
  Table table({{"Id"}, {"Java id"}, {"Objects"}, {"Bytes"}, {"Share"}, {"Outside TLABs"},
               {"Name", Table::Align::kLeft}});
  size_t shown = 0;
  for (const ThreadRow& row : rows) {
    if (top != 0 && shown++ == top) break;
    const ThreadInfo& info = symbols.thread(row.id);
    table.Add({std::to_string(row.id), info.java_id == 0 ? "-" : std::to_string(info.java_id),
               Count(row.objects()), Count(row.bytes()), Percent(row.bytes(), bytes),
               Count(row.counts.outside.objects), info.defined ? Printable(info.name) : "<unknown>"});
  }
  table.AddRule();
  table.Add({"", "", Count(objects), Count(bytes), Percent(bytes, bytes), Count(outside),
             Plural(rows.size(), "thread")});
  return table.ToString();
}

}  // namespace

int RunThreads(Session& session) {
  if (!session.Open()) return kExitUnreadable;
  Problems problems;
  Symbols symbols(problems);
  CountByThread counts(symbols);
  const PassSummary summary = session.Run(symbols, problems, counts);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  const std::vector<ThreadRow> rows = Rows(symbols, counts);
  if (session.json) {
    auto list = nlohmann::ordered_json::array();
    for (const ThreadRow& row : rows) list.push_back(ToJson(symbols, row));
    session.out << JsonText({{"threads", list}});
  } else {
    session.out << ToText(symbols, rows, session.top);
  }
  return session.Finish(summary, problems);
}

}  // namespace anttracks::analyzer
