// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/grouping.h"

#include <algorithm>

#include "analyzer/cli/chooser.h"

namespace anttracks::analyzer {

bool Has(const std::vector<Field>& fields, Field field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

std::string NamesOf(const std::vector<Field>& fields) {
  std::string names;
  for (const Field field : fields)
    names += (names.empty() ? "" : ",") + std::string(NameOf<Field>(kGroupFields, field));
  return names;
}

std::string GroupText(ApplicationSites& applications, Field field, const PortionKey& key) {
  const Definitions& definitions = applications.definitions();
  if (field == Field::kAppSite) return applications.MainOf(definitions.site_class(key.site_class).site);
  return FieldText(definitions, field, key);
}

std::vector<Column> FieldColumns(const std::vector<Field>& fields, bool application) {
  std::vector<Column> columns;
  for (const Field field : fields) {
    const std::string key(NameOf<Field>(kGroupFields, field));
    std::string title = key;
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    columns.push_back({.key = key, .title = std::move(title)});
    if (field != Field::kSite || !application) continue;
    for (Column& column : ApplicationColumns()) columns.push_back(std::move(column));
  }
  return columns;
}

void AddFieldCells(Row* row, const std::vector<Field>& fields, const std::vector<std::string>& names,
                   const MainApplicationSite* main) {
  for (size_t i = 0; i < fields.size(); i++) {
    row->emplace_back(names[i]);
    if (fields[i] == Field::kSite && main != nullptr) AddApplicationCells(row, *main, names[i]);
  }
}

}  // namespace anttracks::analyzer
