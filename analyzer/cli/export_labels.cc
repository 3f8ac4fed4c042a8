// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/export_labels.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/cli/text.h"
#include "analyzer/export/csv.h"

namespace anttracks::analyzer {
namespace {

bool IsName(std::string_view name) {
  constexpr std::string_view kFirst = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  constexpr std::string_view kDigits = "0123456789";
  return !name.empty() && kFirst.find(name[0]) != std::string_view::npos &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return kFirst.find(c) != std::string_view::npos || kDigits.find(c) != std::string_view::npos;
         });
}

}  // namespace

std::string AddLabel(std::string_view text, std::vector<ExportLabel>* labels) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return fmt::format("'{}' is no NAME=VALUE, such as service=web", text);
  const std::string_view name = text.substr(0, equals), value = text.substr(equals + 1);
  if (!IsName(name))
    return fmt::format("'{}' is no name: letters, digits and underscores, no digit first", name);
  const auto columns = CsvColumns();
  if (std::find(columns.begin(), columns.end(), name) != columns.end())
    return fmt::format("'{}' is a column that every export has", name);
  if (value.empty()) return fmt::format("'{}' has no value", name);
  for (const ExportLabel& label : *labels) {
    if (label.name == name) return fmt::format("'{}' is there twice", name);
  }
  labels->push_back({std::string(name), Printable(value)});
  return "";
}

}  // namespace anttracks::analyzer
