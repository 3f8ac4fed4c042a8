// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "analyzer/cli/amount.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/moment.h"
#include "analyzer/cli/sampled.h"
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

struct SiteAmounts {
  Amount allocated, live;

  void Add(const SiteAmounts& other) {
    allocated.Add(other.allocated);
    live.Add(other.live);
  }
};

struct SiteRow {
  SiteKey key;
  SiteAmounts amounts;
};

using BySiteClass = std::map<uint64_t, SiteAmounts>;

std::vector<SiteRow> RowsOf(const Definitions& definitions, const BySiteClass& by_site_class,
                            const SitesArguments& arguments) {
  std::map<SiteKey, SiteAmounts> by_key;
  for (const auto& [id, amounts] : by_site_class) {
    const SiteClass& pair = definitions.site_class(id);
    SiteKey key{SiteLabel(definitions, pair.site), ClassLabel(definitions, pair.class_id), "", {}};
    if (arguments.tiers) key.tier = TierLabel(definitions, pair.site);
    if (arguments.callers) key.callers = CallerLabels(definitions, pair.site);
    by_key[std::move(key)].Add(amounts);
  }
  std::vector<SiteRow> rows;
  for (const auto& [key, amounts] : by_key) rows.push_back({key, amounts});
  std::stable_sort(rows.begin(), rows.end(), [](const SiteRow& a, const SiteRow& b) {
    return std::tie(a.amounts.allocated, a.amounts.live) > std::tie(b.amounts.allocated, b.amounts.live);
  });
  return rows;
}

SiteAmounts Sum(const std::vector<SiteRow>& rows) {
  SiteAmounts all;
  for (const SiteRow& row : rows) all.Add(row.amounts);
  return all;
}

// What numbers of the report are.
struct SiteBasis {
  Basis allocated = Basis::kExact, live = Basis::kExact;
};

std::vector<Column> ColumnsFor(const SitesArguments& arguments, SiteBasis basis) {
  std::vector<Column> columns{{.key = "site", .title = "Site"}, {.key = "class", .title = "Class"}};
  if (arguments.tiers) columns.push_back({.key = "tier", .title = "Tier"});
  if (arguments.callers) columns.push_back({.key = "callers", .unit = Unit::kTexts});
  for (Column& column : AmountColumns(basis.allocated)) columns.push_back(std::move(column));
  if (!arguments.live) return columns;
  for (Column& column : LiveColumns(basis.live)) columns.push_back(std::move(column));
  return columns;
}

// The table; head, heading and notes are the caller's.
Report TableOf(const std::vector<SiteRow>& rows, const SitesArguments& arguments, SiteBasis basis) {
  Report report;
  report.rows_key = "sites";
  report.columns = ColumnsFor(arguments, basis);
  report.text_order = {"samples",    "objects", "bytes", "live_samples", "live_objects",
                       "live_bytes", "tier",    "class", "site"};
  for (const SiteRow& row : rows) {
    Row cells{row.key.site, row.key.class_name};
    if (arguments.tiers) cells.emplace_back(row.key.tier);
    if (arguments.callers) cells.emplace_back(row.key.callers);
    row.amounts.allocated.AddCells(&cells, basis.allocated);
    if (arguments.live) row.amounts.live.AddCells(&cells, basis.live);
    report.rows.push_back(std::move(cells));
  }
  return report;
}

std::string AllocatedLine(const Amount& allocated, Basis basis, size_t rows) {
  return fmt::format("allocated: {}, {}\n", allocated.Text(basis), Plural(rows, "row"));
}

// What lives, with --live.
struct Live {
  std::vector<uint64_t> by_shape;
  std::string moment;
  std::optional<uint64_t> gc;
  HeapState state = HeapState::kStart;
  uint64_t unknown_words = 0;
};

BySiteClass AmountsOf(const Definitions& definitions, CountByShape& allocated, const Live& live) {
  BySiteClass by_site_class;
  for (const auto& [id, amount] : allocated.BySiteClass()) by_site_class[id].allocated = Amount(amount);
  for (uint32_t shape = 0; shape < live.by_shape.size(); shape++) {
    const uint64_t objects = live.by_shape[shape];
    if (objects == 0) continue;
    const HeapTotals totals{objects, objects * definitions.shapes().words(shape)};
    by_site_class[definitions.shapes()[shape].site_class].live.Add(Amount(totals));
  }
  return by_site_class;
}

