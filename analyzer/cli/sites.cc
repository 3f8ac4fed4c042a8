// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <tuple>
#include <utility>

#include "analyzer/cli/allocated.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/moment.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/counts.h"
#include "analyzer/passes/live.h"

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

struct SiteTotals {
  Allocated allocated;
  HeapTotals live;

  void Add(const SiteTotals& other) {
    allocated.Add(other.allocated);
    live.Add(other.live);
  }
};

struct SiteRow {
  SiteKey key;
  SiteTotals totals;
};

// What a pass found, without the names.
struct SiteCounts {
  std::map<uint32_t, SiteTotals> by_site_class;
  const CountByShape* counts = nullptr;
  // With --live only.
  std::string moment;
  std::optional<uint64_t> gc;
  HeapState state = HeapState::kStart;
  uint64_t unknown_words = 0;
};

// live: objects by shape.
std::map<uint32_t, SiteTotals> BySiteClass(const Definitions& definitions, CountByShape& allocated, const std::vector<uint64_t>& live) {
  std::map<uint32_t, SiteTotals> by_site_class;
  for (const auto& [site_class, totals] : allocated.BySiteClass()) by_site_class[site_class].allocated = totals;
  for (uint32_t shape = 0; shape < live.size(); shape++) {
    if (live[shape] == 0) continue;
    by_site_class[definitions.shapes()[shape].site_class].live.Add({live[shape], live[shape] * definitions.shapes().words(shape)});
  }
  return by_site_class;
}

std::vector<SiteRow> Rows(const Definitions& definitions, const SiteCounts& counts, const SitesArguments& arguments) {
  std::map<SiteKey, SiteTotals> by_key;
  for (const auto& [site_class_id, totals] : counts.by_site_class) {
    const SiteClass& site_class = definitions.site_class(site_class_id);
    SiteKey key{SiteLabel(definitions, site_class.site), ClassLabel(definitions, site_class.class_id), "", {}};
    if (arguments.tiers) key.tier = TierLabel(definitions, site_class.site);
    if (arguments.callers) key.callers = CallerLabels(definitions, site_class.site);
    by_key[std::move(key)].Add(totals);
  }
  std::vector<SiteRow> rows;
  for (const auto& [key, totals] : by_key) rows.push_back({key, totals});
  const auto size = [](const SiteRow& row) {
    const auto& [allocated, live] = row.totals;
    return std::tuple(allocated.words.value, allocated.objects.value, live.words, live.objects);
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const SiteRow& a, const SiteRow& b) { return size(a) > size(b); });
  return rows;
}

SiteTotals Sum(const std::vector<SiteRow>& rows) {
  SiteTotals all;
  for (const SiteRow& row : rows) all.Add(row.totals);
  return all;
}

nlohmann::ordered_json ToJson(const std::vector<SiteRow>& rows, const SiteCounts& counts,
                              const SitesArguments& arguments, size_t top) {
  auto list = nlohmann::ordered_json::array();
  for (const SiteRow& row : std::span(rows).first(Shown(rows.size(), top))) {
    nlohmann::ordered_json entry{{"site", row.key.site}, {"class", row.key.class_name}};
    if (arguments.tiers) entry["tier"] = row.key.tier;
    if (arguments.callers) entry["callers"] = row.key.callers;
    AddAllocated(&entry, row.totals.allocated, counts.counts->estimates());
    if (arguments.live) {
      entry["live_objects"] = row.totals.live.objects;
      entry["live_bytes"] = row.totals.live.words * 8;
    }
    list.push_back(std::move(entry));
  }
  const SiteTotals all = Sum(rows);
  nlohmann::ordered_json json;
  AddAllocatedNote(&json, *counts.counts);
  AddAllocated(&json, all.allocated, counts.counts->estimates());
  if (arguments.live) {
    json["live"] = {
        {"gc", nullptr}, {"exact", counts.state == HeapState::kExact && counts.unknown_words == 0}, {"objects", all.live.objects}, {"bytes", all.live.words * 8}};
    if (counts.gc) json["live"]["gc"] = *counts.gc;
  }
  json["sites"] = std::move(list);
  return json;
}

