// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/object_lines.h"

#include <iterator>
#include <ostream>

#include "analyzer/cli/json.h"
#include "analyzer/cli/report.h"
#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

constexpr size_t kFlushBytes = 1 << 20;

std::vector<Column> ObjectColumns() {
  return {{.key = "address"}, {.key = "class"}, {.key = "bytes", .unit = Unit::kBytes}, {.key = "site"}};
}

std::string Before(Output output, const std::string& key, bool first) {
  switch (output) {
    case Output::kText:
      return first ? "" : "\t";
    case Output::kJson:
      return fmt::format("{}\"{}\": ", first ? "    {" : ", ", key);
    case Output::kCsv:
      return first ? "" : ",";
  }
  return "";
}

}  // namespace

ObjectLines::ObjectLines(Session& session, const Definitions& definitions)
    : session_(session), definitions_(definitions) {
  const bool json = session.output == Output::kJson;
  for (const Column& column : ObjectColumns()) {
    before_.push_back(Before(session.output, column.key, before_.empty()));
  }
  quote_ = json ? "\"" : "";
  line_end_ = json ? "}" : "\n";
}

void ObjectLines::Begin(const nlohmann::ordered_json& head) {
  if (session_.output == Output::kJson) {
    std::string text = JsonText(head);
    text.resize(text.rfind("\n}"));
    session_.out << text << ",\n  \"rows\": [";
  } else if (session_.output == Output::kCsv) {
    Report keys;
    keys.columns = ObjectColumns();
    session_.out << CsvText(keys, 0);
  }
}

void ObjectLines::Add(uint64_t address, uint32_t shape_number) {
  const ObjectShape& shape = definitions_.shapes()[shape_number];
  const Names& names = NamesOf(shape.site_class);
  if (session_.output == Output::kJson) buffer_.append(std::string_view(any_ ? ",\n" : "\n"));
  any_ = true;
  fmt::format_to(std::back_inserter(buffer_), "{}{}{:#x}{}{}{}{}{}{}{}{}", before_[0], quote_, address, quote_,
                 before_[1], names.class_name, before_[2], InBytes(shape.words), before_[3], names.site,
                 line_end_);
  if (buffer_.size() > kFlushBytes) Flush();
}

void ObjectLines::End() {
  Flush();
  if (session_.output == Output::kJson) session_.out << (any_ ? "\n  ]\n}\n" : "]\n}\n");
}

const ObjectLines::Names& ObjectLines::NamesOf(uint32_t site_class) {
  const auto [at, is_new] = names_.try_emplace(site_class);
  if (is_new) {
    const SiteClass& pair = definitions_.site_class(site_class);
    at->second = {Field(definitions_.class_info(pair.class_id).name),
                  Field(SiteLabel(definitions_, pair.site))};
  }
  return at->second;
}

std::string ObjectLines::Field(const std::string& text) const {
  switch (session_.output) {
    case Output::kText:
      return Printable(text);
    case Output::kJson:
      return JsonLine(text);
    case Output::kCsv:
      return CsvField(text);
  }
  return "";
}

void ObjectLines::Flush() {
  session_.out.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.clear();
}

}  // namespace anttracks::analyzer
