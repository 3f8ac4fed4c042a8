// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyzer/cli/allocated.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/json.h"
#include "analyzer/cli/text.h"
#include "analyzer/model/descriptor.h"
#include "analyzer/model/labels.h"
#include "analyzer/model/layout.h"
#include "analyzer/passes/counts.h"

namespace anttracks::analyzer {
namespace {

using Align = Table::Align;
using Kind = LayoutPart::Kind;

struct ClassRow {
  uint64_t id = 0;
  const ClassInfo* info = nullptr;
  Allocated allocated;
};

bool IsArray(const ClassInfo& info) { return (info.flags & trace::kClassArray) != 0; }
bool IsVariable(const ClassInfo& info) { return (info.flags & trace::kClassVariableSize) != 0; }

// Every class that the trace defines and whose name has the text in it; the one with most bytes first.
std::vector<ClassRow> Rows(const Definitions& definitions, CountByShape& counts, const std::string& text) {
  std::unordered_map<uint64_t, Allocated> allocated;
  for (const auto& [site_class, totals] : counts.BySiteClass()) allocated[definitions.site_class(site_class).class_id].Add(totals);
  std::vector<ClassRow> rows;
  definitions.ForEachClass([&](uint64_t id, const ClassInfo& info) {
    if (info.name.find(text) == std::string::npos) return;
    const auto found = allocated.find(id);
    rows.push_back({id, &info, found == allocated.end() ? Allocated{} : found->second});
  });
  std::stable_sort(rows.begin(), rows.end(), [](const ClassRow& a, const ClassRow& b) {
    return std::tie(b.allocated.words.value, b.allocated.objects.value, a.info->name) <
           std::tie(a.allocated.words.value, a.allocated.objects.value, b.info->name);
  });
  return rows;
}

Allocated Sum(const std::vector<ClassRow>& rows) {
  Allocated all;
  for (const ClassRow& row : rows) all.Add(row.allocated);
  return all;
}

// Bytes of an instance: "24", of an array with n elements: "16 + 4 n", of java.lang.Class: "varies".
std::string SizeLabel(const ClassInfo& info) {
  if (IsArray(info)) return fmt::format("{} + {} n", info.header_bytes, uint64_t{1} << info.log2_element);
  return IsVariable(info) ? "varies" : Count(info.bytes);
}

std::string SuperLabel(const Definitions& definitions, const ClassInfo& info) {
  return info.super == 0 ? "-" : Printable(ClassLabel(definitions, info.super));
}

std::string Heading(const std::vector<ClassRow>& rows, const CountByShape& counts) {
  return fmt::format("{}{}, allocated: {}\n\n", AllocatedNote(counts), rows.size() == 1 ? "1 class" : Count(rows.size()) + " classes",
                     AllocatedText(Sum(rows), counts.estimates()));
}

std::string ToTable(const Definitions& definitions, const std::vector<ClassRow>& rows, bool estimated, size_t top) {
  const Allocated all = Sum(rows);
  std::vector<Table::Column> columns = AllocatedColumns(estimated);
  columns.insert(columns.end(), {{"Size"}, {"Class", Align::kLeft}, {"Superclass", Align::kLeft}, {"Loader", Align::kLeft}});
  Table table(std::move(columns));
  const size_t shown = Shown(rows.size(), top);
  for (const ClassRow& row : std::span(rows).first(shown)) {
    std::vector<std::string> cells = AllocatedCells(row.allocated, all, estimated);
    cells.insert(cells.end(), {SizeLabel(*row.info), Printable(row.info->name), SuperLabel(definitions, *row.info),
                               Printable(row.info->loader_name)});
    table.Add(std::move(cells));
  }
  return table.ToString() + LeftOut(rows.size(), shown);
}

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
      return part.bytes < 8 ? "(padding)" : "(padding or fields of the VM)";
  }
  return "";
}

std::string TypeOf(const ClassRow& row, const LayoutPart& part) {
  if (part.kind == Kind::kField) return JavaType(part.field->signature);
  if (part.kind == Kind::kLength) return "int";
  const std::string& name = row.info->name;
  return part.kind == Kind::kElements && name.size() > 2 ? name.substr(0, name.size() - 2) : "";
}

std::string LayoutTable(const Definitions& definitions, const ClassRow& row, const ClassLayout& layout) {
  Table table({{"Offset"},
               {"Size"},
               {"Type", Align::kLeft},
               {"Field", Align::kLeft},
               {"Inherited from", Align::kLeft}});
  for (const LayoutPart& part : layout.parts) {
    const bool inherited = part.field != nullptr && part.declared_in != row.id;
    table.Add({Count(part.offset), Count(part.bytes), Printable(TypeOf(row, part)),
               part.field != nullptr ? Printable(part.field->name) : std::string(PartLabel(part, layout)),
               inherited ? Printable(ClassLabel(definitions, part.declared_in)) : ""});
  }
  return table.ToString();
}

