// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ostream>

#include "analyzer/cli/json.h"
#include "analyzer/export/csv.h"

namespace anttracks::analyzer {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

// Numbers and estimates are added up, nothing else is.
void AddTo(Value* sum, const Value& value) {
  if (auto* number = std::get_if<uint64_t>(sum); number != nullptr && std::holds_alternative<uint64_t>(value)) {
    *number += std::get<uint64_t>(value);
  } else if (auto* about = std::get_if<Estimated>(sum);
             about != nullptr && std::holds_alternative<Estimated>(value)) {
    const auto& more = std::get<Estimated>(value);
    *about = {about->value + more.value, about->low + more.low, about->high + more.high};
  }
}

// What stands in one column of the table.
struct TextColumn {
  enum class Part { kValue, kInterval, kShare };
  size_t at = 0;  // of the report's columns
  Part part = Part::kValue;
};

std::vector<size_t> InTextOrder(const Report& report) {
  std::vector<size_t> order;
  const auto add = [&](size_t at) {
    if (report.columns[at].where != Where::kInData && report.columns[at].unit != Unit::kTexts)
      order.push_back(at);
  };
  if (report.text_order.empty()) {
    for (size_t i = 0; i < report.columns.size(); i++) add(i);
  }
  for (const std::string_view key : report.text_order) {
    for (size_t i = 0; i < report.columns.size(); i++) {
      if (report.columns[i].key == key) add(i);
    }
  }
  return order;
}

std::vector<TextColumn> TextColumns(const Report& report) {
  using Part = TextColumn::Part;
  std::vector<TextColumn> all;
  for (const size_t at : InTextOrder(report)) {
    all.push_back({at, Part::kValue});
    if (report.columns[at].accuracy == Accuracy::kInterval) all.push_back({at, Part::kInterval});
    if (report.columns[at].with_share) all.push_back({at, Part::kShare});
  }
  return all;
}

Table::Column Heading(const Report& report, const TextColumn& text) {
  const Column& column = report.columns[text.at];
  if (text.part == TextColumn::Part::kInterval) return {"95 %"};
  if (text.part == TextColumn::Part::kShare) return {"Share"};
  std::string title = column.title;
  if (column.accuracy != Accuracy::kExact) {
    title[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(title[0])));
    title = "Est. " + title;
  }
  const bool left = column.unit == Unit::kText && !column.right_aligned;
  return {std::move(title), left ? Table::Align::kLeft : Table::Align::kRight};
}

std::string NumberText(Unit unit, uint64_t number) {
  switch (unit) {
    case Unit::kId:
      return std::to_string(number);
    case Unit::kRoundedBytes:
      return Bytes(number);
    case Unit::kNs:
      return Duration(number);
    default:
      return Count(number);
  }
}

std::string DifferenceText(Unit unit, int64_t difference) {
  const char* sign = difference < 0 ? "-" : difference > 0 ? "+" : "";
  return sign + NumberText(unit, difference < 0 ? 0 - static_cast<uint64_t>(difference)
                                                : static_cast<uint64_t>(difference));
}

std::string ValueText(Unit unit, const Value& value) {
  return std::visit(
      Overloaded{
          [](std::monostate) { return std::string(); }, [](std::nullptr_t) { return std::string("-"); },
          [](bool flag) { return std::string(flag ? "yes" : "no"); },
          [&](uint64_t number) { return NumberText(unit, number); },
          [&](int64_t difference) { return DifferenceText(unit, difference); },
          [](double share) { return fmt::format("{:.1f} %", share * 100); },
          [&](const Estimated& about) { return fmt::format("~{}", NumberText(unit, Rounded(about.value))); },
          [](const std::string& text) { return Printable(text); },
          [](const std::vector<std::string>&) { return std::string(); }},
      value);
}

std::string ShareText(const Value& part, const Value& whole) {
  const auto *about = std::get_if<Estimated>(&part), *about_all = std::get_if<Estimated>(&whole);
  if (about != nullptr && about_all != nullptr) return AboutShare(about->value, about_all->value);
  const auto *number = std::get_if<uint64_t>(&part), *all = std::get_if<uint64_t>(&whole);
  return number != nullptr && all != nullptr ? Percent(*number, *all) : "";
}

