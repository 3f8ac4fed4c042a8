// SPDX-License-Identifier: Apache-2.0
// How reports show the memory layout of a class.
//
// Thread safety: none. Ownership: definitions are borrowed.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/cli/report.h"
#include "analyzer/model/definitions.h"
#include "analyzer/model/layout.h"

namespace anttracks::analyzer {

inline bool IsArray(const ClassInfo& info) { return (info.flags & trace::kClassArray) != 0; }
inline bool IsVariable(const ClassInfo& info) { return (info.flags & trace::kClassVariableSize) != 0; }
// Bytes of an instance: "24", of an array with n elements: "16 + 4 n", of java.lang.Class: "varies".
std::string SizeLabel(const ClassInfo& info);

// A row per part, by offset.
std::vector<Column> LayoutColumns();
std::vector<Row> LayoutRows(const Definitions& definitions, const ClassLayout& layout, uint64_t class_id);
// The rows as a table, with a note about what it cannot show.
std::string LayoutText(const Definitions& definitions, const ClassLayout& layout, uint64_t class_id);
nlohmann::ordered_json LayoutJson(const Definitions& definitions, const ClassLayout& layout, uint64_t class_id);

}  // namespace anttracks::analyzer
