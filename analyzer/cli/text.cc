// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace anttracks::analyzer {
namespace {

// Columns that a terminal shows for UTF-8 text: continuation bytes count nothing.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void TrimEnd(std::string* line) {
  while (!line->empty() && line->back() == ' ') line->pop_back();
}

}  // namespace

std::string Count(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string Bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : kUnits) {
    unit = next;
    value /= 1024;
    if (value < 1023.995) break;
  }
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string Duration(uint64_t nanoseconds) {
  const double ns = static_cast<double>(nanoseconds);
  if (nanoseconds < 1000) return fmt::format("{} ns", nanoseconds);
  if (ns < 999'500) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 999'500'000) return fmt::format("{:.2f} ms", ns / 1e6);
  if (ns < 120e9) return fmt::format("{:.2f} s", ns / 1e9);
  const uint64_t seconds = nanoseconds / 1'000'000'000;
  if (seconds < 7200) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
}

std::string Plural(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", Count(count), noun, count == 1 ? "" : "s");
}

std::string Printable(std::string_view text) {
  std::string clean(text);
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return clean;
}

size_t Shown(size_t rows, size_t top) { return top == 0 ? rows : std::min(rows, top); }

std::string LeftOut(size_t rows, size_t shown) {
  if (shown >= rows) return "";
  return fmt::format("  ... and {} more (--top 0 shows all)\n", Count(rows - shown));
}

std::string Table::ToString() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(Width(column.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  const auto add = [&](const auto& cell_of) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); i++) {
      const std::string& cell = cell_of(i);
      const std::string pad(widths[i] - Width(cell), ' ');
      line += "  ";
      line += columns_[i].align == Align::kRight ? pad + cell : cell + pad;
    }
    TrimEnd(&line);
    text += line + "\n";
  };
  const size_t sum = [&] {
    size_t total = 2 * (widths.size() - 1);
    for (size_t width : widths) total += width;
    return total;
  }();
  add([&](size_t i) -> const std::string& { return columns_[i].title; });
  for (size_t r = 0; r < rows_.size(); r++) {
    if (std::count(rules_.begin(), rules_.end(), r) != 0) text += "  " + std::string(sum, '-') + "\n";
    add([&](size_t i) -> const std::string& { return rows_[r][i]; });
  }
  return text;
}

}  // namespace anttracks::analyzer
