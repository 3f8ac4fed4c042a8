// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/class_layout.h"

#include <fmt/format.h>

#include "analyzer/model/descriptor.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

using Kind = LayoutPart::Kind;

// What a part is called that is no field.
std::string_view PartLabel(const LayoutPart& part, const ClassLayout& layout) {
  switch (part.kind) {
    case Kind::kHeader:
      return "(object header)";
    case Kind::kLength:
      return "(length)";
    case Kind::kElements:
      return "(elements)";
    case Kind::kField:
      break;
    case Kind::kGap:
      if (layout.incomplete != 0) return "(not recorded)";
      // Alignment alone leaves less than a word.
      return part.bytes < trace::kWordBytes ? "(padding)" : "(padding or fields of the VM)";
  }
  return "";
}

std::string TypeOf(const ClassInfo& info, const LayoutPart& part) {
  if (part.kind == Kind::kField) return JavaType(part.field->signature);
  if (part.kind == Kind::kLength) return "int";
  const std::string& name = info.name;
  return part.kind == Kind::kElements && name.size() > 2 ? name.substr(0, name.size() - 2) : "";
}

// What stands under the parts.
std::string Note(const Definitions& definitions, const ClassInfo& info, const ClassLayout& layout) {
  if (layout.incomplete != 0) {
    return fmt::format("  the trace does not have the fields of {}\n",
                       Printable(ClassLabel(definitions, layout.incomplete)));
  }
  if (IsVariable(info))
    return "  after it, fields of the VM and the static fields of the class that it stands for\n";
  if (layout.gap_bytes == 0 || IsArray(info)) return "";
  return fmt::format("  {} of {} hold no field\n", Count(layout.gap_bytes), Plural(info.bytes, "byte"));
}

}  // namespace

std::string SizeLabel(const ClassInfo& info) {
  if (IsArray(info)) return fmt::format("{} + {} n", info.header_bytes, uint64_t{1} << info.log2_element);
  return IsVariable(info) ? "varies" : Count(info.bytes);
}

std::vector<Column> LayoutColumns() {
  return {{.key = "offset", .title = "Offset", .unit = Unit::kCount},
          {.key = "bytes", .title = "Size", .unit = Unit::kBytes},
          {.key = "kind", .where = Where::kInData},
          {.key = "type", .title = "Type"},
          {.key = "field", .title = "Field", .where = Where::kInText},
          {.key = "name", .where = Where::kInData},
          {.key = "declared_in", .where = Where::kInData},
          {.key = "inherited", .title = "Inherited from", .where = Where::kInText}};
}

std::vector<Row> LayoutRows(const Definitions& definitions, const ClassLayout& layout, uint64_t class_id) {
  static constexpr const char* kKinds[] = {"header", "field", "length", "elements", "gap"};
  const Value none;
  std::vector<Row> rows;
  for (const LayoutPart& part : layout.parts) {
    const bool field = part.field != nullptr;
    const std::string type = TypeOf(definitions.class_info(class_id), part);
    const std::string declared_in = field ? ClassLabel(definitions, part.declared_in) : "";
    rows.push_back({part.offset, part.bytes, kKinds[static_cast<size_t>(part.kind)],
                    type.empty() ? Cell(none) : Cell(type),
                    field ? Cell(part.field->name) : Cell(std::string(PartLabel(part, layout))),
                    field ? Cell(part.field->name) : Cell(none), field ? Cell(declared_in) : Cell(none),
                    field && part.declared_in != class_id ? Cell(declared_in) : Cell(none)});
  }
  return rows;
}

std::string LayoutText(const Definitions& definitions, const ClassLayout& layout, uint64_t class_id) {
  Report report;
  report.columns = LayoutColumns();
  report.rows = LayoutRows(definitions, layout, class_id);
  return TableText(report, 0) + Note(definitions, definitions.class_info(class_id), layout);
}

nlohmann::ordered_json LayoutJson(const Definitions& definitions, const ClassLayout& layout,
                                  uint64_t class_id) {
  const std::vector<Column> columns = LayoutColumns();
  auto list = nlohmann::ordered_json::array();
  for (const Row& row : LayoutRows(definitions, layout, class_id)) {
    nlohmann::ordered_json part = nlohmann::ordered_json::object();
    AddCells(&part, columns, row);
    list.push_back(std::move(part));
  }
  return list;
}

}  // namespace anttracks::analyzer
