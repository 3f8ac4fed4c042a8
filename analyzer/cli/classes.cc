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
#include "analyzer/cli/class_layout.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/sampled.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/labels.h"
#include "analyzer/passes/counts.h"

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

// Every class that the trace defines and whose name has the text in it; the one with most bytes first.
std::vector<ClassRow> RowsOf(const Definitions& definitions, CountByShape& counts, const std::string& text) {
  std::unordered_map<uint64_t, Amount> amounts;
  for (const auto& [id, allocated] : counts.BySiteClass()) {
    amounts[definitions.site_class(id).class_id].Add(Amount(allocated));
  }
  std::vector<ClassRow> rows;
  definitions.ForEachClass([&](uint64_t id, const ClassInfo& info) {
    if (info.name.find(text) == std::string::npos) return;
    const auto found = amounts.find(id);
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

std::string HeadingOf(const std::vector<ClassRow>& rows, const std::string& note, Basis basis) {
  return fmt::format("{}{}{}, allocated: {}\n\n", note, note.empty() ? "" : "\n",
                     rows.size() == 1 ? "1 class" : Count(rows.size()) + " classes", Sum(rows).Text(basis));
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

Report ReportOf(const Definitions& definitions, const CountByShape& counts, const std::vector<ClassRow>& rows) {
  const Basis basis = BasisOf(counts);
  const std::string note = NoteOf(counts);
  Report report;
  report.rows_key = "classes";
  AddNote(&report.head, counts);
  AddAmount(&report.head, Sum(rows), basis);
  report.heading = HeadingOf(rows, note, basis);
  report.notes = {note};
  report.columns = ColumnsFor(basis);
  report.text_order = {"objects", "bytes", "size", "class", "superclass", "loader"};
  for (const ClassRow& row : rows) report.rows.push_back(CellsOf(definitions, row, basis));
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

void PrintLayouts(Session& session, const Definitions& definitions, const CountByShape& counts,
                  const std::vector<ClassRow>& rows) {
  const Report report = ReportOf(definitions, counts, rows);
  switch (session.output) {
    case Output::kText:
      session.out << report.heading << LayoutsText(definitions, rows, BasisOf(counts), session.top);
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

Report ReportOf(const Sampled& sampled, const std::string& text) {
  constexpr Basis kBasis = Basis::kSamples;
  const Definitions& definitions = sampled.definitions();
  const auto class_of = [&](const SampledObject& s) -> uint64_t {
    return definitions.site_class(s.site_class).class_id;
  };
  std::unordered_map<uint64_t, Sizes> sizes;
  for (const SampledObject& sample : sampled.samples()) {
    Sizes& s = sizes[class_of(sample)];
    s = {std::min<uint64_t>(s.least, sample.words), std::max<uint64_t>(s.most, sample.words)};
  }
  std::vector<ClassRow> rows;
  for (const auto& [id, estimate] : sampled.By(class_of, [](const SampledObject&) { return true; })) {
    const ClassInfo& info = definitions.class_info(id);
    if (info.name.find(text) != std::string::npos) rows.push_back({id, &info, Amount(estimate)});
  }
  Sort(&rows);
  Report report;
  report.rows_key = "classes";
  report.head = EstimatesJson(sampled);
  AddEstimate(&report.head, Sum(rows));
  report.notes = {EstimatesNote(sampled)};
  report.heading = HeadingOf(rows, report.notes[0], kBasis);
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
  Problems problems;
  Definitions definitions(problems);
  CountByShape counts(definitions);
  const PassSummary summary = session.Run(definitions, problems, counts);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  const std::vector<ClassRow> rows = RowsOf(definitions, counts, arguments.name);
  if (arguments.layout) {
    PrintLayouts(session, definitions, counts, rows);
  } else {
    Print(session, ReportOf(definitions, counts, rows));
  }
  return session.Finish(summary, problems);
}

int RunSampledClasses(Session& session, const ClassesArguments& arguments) {
  if (arguments.layout) return session.NotInSamples("--layout: the fields of classes are not recorded");
  const SampledTrace trace(session);
  if (!trace.summary.fatal.ok()) return session.Unreadable(trace.summary.fatal);
  Print(session, ReportOf(trace.sampled, arguments.name));
  return session.Finish(trace.summary, trace.problems);
}

}  // namespace anttracks::analyzer
