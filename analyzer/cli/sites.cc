// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <tuple>
#include <utility>

#include "analyzer/cli/amount.h"
#include "analyzer/cli/application_sites.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/content.h"
#include "analyzer/cli/grouping.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

// Ids of the same names are one row; callers are part of it only on demand.
struct SiteKey {
  std::vector<std::string> names;  // by the report's fields
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

struct SiteSums {
  SiteAmounts amounts;
  MainApplicationSite application;
};

struct SiteRow {
  SiteKey key;
  SiteAmounts amounts;
  MainApplicationSite application;
};

// What the rows are: a site and a class, unless something else is wanted.
std::vector<Field> FieldsOf(const SitesArguments& arguments) {
  std::vector<Field> fields = arguments.group_by;
  if (fields.empty()) fields = {Field::kSite, Field::kClass};
  const bool has_tier = std::find(fields.begin(), fields.end(), Field::kTier) != fields.end();
  if (arguments.tiers && !has_tier) fields.push_back(Field::kTier);
  return fields;
}

// Of sites; --callers has it among the callers.
bool ShowsApplication(const SitesArguments& arguments) {
  const std::vector<Field> fields = FieldsOf(arguments);
  return !arguments.callers && Has(fields, Field::kSite) && !Has(fields, Field::kAppSite);
}

std::vector<SiteRow> RowsOf(const Content& content, const SitesArguments& arguments) {
  const std::vector<Field> fields = FieldsOf(arguments);
  Chooser chosen(content.definitions, arguments.selection);
  const ApplicationFrames frames(arguments.app, arguments.library);
  ApplicationSites applications(content.definitions, content.stacks, frames, arguments.selection);
  std::map<SiteKey, SiteSums> by_key;
  for (const Portion& portion : content.portions) {
    if (!chosen(portion.key)) continue;
    SiteKey key;
    for (const Field field : fields) key.names.push_back(GroupText(applications, field, portion.key));
    const uint32_t site = content.definitions.site_class(portion.key.site_class).site;
    if (arguments.callers) key.callers = CallerLabels(content.definitions, site);
    SiteSums& sums = by_key[std::move(key)];
    sums.amounts.Add({portion.allocated, portion.live});
    const double allocated = portion.allocated.bytes().value;
    sums.application.Add(applications, site, allocated != 0 ? allocated : portion.live.bytes().value);
  }
  std::vector<SiteRow> rows;
  rows.reserve(by_key.size());
  while (!by_key.empty()) {
    auto row = by_key.extract(by_key.begin());
    rows.push_back({std::move(row.key()), row.mapped().amounts, std::move(row.mapped().application)});
  }
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

std::vector<Column> ColumnsFor(const Content& content, const SitesArguments& arguments) {
  std::vector<Column> columns = FieldColumns(FieldsOf(arguments), false);
  if (ShowsApplication(arguments)) {
    for (Column& column : ApplicationColumns()) columns.push_back(std::move(column));
  }
  if (arguments.callers) columns.push_back({.key = "callers", .unit = Unit::kTexts});
  for (Column& column : AmountColumns(content.allocated)) columns.push_back(std::move(column));
  if (!arguments.live) return columns;
  for (Column& column : LiveColumns(content.live)) columns.push_back(std::move(column));
  return columns;
}

// The table; head, heading and notes are the caller's.
Report TableOf(std::vector<SiteRow> rows, const Content& content, const SitesArguments& arguments) {
  Report report;
  report.rows_key = "sites";
  report.columns = ColumnsFor(content, arguments);
  report.text_order = {"samples", "objects", "bytes", "live_samples", "live_objects", "live_bytes"};
  if (arguments.group_by.empty()) {
    report.text_order.insert(report.text_order.end(), {"tier", "class", "site"});
  } else {
    for (const Field field : FieldsOf(arguments))
      report.text_order.push_back(NameOf<Field>(kGroupFields, field));
  }
  const std::vector<Field> fields = FieldsOf(arguments);
  const auto site = static_cast<size_t>(std::find(fields.begin(), fields.end(), Field::kSite) - fields.begin());
  const size_t count = rows.size();
  report.rows = ReportRows(count, [rows = std::move(rows), site, &content, &arguments](size_t i) {
    const SiteRow& row = rows[i];
    Row cells(row.key.names.begin(), row.key.names.end());
    if (ShowsApplication(arguments)) AddApplicationCells(&cells, row.application, row.key.names[site]);
    if (arguments.callers) cells.emplace_back(row.key.callers);
    row.amounts.allocated.AddCells(&cells, content.allocated);
    if (arguments.live) row.amounts.live.AddCells(&cells, content.live);
    return cells;
  });
  return report;
}

void AddLive(const Content& content, const SitesArguments& arguments, const Amount& live, Report* report) {
  nlohmann::ordered_json& json = report->head["live"];
  json["gc"] = arguments.gc ? nlohmann::ordered_json(*arguments.gc) : nlohmann::ordered_json();
  if (content.live == Basis::kSamples) {
    json["lost"] = !content.caveat.empty();
  } else {
    json["exact"] = content.exact;
  }
  AddAmount(&json, live, content.live);
  report->heading += fmt::format("live {}: {}{}\n", content.moment, live.Text(content.live), content.caveat);
  if (!content.caveat.empty()) report->notes.push_back("live " + content.moment + content.caveat);
}

Report ReportOf(const Content& content, const SitesArguments& arguments) {
  std::vector<SiteRow> rows = RowsOf(content, arguments);
  const SiteAmounts all = Sum(rows);
  const size_t count = rows.size();
  Report report = TableOf(std::move(rows), content, arguments);
  report.head = content.head;
  if (content.allocated == Basis::kSamples) {
    AddEstimate(&report.head, all.allocated);
  } else {
    AddAmount(&report.head, all.allocated, content.allocated);
  }
  if (!content.note.empty()) {
    report.notes.push_back(content.note);
    report.heading = content.note + "\n";
  }
  ShowSelection(arguments.selection, &report);
  report.heading +=
      fmt::format("allocated: {}, {}\n", all.allocated.Text(content.allocated), Plural(count, "row"));
  if (arguments.live) AddLive(content, arguments, all.live, &report);
  report.heading += "\n";
  return report;
}

}  // namespace

int RunSites(Session& session, const SitesArguments& arguments) {
  const std::vector<Field> fields = FieldsOf(arguments);
  if (session.sampled && Has(fields, Field::kTier)) {
    return session.NotInSamples(
        (arguments.tiers ? "--tiers" : "--group-by tier") +
        std::string(": JVM TI does not tell which compiler made the code that allocates"));
  }
  if (arguments.callers && !Has(fields, Field::kSite)) {
    session.err << "anttracks: --callers are callers of sites: --group-by has to have site\n";
    return kExitUsage;
  }
  int exit = kExitFine;
  const auto content = ReadSelected(
      session, {arguments.selection, Has(fields, Field::kThread), arguments.live, arguments.gc}, &exit);
  if (!content) return exit;
  Print(session, ReportOf(*content, arguments));
  return session.Finish(content->summary, content->problems);
}

}  // namespace anttracks::analyzer
