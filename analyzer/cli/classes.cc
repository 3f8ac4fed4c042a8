// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyzer/cli/amount.h"
#include "analyzer/cli/chooser.h"
#include "analyzer/cli/class_layout.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/content.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

struct ClassRow {
  uint64_t id = 0;
  const ClassInfo* info = nullptr;
  Amount amount;
};

void Sort(std::vector<ClassRow>* rows) {
  std::stable_sort(rows->begin(), rows->end(), [](const ClassRow& a, const ClassRow& b) {
    return std::tie(b.amount, a.info->name) < std::tie(a.amount, b.info->name);
  });
}

// Every class that the trace defines and whose name has the text in it; the one with most bytes first. Where
// only some objects are selected, those that have some.
std::vector<ClassRow> RowsOf(const Content& content, const ClassesArguments& arguments) {
  const Definitions& definitions = content.definitions;
  Chooser chosen(definitions, arguments.selection);
  std::unordered_map<uint64_t, Amount> amounts;
  for (const Portion& portion : content.portions) {
    if (!chosen(portion.key)) continue;
    amounts[definitions.site_class(portion.key.site_class).class_id].Add(portion.allocated);
  }
  std::vector<ClassRow> rows;
  definitions.ForEachClass([&](uint64_t id, const ClassInfo& info) {
    if (info.name.find(arguments.name) == std::string::npos) return;
    const auto found = amounts.find(id);
    if (found == amounts.end() && !arguments.selection.all()) return;
    rows.push_back({id, &info, found == amounts.end() ? Amount() : found->second});
  });
  Sort(&rows);
  return rows;
}

Amount Sum(const std::vector<ClassRow>& rows) {
  Amount all;
  for (const ClassRow& row : rows) all.Add(row.amount);
  return all;
}

// With the note above it, and below that what is selected.
void AddHeading(const std::vector<ClassRow>& rows, const std::string& note, Basis basis,
                const Selection& selection, Report* report) {
  report->notes = {note};
  report->heading = note + (note.empty() ? "" : "\n");
  ShowSelection(selection, report);
  report->heading +=
      fmt::format("{}, allocated: {}\n\n", rows.size() == 1 ? "1 class" : Count(rows.size()) + " classes",
                  Sum(rows).Text(basis));
}

std::vector<Column> ColumnsFor(Basis basis) {
  std::vector<Column> columns{{.key = "id", .unit = Unit::kId, .where = Where::kInData},
                              {.key = "class", .title = "Class"},
                              {.key = "superclass", .title = "Superclass"},
                              {.key = "loader", .title = "Loader"},
                              {.key = "loader_id", .unit = Unit::kId, .where = Where::kInData},
                              {.key = "hidden", .unit = Unit::kFlag, .where = Where::kInData},
                              {.key = "unloaded", .unit = Unit::kFlag, .where = Where::kInData},
                              {.key = "array_header_bytes", .unit = Unit::kBytes, .where = Where::kInData},
                              {.key = "array_element_bytes", .unit = Unit::kBytes, .where = Where::kInData},
                              {.key = "instance_bytes", .unit = Unit::kBytes, .where = Where::kInData},
                              {.key = "size", .title = "Size", .where = Where::kInText, .right_aligned = true}};
  for (Column& column : AmountColumns(basis)) columns.push_back(std::move(column));
  return columns;
}

Row CellsOf(const Definitions& definitions, const ClassRow& row, Basis basis) {
  const ClassInfo& info = *row.info;
  const Cell none((Value()));
  const auto if_array = [&](uint64_t bytes) { return IsArray(info) ? Cell(bytes) : none; };
  Row cells{row.id,
            info.name,
            info.super == 0 ? Cell(nullptr) : Cell(ClassLabel(definitions, info.super)),
            info.loader_name,
            info.loader,
            (info.flags & trace::kClassHidden) != 0,
            info.unloaded,
            if_array(info.header_bytes),
            if_array(uint64_t{1} << info.log2_element),
            IsArray(info) || IsVariable(info) ? none : Cell(info.bytes),
            SizeLabel(info)};
  row.amount.AddCells(&cells, basis);
  return cells;
}