Report ReportOf(const Definitions& definitions, CountByShape& counts, const Live& live,
                const SitesArguments& arguments) {
  const std::vector<SiteRow> rows = RowsOf(definitions, AmountsOf(definitions, counts, live), arguments);
  const SiteAmounts all = Sum(rows);
  const SiteBasis basis{BasisOf(counts), Basis::kExact};
  Report report = TableOf(rows, arguments, basis);
  AddNote(&report.head, counts);
  AddAmount(&report.head, all.allocated, basis.allocated);
  if (const std::string note = NoteOf(counts); !note.empty()) {
    report.notes.push_back(note);
    report.heading = note + "\n";
  }
  report.heading += AllocatedLine(all.allocated, basis.allocated, rows.size());
  if (arguments.live) {
    nlohmann::ordered_json& json = report.head["live"];
    json["gc"] = live.gc ? nlohmann::ordered_json(*live.gc) : nlohmann::ordered_json();
    json["exact"] = live.state == HeapState::kExact && live.unknown_words == 0;
    AddAmount(&json, all.live, basis.live);
    const std::string caveat = Caveat(live.state, live.unknown_words);
    report.heading += fmt::format("live {}: {}{}\n", live.moment, all.live.Text(basis.live), caveat);
    if (!caveat.empty()) report.notes.push_back("live " + live.moment + caveat);
  }
  report.heading += "\n";
  return report;
}

int RunAllocated(Session& session, const SitesArguments& arguments) {
  Problems problems;
  Definitions definitions(problems);
  CountByShape counts(definitions);
  const PassSummary summary = session.Run(definitions, problems, counts);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  Print(session, ReportOf(definitions, counts, {}, arguments));
  return session.Finish(summary, problems);
}

int RunLive(Session& session, const SitesArguments& arguments) {
  Problems problems;
  Definitions definitions(problems);
  LiveAndAllocated sink(definitions, problems, arguments.gc);
  const PassSummary summary = session.Run(definitions, problems, sink);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  if (!summary.has_meta) return session.Finish(summary, problems);
  if (arguments.gc && !sink.found()) return session.NoSuchGc(*arguments.gc, sink.GcIds());
  const Live live{sink.live(), sink.found() ? AfterGc(*sink.found()) : AtEnd(summary.duration_ns), arguments.gc,
                  sink.live_state(), sink.live_unknown_words()};
  Print(session, ReportOf(definitions, sink.allocated(), live, arguments));
  return session.Finish(summary, problems);
}

BySiteClass AmountsOf(const Sampled& sampled, const SitesArguments& arguments) {
  const auto pair = [](const SampledObject& sample) -> uint64_t { return sample.site_class; };
  BySiteClass by_site_class;
  for (const auto& [id, estimate] : sampled.By(pair, [](const SampledObject&) { return true; })) {
    by_site_class[id].allocated = Amount(estimate);
  }
  if (!arguments.live) return by_site_class;
  for (const auto& [id, estimate] :
       sampled.By(pair, [&](const SampledObject& s) { return s.LivesAfter(arguments.gc); })) {
    by_site_class[id].live = Amount(estimate);
  }
  return by_site_class;
}

Report ReportOf(const SampledTrace& trace, const SitesArguments& arguments) {
  const Sampled& sampled = trace.sampled;
  const std::vector<SiteRow> rows = RowsOf(sampled.definitions(), AmountsOf(sampled, arguments), arguments);
  const SiteAmounts all = Sum(rows);
  constexpr Basis kBasis = Basis::kSamples;
  Report report = TableOf(rows, arguments, {kBasis, kBasis});
  report.head = EstimatesJson(sampled);
  AddEstimate(&report.head, all.allocated);
  report.notes = {EstimatesNote(sampled)};
  report.heading = report.notes[0] + "\n" + AllocatedLine(all.allocated, kBasis, rows.size());
  if (arguments.live) {
    nlohmann::ordered_json& json = report.head["live"];
    json["gc"] = arguments.gc ? nlohmann::ordered_json(*arguments.gc) : nlohmann::ordered_json();
    json["lost"] = sampled.lost();
    AddAmount(&json, all.live, kBasis);
    const std::string moment =
        arguments.gc ? fmt::format("after GC {}", *arguments.gc) : "at the end of the trace";
    report.heading += fmt::format("live {}: {}{}\n", moment, all.live.Text(kBasis), trace.Caveat());
    if (!trace.Caveat().empty()) report.notes.push_back("live " + moment + trace.Caveat());
  }
  report.heading += "\n";
  return report;
}

}  // namespace

int RunSites(Session& session, const SitesArguments& arguments) {
  return arguments.live ? RunLive(session, arguments) : RunAllocated(session, arguments);
}

int RunSampledSites(Session& session, const SitesArguments& arguments) {
  if (arguments.tiers) {
    return session.NotInSamples("--tiers: JVM TI does not tell which compiler made the code that allocates");
  }
  const SampledTrace trace(session);
  if (!trace.summary.fatal.ok()) return session.Unreadable(trace.summary.fatal);
  const std::vector<uint64_t> ids = trace.GcIds();
  if (arguments.gc && std::find(ids.begin(), ids.end(), *arguments.gc) == ids.end()) {
    return session.NoSuchGc(*arguments.gc, ids);
  }
  Print(session, ReportOf(trace, arguments));
  return session.Finish(trace.summary, trace.problems);
}

}  // namespace anttracks::analyzer
