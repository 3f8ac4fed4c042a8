// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <utility>

namespace anttracks::analyzer {
namespace {

// Columns that a terminal shows for UTF-8 text: continuation bytes count nothing.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

constexpr char32_t kInvalid = 0xFFFFFFFF;

// The length of a UTF-8 sequence that begins with the byte; 1 if none does.
size_t SequenceBytes(uint8_t first) {
  return first < 0xC2 || first > 0xF4 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

// The character that the text begins with and its bytes; kInvalid and 1 if it is not UTF-8.
std::pair<char32_t, size_t> FirstCharacter(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return {first, 1};
  const size_t bytes = SequenceBytes(first);
  if (bytes == 1 || bytes > text.size()) return {kInvalid, 1};
  char32_t c = first & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; i++) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xC0) != 0x80) return {kInvalid, 1};
    c = c << 6 | (next & 0x3F);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = c >= 0xD800 && c < 0xE000;
  if (c < kLeast[bytes] || c > 0x10FFFF || surrogate) return {kInvalid, 1};
  return {c, bytes};
}

// visit(character or kInvalid, its bytes)
template <class Visit>
void ForEachCharacter(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const auto [c, bytes] = FirstCharacter(text);
    visit(c, text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
}

struct Range {
  char32_t first, last;
};
// Controls; what has no width; what changes the direction of text; line and paragraph separators; tags.
constexpr Range kUnsafe[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},      {0x61C, 0x61C},
                             {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F},
                             {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};

bool IsUnsafe(char32_t c) {
  if (c >= 0x20 && c < 0x7F) return false;
  if (c == kInvalid) return true;
  return std::any_of(std::begin(kUnsafe), std::end(kUnsafe),
                     [c](const Range& r) { return c >= r.first && c <= r.last; });
}

enum class LinesAndTabs { kReplace, kKeep };

std::string Replaced(std::string_view text, LinesAndTabs lines_and_tabs) {
  std::string clean;
  clean.reserve(text.size());
  ForEachCharacter(text, [&](char32_t c, std::string_view bytes) {
    const bool stays = !IsUnsafe(c) || (lines_and_tabs == LinesAndTabs::kKeep && (c == U'\n' || c == U'\t'));
    clean += stays ? bytes : std::string_view("?");
  });
  return clean;
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

std::string DateText(uint64_t milliseconds) {
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm time{};
  if (::gmtime_r(&seconds, &time) == nullptr) return "?";
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", time);
}

std::string Plural(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", Count(count), noun, count == 1 ? "" : "s");
}

std::string Printable(std::string_view text) { return Replaced(text, LinesAndTabs::kReplace); }

std::string PrintableLines(std::string_view text) { return Replaced(text, LinesAndTabs::kKeep); }

std::string EscapedJson(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  ForEachCharacter(json, [&](char32_t c, std::string_view bytes) {
    if (c == U'\n' || !IsUnsafe(c)) {
      text += bytes;
    } else if (c < 0x10000) {
      text += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    } else if (c != kInvalid) {
      const uint32_t rest = static_cast<uint32_t>(c) - 0x10000;
      text += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
    }
  });
  return text;
}

size_t UnfinishedBytes(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); back++) {
    const auto byte = static_cast<uint8_t>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    return SequenceBytes(byte) > back ? back : 0;
  }
  return 0;
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