// What stands under the parts.
std::string Note(const Definitions& definitions, const ClassRow& row, const ClassLayout& layout) {
  if (layout.incomplete != 0) {
    return fmt::format("  the trace does not have the fields of {}\n",
                       Printable(ClassLabel(definitions, layout.incomplete)));
  }
  if (IsVariable(*row.info))
    return "  behind it, fields of the VM and the static fields of the class that it stands for\n";
  if (layout.gap_bytes == 0 || IsArray(*row.info)) return "";
  return fmt::format("  {} of {} hold no field\n", Count(layout.gap_bytes), Plural(row.info->bytes, "byte"));
}

std::string ToLayouts(const Definitions& definitions, const std::vector<ClassRow>& rows, bool estimated, size_t top) {
  const ObjectFormat format = FormatOf(definitions);
  const size_t shown = Shown(rows.size(), top);
  std::string text;
  for (const ClassRow& row : std::span(rows).first(shown)) {
    const ClassLayout layout = LayoutOf(definitions, format, row.id);
    if (!text.empty()) text += "\n";
    text += Printable(row.info->name);
    if (row.info->super != 0) text += " extends " + SuperLabel(definitions, *row.info);
    text +=
        fmt::format(" (loader {}): size {}, {}\n", Printable(row.info->loader_name), SizeLabel(*row.info),
                    AllocatedText(row.allocated, estimated));
    text += LayoutTable(definitions, row, layout) + Note(definitions, row, layout);
  }
  return text + LeftOut(rows.size(), shown);
}

nlohmann::ordered_json LayoutJson(const Definitions& definitions, const ClassRow& row, const ClassLayout& layout) {
  static constexpr const char* kKinds[] = {"header", "field", "length", "elements", "gap"};
  auto list = nlohmann::ordered_json::array();
  for (const LayoutPart& part : layout.parts) {
    nlohmann::ordered_json entry{
        {"offset", part.offset}, {"bytes", part.bytes}, {"kind", kKinds[static_cast<size_t>(part.kind)]}};
    const std::string type = TypeOf(row, part);
    if (!type.empty()) entry["type"] = type;
    if (part.field != nullptr) {
      entry["name"] = part.field->name;
      entry["declared_in"] = ClassLabel(definitions, part.declared_in);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

nlohmann::ordered_json ToJson(const Definitions& definitions, const ClassRow& row, bool estimated) {
  const ClassInfo& info = *row.info;
  nlohmann::ordered_json json{{"id", row.id}, {"class", info.name}, {"superclass", nullptr}};
  if (info.super != 0) json["superclass"] = ClassLabel(definitions, info.super);
  json["loader"] = info.loader_name;
  json["loader_id"] = info.loader;
  json["hidden"] = (info.flags & trace::kClassHidden) != 0;
  json["unloaded"] = info.unloaded;
  if (IsArray(info)) {
    json["array_header_bytes"] = info.header_bytes;
    json["array_element_bytes"] = uint64_t{1} << info.log2_element;
  } else if (!IsVariable(info)) {
    json["instance_bytes"] = info.bytes;
  }
  AddAllocated(&json, row.allocated, estimated);
  return json;
}

nlohmann::ordered_json ToJson(const Definitions& definitions, const std::vector<ClassRow>& rows, const CountByShape& counts, bool layout,
                              size_t top) {
  const ObjectFormat format = FormatOf(definitions);
  auto list = nlohmann::ordered_json::array();
  for (const ClassRow& row : std::span(rows).first(Shown(rows.size(), top))) {
    list.push_back(ToJson(definitions, row, counts.estimates()));
    if (!layout) continue;
    const ClassLayout parts = LayoutOf(definitions, format, row.id);
    list.back()["layout_complete"] = parts.incomplete == 0;
    list.back()["layout"] = LayoutJson(definitions, row, parts);
  }
  nlohmann::ordered_json json;
  AddAllocatedNote(&json, counts);
  AddAllocated(&json, Sum(rows), counts.estimates());
  json["classes"] = std::move(list);
  return json;
}

}  // namespace

int RunClasses(Session& session, const ClassesArguments& arguments) {
  if (!session.Open()) return kExitUnreadable;
  Problems problems;
  Definitions definitions(problems);
  CountByShape counts(definitions);
  const PassSummary summary = session.Run(definitions, problems, counts);
  if (!summary.fatal.ok()) return session.Unreadable(summary.fatal);
  const std::vector<ClassRow> rows = Rows(definitions, counts, arguments.name);
  if (session.json) {
    session.out << JsonText(ToJson(definitions, rows, counts, arguments.layout, session.top));
  } else {
    session.out << Heading(rows, counts)
                << (arguments.layout ? ToLayouts(definitions, rows, counts.estimates(), session.top)
                                     : ToTable(definitions, rows, counts.estimates(), session.top));
  }
  return session.Finish(summary, problems);
}

}  // namespace anttracks::analyzer
