// SPDX-License-Identifier: Apache-2.0
// One flat table for any SQL engine or spreadsheet: a row for each class, allocation site and thread. Each row
// repeats the labels and what is known of the process, so that the tables of many traces can be appended. What
// is not known is an empty field. RFC 4180, but for the line feeds that end lines.
//
// Thread safety: none.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "analyzer/export/profile.h"

namespace anttracks::analyzer {

// The table's own columns; the labels stand before them. In this order.
std::span<const std::string_view> CsvColumns();
std::string CsvTable(const ExportProfile& profile);

// A field, in quotation marks if necessary. text: without control characters.
std::string CsvQuoted(std::string_view text);

}  // namespace anttracks::analyzer
