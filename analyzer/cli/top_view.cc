// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/top_view.h"

#include <algorithm>
#include <cctype>

#include "analyzer/cli/text.h"

namespace anttracks::analyzer {

std::vector<std::string_view> TopView::ColumnsWithin(size_t characters, Order order) const {
  constexpr size_t kForAll = 110, kForTwo = 60;
  if (characters >= kForAll) return {};
  if (characters >= kForTwo) return {rate_key(), "live_bytes", "class", "site"};
  return {order == Order::kRate ? rate_key() : "live_bytes", "site", "class"};
}

std::string WithoutPackage(const std::string& name) {
  size_t at = 0;
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', at)) {
    const std::string_view part = std::string_view(name).substr(at, dot - at);
    const bool package = !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) {
      return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
    });
    if (!package) break;
    at = dot + 1;
  }
  return name.substr(at);
}

Report TopTable(std::vector<TopRow> rows, TopView::Order order, bool brief, Accuracy rate, Accuracy live) {
  const auto number = [](double value, Accuracy accuracy) -> Value {
    if (accuracy != Accuracy::kExact) return Estimated{value, value, value};
    return Rounded(value);
  };
  Report report;
  report.columns = {
      {.key = "bytes_per_second", .title = "Bytes/s", .unit = Unit::kRoundedBytes, .accuracy = rate},
      {.key = "objects_per_second", .title = "Objects/s", .unit = Unit::kCount, .accuracy = rate},
      {.key = "live_bytes", .title = "Live bytes", .unit = Unit::kRoundedBytes, .accuracy = live},
      {.key = "live_objects", .title = "Live objects", .unit = Unit::kCount, .accuracy = live},
      {.key = "class", .title = "Class"},
      {.key = "site", .title = "Site"}};
  std::stable_sort(rows.begin(), rows.end(), [order](const TopRow& a, const TopRow& b) {
    return order == TopView::Order::kRate ? a.bytes_per_second > b.bytes_per_second
                                          : a.live_bytes > b.live_bytes;
  });
  for (const TopRow& row : rows) {
    report.rows.push_back({Cell(number(row.bytes_per_second, rate)), Cell(number(row.objects_per_second, rate)),
                           Cell(number(row.live_bytes, live)), Cell(number(row.live_objects, live)),
                           brief ? WithoutPackage(row.class_name) : row.class_name,
                           brief ? WithoutPackage(row.site) : row.site});
  }
  return report;
}

}  // namespace anttracks::analyzer