std::vector<Table::Column> Columns(const SitesArguments& arguments, bool estimated) {
  using Align = Table::Align;
  std::vector<Table::Column> columns = AllocatedColumns(estimated);
  if (arguments.live) {
    columns.push_back({"Live objects"});
    columns.push_back({"Live bytes"});
    columns.push_back({"Share"});
  }
  if (arguments.tiers) columns.push_back({"Tier", Align::kLeft});
  columns.push_back({"Class", Align::kLeft});
  columns.push_back({"Site", Align::kLeft});
  return columns;
}

std::vector<std::string> Cells(const SiteRow& row, const SiteTotals& all, const SitesArguments& arguments, bool estimated) {
  const auto& [allocated, live] = row.totals;
  std::vector<std::string> cells = AllocatedCells(allocated, all.allocated, estimated);
  if (arguments.live) {
    cells.push_back(Count(live.objects));
    cells.push_back(Count(live.words * 8));
    cells.push_back(Percent(live.words, all.live.words));
  }
  if (arguments.tiers) cells.push_back(row.key.tier);
  cells.push_back(Printable(row.key.class_name));
  cells.push_back(Printable(row.key.site));
  return cells;
}

std::string ToText(const std::vector<SiteRow>& rows, const SiteCounts& counts, const SitesArguments& arguments,
                   size_t top) {
  const SiteTotals all = Sum(rows);
  const bool estimated = counts.counts->estimates();
  Table table(Columns(arguments, estimated));
  const size_t shown = Shown(rows.size(), top);
  for (const SiteRow& row : std::span(rows).first(shown)) {
    std::vector<std::string> cells = Cells(row, all, arguments, estimated);
    const size_t width = cells.size();
    table.Add(std::move(cells));
    for (const std::string& caller : row.key.callers) {
      std::vector<std::string> line(width);
      line.back() = "  <- " + Printable(caller);
      table.Add(std::move(line));
    }
  }
  std::string text = AllocatedNote(*counts.counts);
  text += fmt::format("allocated: {}, {}\n", AllocatedText(all.allocated, estimated), Plural(rows.size(), "row"));
  if (arguments.live) {
    text += fmt::format("live {}: {}, {}{}\n", counts.moment, Plural(all.live.objects, "object"),
                        Bytes(all.live.words * 8), Caveat(counts.state, counts.unknown_words));
  }
  return text + "\n" + table.ToString() + LeftOut(rows.size(), shown);
}

void Print(Session& session, const Definitions& definitions, const SiteCounts& counts,
           const SitesArguments& arguments) {
  const std::vector<SiteRow> rows = Rows(definitions, counts, arguments);
  session.out << (session.json ? JsonText(ToJson(rows, counts, arguments, session.top))
                               : ToText(rows, counts, arguments, session.top));
}

int RunAllocated(Session& session, const SitesArguments& arguments) {
  Problems problems;
  Definitions definitions(problems);
  CountByShape counts(definitions);
  const PassSummary summary = session.Run(definitions, problems, counts);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  Print(session, definitions, {BySiteClass(definitions, counts, {}), &counts, "", {}, HeapState::kStart, 0}, arguments);
  return session.Finish(summary, problems);
}

int RunLive(Session& session, const SitesArguments& arguments) {
  Problems problems;
  Definitions definitions(problems);
  LiveAndAllocated sink(definitions, problems, arguments.gc);
  const PassSummary summary = session.Run(definitions, problems, sink);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  if (!summary.has_meta) return session.Finish(summary, problems);
  if (arguments.gc && !sink.found()) {
    std::vector<uint64_t> ids;
    for (const GcRecord& gc : sink.gcs()) ids.push_back(gc.id);
    return session.NoSuchGc(*arguments.gc, ids);
  }
  const std::string moment = sink.found() ? AfterGc(*sink.found()) : AtEnd(summary.duration_ns);
  Print(session, definitions,
        {BySiteClass(definitions, sink.allocated(), sink.live()), &sink.allocated(), moment, arguments.gc, sink.live_state(), sink.live_unknown_words()},
        arguments);
  return session.Finish(summary, problems);
}

}  // namespace

int RunSites(Session& session, const SitesArguments& arguments) {
  if (!session.Open()) return kExitUnreadable;
  return arguments.live ? RunLive(session, arguments) : RunAllocated(session, arguments);
}

}  // namespace anttracks::analyzer
