// SPDX-License-Identifier: Apache-2.0
// Numbers and tables for people: thousands separators, units, aligned columns.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anttracks::analyzer {

// 1234567 -> "1,234,567"
std::string Count(uint64_t number);
// 1572864 -> "1.50 MiB"; below 1 KiB "17 B".
std::string Bytes(uint64_t bytes);
// Share of a whole: "12.3 %"; "-" if the whole is 0.
std::string Percent(uint64_t part, uint64_t whole);
// Nanoseconds: "850 ns", "12.3 us", "4.56 ms", "7.89 s", "2 min 05 s", "1 h 02 min".
std::string Duration(uint64_t nanoseconds);
// Since 1970: "2026-11-23 21:54:56 UTC"; "?" if that is beyond all years.
std::string DateText(uint64_t milliseconds);
// Noun with its number: "1 object", "2 objects"
std::string Plural(uint64_t count, std::string_view noun);
// Makes text of a trace, a path or a process safe: it cannot control the terminal, hide or reorder its
// neighbours, or break a table. Each control character (C0, C1, DEL), line separator, bidirectional control,
// zero-width character, and each byte that is not UTF-8 (overlong forms and surrogates are not) becomes '?'.
// All other text is unchanged.
std::string Printable(std::string_view text);
// The same, but keeps line feeds and tabs.
std::string PrintableLines(std::string_view text);
// For JSON text (valid UTF-8): escapes what Printable would replace (\u202e), and keeps line feeds.
std::string EscapedJson(std::string_view json);
// How many bytes at the end are an incomplete UTF-8 sequence, 0 to 3.
size_t UnfinishedBytes(std::string_view text);

// How many of the rows a table shows; top 0: all.
size_t Shown(size_t rows, size_t top);
// The line under a table that says how many rows it leaves out; "" if none.
std::string LeftOut(size_t rows, size_t shown);

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // One cell per column.
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // A line under the rows so far, for totals.
  void AddRule() { rules_.push_back(rows_.size()); }
  bool empty() const { return rows_.empty(); }
  // Two blanks before each line, two between columns, no blanks at the end of a line.
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> rules_;
};

}  // namespace anttracks::analyzer