std::string CellText(const Column& column, const Cell& cell, const Value& sum, TextColumn::Part part) {
  if (part == TextColumn::Part::kShare) return ShareText(cell.value, sum);
  if (part == TextColumn::Part::kInterval) {
    const auto* about = std::get_if<Estimated>(&cell.value);
    return about == nullptr ? "" : IntervalOf(*about);
  }
  return cell.text.empty() ? ValueText(column.unit, cell.value) : Printable(cell.text);
}

// Of those columns that are added up at all; of others nothing is known if none is.
std::vector<Value> Sums(const Report& report) {
  std::vector<Value> sums;
  for (const Column& column : report.columns) {
    sums.push_back(column.accuracy == Accuracy::kExact ? Value(uint64_t{0}) : Value(Estimated{}));
  }
  const bool needed = !report.sum_label.empty() || std::any_of(report.columns.begin(), report.columns.end(),
                                                               [](const Column& c) { return c.with_share; });
  report.rows.ForFirst(needed ? report.rows.size() : 0, [&](const Row& row) {
    for (size_t i = 0; i < row.size(); i++) AddTo(&sums[i], row[i].value);
  });
  return sums;
}

void AddSums(Table* table, const Report& report, const std::vector<TextColumn>& columns,
             const std::vector<Value>& sums) {
  std::vector<std::string> cells;
  for (const TextColumn& text : columns) {
    const Column& column = report.columns[text.at];
    const bool adds_up = column.unit == Unit::kCount || column.unit == Unit::kBytes;
    cells.push_back(adds_up ? CellText(column, Cell(sums[text.at]), sums[text.at], text.part) : "");
  }
  cells.back() = report.sum_label;
  table->AddRule();
  table->Add(std::move(cells));
}

// Lines under a row, in the last column.
void AddTexts(Table* table, const Report& report, const Row& row, size_t width) {
  for (size_t i = 0; i < row.size(); i++) {
    const auto* texts = std::get_if<std::vector<std::string>>(&row[i].value);
    if (texts == nullptr || report.columns[i].where == Where::kInData) continue;
    for (const std::string& text : *texts) {
      std::vector<std::string> line(width);
      line.back() = "  <- " + Printable(text);
      table->Add(std::move(line));
    }
  }
}

nlohmann::ordered_json ValueJson(const Value& value) {
  return std::visit(
      Overloaded{[](std::monostate) { return nlohmann::ordered_json(); },
                 [](const Estimated& about) { return nlohmann::ordered_json(Rounded(about.value)); },
                 [](const auto& plain) { return nlohmann::ordered_json(plain); }},
      value);
}

std::string ValueCsv(const Value& value) {
  return std::visit(
      Overloaded{[](std::monostate) { return std::string(); }, [](std::nullptr_t) { return std::string(); },
                 [](bool flag) { return std::string(flag ? "true" : "false"); },
                 [](uint64_t number) { return std::to_string(number); },
                 [](int64_t difference) { return std::to_string(difference); },
                 [](double number) { return nlohmann::ordered_json(number).dump(); },
                 [](const Estimated& about) { return std::to_string(Rounded(about.value)); },
                 [](const std::string& text) { return CsvField(text); },
                 [](const std::vector<std::string>& texts) {
                   std::string all;
                   for (const std::string& text : texts) all += (all.empty() ? "" : " <- ") + text;
                   return CsvField(all);
                 }},
      value);
}

nlohmann::ordered_json RowJson(const Report& report, const Row& row) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  AddCells(&json, report.columns, row);
  return json;
}

}  // namespace

uint64_t Rounded(double number) {
  return number >= 0x1p63 ? UINT64_MAX : static_cast<uint64_t>(std::llround(number));
}

std::string AboutCount(double number) { return fmt::format("~{}", Count(Rounded(number))); }
std::string AboutBytes(double bytes) { return fmt::format("~{}", Bytes(Rounded(bytes))); }

std::string AboutShare(double part, double whole) {
  return whole == 0 ? "-" : fmt::format("~{:.1f} %", 100 * part / whole);
}

std::string IntervalOf(const Estimated& number) {
  return Count(Rounded(number.low)) + " to " + Count(Rounded(number.high));
}

void AddCells(nlohmann::ordered_json* json, const std::vector<Column>& columns, const Row& row) {
  for (size_t i = 0; i < columns.size(); i++) {
    const Column& column = columns[i];
    if (column.where == Where::kInText || std::holds_alternative<std::monostate>(row[i].value)) continue;
    const size_t dot = column.key.find('.');
    nlohmann::ordered_json& to = dot == std::string::npos ? *json : (*json)[column.key.substr(0, dot)];
    const std::string key = dot == std::string::npos ? column.key : column.key.substr(dot + 1);
    to[key] = ValueJson(row[i].value);
    const auto* about = std::get_if<Estimated>(&row[i].value);
    if (about == nullptr || column.accuracy != Accuracy::kInterval) continue;
    to[key + "_low"] = Rounded(about->low);
    to[key + "_high"] = Rounded(about->high);
  }
}