Report ReportOf(const Content& content, const std::vector<ClassRow>& rows, const Selection& selection) {
  const Basis basis = content.allocated;
  Report report;
  report.rows_key = "classes";
  report.head = content.head;
  AddAmount(&report.head, Sum(rows), basis);
  AddHeading(rows, content.note, basis, selection, &report);
  report.columns = ColumnsFor(basis);
  report.text_order = {"objects", "bytes", "size", "class", "superclass", "loader"};
  for (const ClassRow& row : rows) report.rows.push_back(CellsOf(content.definitions, row, basis));
  return report;
}

std::string LayoutsText(const Definitions& definitions, const std::vector<ClassRow>& rows, Basis basis,
                        size_t top) {
  const ObjectFormat format = FormatOf(definitions);
  const size_t shown = Shown(rows.size(), top);
  std::string text;
  for (const ClassRow& row : std::span(rows).first(shown)) {
    const ClassInfo& info = *row.info;
    if (!text.empty()) text += "\n";
    text += Printable(info.name);
    if (info.super != 0) text += " extends " + Printable(ClassLabel(definitions, info.super));
    text += fmt::format(" (loader {}): size {}, {}\n", Printable(info.loader_name), SizeLabel(info),
                        row.amount.Text(basis));
    text += LayoutText(definitions, LayoutOf(definitions, format, row.id), row.id);
  }
  return text + LeftOut(rows.size(), shown);
}

nlohmann::ordered_json LayoutsJson(const Definitions& definitions, const std::vector<ClassRow>& rows,
                                   const Report& report, size_t top) {
  const ObjectFormat format = FormatOf(definitions);
  nlohmann::ordered_json json = ReportJson(report, top);
  for (size_t i = 0; i < json["classes"].size(); i++) {
    const ClassLayout layout = LayoutOf(definitions, format, rows[i].id);
    json["classes"][i]["layout_complete"] = layout.incomplete == 0;
    json["classes"][i]["layout"] = LayoutJson(definitions, layout, rows[i].id);
  }
  return json;
}

// One table of all classes: a row per part.
std::string LayoutsCsv(const Definitions& definitions, const std::vector<ClassRow>& rows, size_t top) {
  const ObjectFormat format = FormatOf(definitions);
  Report report;
  report.columns = {{.key = "id", .unit = Unit::kId}, {.key = "class"}};
  for (Column& column : LayoutColumns()) report.columns.push_back(std::move(column));
  for (const ClassRow& row : std::span(rows).first(Shown(rows.size(), top))) {
    for (const Row& part : LayoutRows(definitions, LayoutOf(definitions, format, row.id), row.id)) {
      Row cells{row.id, row.info->name};
      cells.insert(cells.end(), part.begin(), part.end());
      report.rows.push_back(std::move(cells));
    }
  }
  return CsvText(report, 0);
}

void PrintLayouts(Session& session, const Content& content, const std::vector<ClassRow>& rows,
                  const Selection& selection) {
  const Definitions& definitions = content.definitions;
  const Report report = ReportOf(content, rows, selection);
  switch (session.output) {
    case Output::kText:
      session.out << report.heading << LayoutsText(definitions, rows, content.allocated, session.top);
      break;
    case Output::kJson:
      session.out << JsonText(LayoutsJson(definitions, rows, report, session.top));
      break;
    case Output::kCsv:
      session.out << LayoutsCsv(definitions, rows, session.top);
      break;
  }
}

// Sizes of the samples of a class, in words.
struct Sizes {
  uint64_t least = UINT64_MAX, most = 0;
};

