// SPDX-License-Identifier: Apache-2.0
// What --group-by makes rows of: the names of fields, and the columns for them.
//
// Thread safety: none, as ApplicationSites.
#pragma once

#include <string>
#include <vector>

#include "analyzer/cli/application_sites.h"
#include "analyzer/cli/report.h"
#include "analyzer/cli/selection.h"

namespace anttracks::analyzer {

bool Has(const std::vector<Field>& fields, Field field);
// "class,site"
std::string NamesOf(const std::vector<Field>& fields);
// The name that a field has; app-site, too. "" for age and space, which a key does not tell.
std::string GroupText(ApplicationSites& applications, Field field, const PortionKey& key);
// One for each field. application: behind that of a site those of its application site.
std::vector<Column> FieldColumns(const std::vector<Field>& fields, bool application);
// The cells for them: names are the fields' texts, in their order. main: of the row; unless it is nullptr.
void AddFieldCells(Row* row, const std::vector<Field>& fields, const std::vector<std::string>& names,
                   const MainApplicationSite* main);

}  // namespace anttracks::analyzer