nlohmann::ordered_json ReportJson(const Report& report, size_t top) {
  nlohmann::ordered_json json = report.head;
  json[report.rows_key] = nlohmann::ordered_json::array();
  nlohmann::ordered_json& rows = json[report.rows_key];
  report.rows.ForFirst(Shown(report.rows.size(), top),
                       [&](const Row& row) { rows.push_back(RowJson(report, row)); });
  return json;
}

std::string TableText(const Report& report, size_t top) {
  const std::vector<TextColumn> columns = TextColumns(report);
  const std::vector<Value> sums = Sums(report);
  std::vector<Table::Column> headings;
  for (const TextColumn& text : columns) headings.push_back(Heading(report, text));
  Table table(std::move(headings));
  const size_t shown = Shown(report.rows.size(), top);
  report.rows.ForFirst(shown, [&](const Row& row) {
    std::vector<std::string> cells;
    for (const TextColumn& text : columns) {
      cells.push_back(CellText(report.columns[text.at], row[text.at], sums[text.at], text.part));
    }
    table.Add(std::move(cells));
    AddTexts(&table, report, row, columns.size());
  });
  if (!report.sum_label.empty()) AddSums(&table, report, columns, sums);
  return table.ToString() + LeftOut(report.rows.size(), shown);
}

std::string CsvField(std::string_view text) { return CsvQuoted(Printable(text)); }

std::string CsvText(const Report& report, size_t top) {
  std::string text;
  const auto add = [&](auto&& field_of) {
    std::vector<std::string> fields;
    for (size_t i = 0; i < report.columns.size(); i++) {
      if (report.columns[i].where != Where::kInText) fields.push_back(field_of(i));
    }
    text += fmt::format("{}\n", fmt::join(fields, ","));
  };
  add([&](size_t i) {
    const std::string& key = report.columns[i].key;
    return report.columns[i].accuracy == Accuracy::kInterval ? fmt::format("{0},{0}_low,{0}_high", key) : key;
  });
  report.rows.ForFirst(Shown(report.rows.size(), top), [&](const Row& row) {
    add([&](size_t i) {
      const auto* about = std::get_if<Estimated>(&row[i].value);
      std::string field = ValueCsv(row[i].value);
      if (report.columns[i].accuracy != Accuracy::kInterval) return field;
      return about == nullptr ? field + ",,"
                              : fmt::format("{},{},{}", field, Rounded(about->low), Rounded(about->high));
    });
  });
  return text;
}

void PrintNotes(Session& session, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    if (!note.empty()) session.err << "note: " << Printable(note) << "\n";
  }
}

namespace {

// The text of ReportJson, without all its rows at once: each is written as it stands in the array.
void PrintJson(std::ostream& out, const Report& report, size_t top) {
  nlohmann::ordered_json json = report.head;
  json[report.rows_key] = nlohmann::ordered_json::array();
  const std::string around = JsonText(json);
  const size_t rows = Shown(report.rows.size(), top), at = around.rfind("[]");
  if (rows == 0 || report.head.contains(report.rows_key)) {
    out << JsonText(ReportJson(report, top));
    return;
  }
  out << around.substr(0, at + 1);
  const char* before = "\n    ";
  report.rows.ForFirst(rows, [&](const Row& row) {
    out << before;
    before = ",\n    ";
    std::string text = JsonText(RowJson(report, row));
    text.pop_back();
    for (const char c : text) {
      out << c;
      if (c == '\n') out << "    ";
    }
  });
  out << "\n  " << around.substr(at + 1);
}

}  // namespace

void Print(Session& session, const Report& report) {
  switch (session.output) {
    case Output::kJson:
      PrintJson(session.out, report, session.top);
      break;
    case Output::kCsv:
      session.out << CsvText(report, session.top);
      PrintNotes(session, report.notes);
      break;
    case Output::kText:
      if (report.rows.empty() && !report.if_empty.empty()) {
        session.out << report.if_empty;
      } else {
        session.out << report.heading << TableText(report, session.top) << report.footing;
      }
      break;
  }
}

}  // namespace anttracks::analyzer