Report ReportOf(const Sampled& sampled, const ClassesArguments& arguments) {
  constexpr Basis kBasis = Basis::kSamples;
  const Definitions& definitions = sampled.definitions();
  const auto class_of = [&](const SampledObject& s) -> uint64_t {
    return definitions.site_class(s.site_class).class_id;
  };
  std::unordered_map<uint64_t, Sizes> sizes;
  Chooser chosen(definitions, arguments.selection);
  const Marks marks(arguments.selection.marks());
  const auto wanted = [&](const SampledObject& sample) { return chosen(KeyOf(sample, marks, true)); };
  for (const SampledObject& sample : sampled.samples()) {
    if (!wanted(sample)) continue;
    Sizes& s = sizes[class_of(sample)];
    s = {std::min<uint64_t>(s.least, sample.words), std::max<uint64_t>(s.most, sample.words)};
  }
  std::vector<ClassRow> rows;
  for (const auto& [id, estimate] : sampled.By(class_of, wanted)) {
    const ClassInfo& info = definitions.class_info(id);
    if (info.name.find(arguments.name) != std::string::npos) rows.push_back({id, &info, Amount(estimate)});
  }
  Sort(&rows);
  Report report;
  report.rows_key = "classes";
  report.head = EstimatesJson(sampled);
  AddEstimate(&report.head, Sum(rows));
  AddHeading(rows, EstimatesNote(sampled), kBasis, arguments.selection, &report);
  report.columns = {{.key = "id", .unit = Unit::kId, .where = Where::kInData},
                    {.key = "class", .title = "Class"},
                    {.key = "hidden", .unit = Unit::kFlag, .where = Where::kInData}};
  for (Column& column : AmountColumns(kBasis)) report.columns.push_back(std::move(column));
  report.columns.push_back({.key = "least_bytes", .unit = Unit::kBytes, .where = Where::kInData});
  report.columns.push_back({.key = "most_bytes", .unit = Unit::kBytes, .where = Where::kInData});
  report.columns.push_back(
      {.key = "sizes", .title = "Sampled sizes", .where = Where::kInText, .right_aligned = true});
  report.text_order = {"samples", "objects", "bytes", "sizes", "class"};
  for (const ClassRow& row : rows) {
    const uint64_t least = InBytes(sizes[row.id].least), most = InBytes(sizes[row.id].most);
    Row cells{row.id, row.info->name, (row.info->flags & trace::kClassHidden) != 0};
    row.amount.AddCells(&cells, kBasis);
    cells.insert(
        cells.end(),
        {least, most, Cell(least == most ? Count(most) : fmt::format("{} to {}", Count(least), Count(most)))});
    report.rows.push_back(std::move(cells));
  }
  return report;
}

}  // namespace

int RunClasses(Session& session, const ClassesArguments& arguments) {
  const Selection& selection = arguments.selection;
  int exit = kExitFine;
  const auto content = ReadSelected(session, {selection, false, false, std::nullopt}, &exit);
  if (!content) return exit;
  const std::vector<ClassRow> rows = RowsOf(*content, arguments);
  if (arguments.layout) {
    PrintLayouts(session, *content, rows, selection);
  } else {
    Print(session, ReportOf(*content, rows, selection));
  }
  return session.Finish(content->summary, content->problems);
}

int RunSampledClasses(Session& session, const ClassesArguments& arguments) {
  if (arguments.layout) return session.NotInSamples("--layout: the fields of classes are not recorded");
  if (const auto exit = CheckWindow(session, arguments.selection, false)) return *exit;
  const SampledTrace trace(session);
  if (!trace.summary.fatal.ok()) return session.Unreadable(trace.summary.fatal);
  if (const auto exit = CheckGcs(session, trace.summary, arguments.selection, trace.GcIds())) return *exit;
  Print(session, ReportOf(trace.sampled, arguments));
  return session.Finish(trace.summary, trace.problems);
}

}  // namespace anttracks::analyzer
