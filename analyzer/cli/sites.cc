// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <tuple>
#include <utility>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/counts.h"

namespace anttracks::analyzer {
namespace {

// Ids of the same place are one row; tier and callers are part of the place only on demand.
struct SiteKey {
  std::string site;
  std::string class_name;
  std::string tier;
  std::vector<std::string> callers;
  auto operator<=>(const SiteKey&) const = default;
};

struct SiteRow {
  SiteKey key;
  HeapTotals totals;
};

std::vector<SiteRow> Rows(const Symbols& symbols, const CountByShape& counts, const SitesArguments& arguments) {
  std::map<uint32_t, HeapTotals> by_kind;
  for (uint32_t shape = 0; shape < counts.objects().size(); shape++) {
    const uint64_t objects = counts.objects()[shape];
    if (objects == 0) continue;
    HeapTotals& sum = by_kind[symbols.shapes()[shape].kind];
    sum.objects += objects;
    sum.words += objects * symbols.shapes().words(shape);
  }
  std::map<SiteKey, HeapTotals> by_key;
  for (const auto& [kind_id, totals] : by_kind) {
    const KindInfo& kind = symbols.kind(kind_id);
    SiteKey key{SiteLabel(symbols, kind.site), ClassLabel(symbols, kind.class_id), "", {}};
    if (arguments.tiers) key.tier = TierLabel(symbols, kind.site);
    if (arguments.callers) key.callers = CallerLabels(symbols, kind.site);
    HeapTotals& sum = by_key[std::move(key)];
    sum.objects += totals.objects;
    sum.words += totals.words;
  }
  std::vector<SiteRow> rows;
  for (const auto& [key, totals] : by_key) rows.push_back({key, totals});
  std::stable_sort(rows.begin(), rows.end(), [](const SiteRow& a, const SiteRow& b) {
    return std::pair(a.totals.words, a.totals.objects) > std::pair(b.totals.words, b.totals.objects);
  });
  return rows;
}

HeapTotals Sum(const std::vector<SiteRow>& rows) {
  HeapTotals all;
  for (const SiteRow& row : rows) {
    all.objects += row.totals.objects;
    all.words += row.totals.words;
  }
  return all;
}

nlohmann::ordered_json ToJson(const std::vector<SiteRow>& rows, const SitesArguments& arguments, size_t top) {
  auto list = nlohmann::ordered_json::array();
  for (const SiteRow& row : rows) {
    if (top != 0 && list.size() == top) break;
    nlohmann::ordered_json entry{{"site", row.key.site}, {"class", row.key.class_name}};
    if (arguments.tiers) entry["tier"] = row.key.tier;
    if (arguments.callers) entry["callers"] = row.key.callers;
    entry["objects"] = row.totals.objects;
    entry["bytes"] = row.totals.words * 8;
    list.push_back(std::move(entry));
  }
  const HeapTotals all = Sum(rows);
  nlohmann::ordered_json json;
  json["objects"] = all.objects;
  json["bytes"] = all.words * 8;
  json["sites"] = std::move(list);
  return json;
}

std::string ToText(const std::vector<SiteRow>& rows, const SitesArguments& arguments, size_t top) {
  const HeapTotals all = Sum(rows);
  std::vector<Table::Column> columns = {{"Objects"}, {"Share"}, {"Bytes"}, {"Share"}};
  if (arguments.tiers) columns.push_back({"Tier", Table::Align::kLeft});
  columns.push_back({"Class", Table::Align::kLeft});
  columns.push_back({"Site", Table::Align::kLeft});
  Table table(std::move(columns));
  size_t shown = 0;
  for (const SiteRow& row : rows) {
    if (top != 0 && shown == top) break;
    shown++;
    std::vector<std::string> cells = {Count(row.totals.objects), Percent(row.totals.objects, all.objects),
                                      Count(row.totals.words * 8), Percent(row.totals.words, all.words)};
    if (arguments.tiers) cells.push_back(row.key.tier);
    cells.push_back(Printable(row.key.class_name));
    cells.push_back(Printable(row.key.site));
    const size_t width = cells.size();
    table.Add(std::move(cells));
    for (const std::string& caller : row.key.callers) {
      std::vector<std::string> line(width);
      line.back() = "  <- " + Printable(caller);
      table.Add(std::move(line));
    }
  }
  std::string text = fmt::format("allocated: {}, {}, {}\n\n", Plural(all.objects, "object"), Bytes(all.words * 8),
                                 Plural(rows.size(), "row"));
  text += table.ToString();
  if (shown < rows.size()) text += fmt::format("  ... and {} more (--top 0 shows all)\n", Count(rows.size() - shown));
  return text;
}

}  // namespace

int RunSites(Session& session, const SitesArguments& arguments) {
  if (!session.Open()) return kExitUnreadable;
  Problems problems;
  Symbols symbols(problems);
  CountByShape counts;
  const PassSummary summary = session.Run(symbols, problems, counts);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  const std::vector<SiteRow> rows = Rows(symbols, counts, arguments);
  session.out << (session.json ? JsonText(ToJson(rows, arguments, session.top))
                               : ToText(rows, arguments, session.top));
  return session.Finish(summary, problems);
}

}  // namespace anttracks::analyzer
