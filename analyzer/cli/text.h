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
// Noun with its number: "1 object", "2 objects"
std::string Plural(uint64_t count, std::string_view noun);
// Text of a trace, a path or a process so that it cannot drive the terminal, hide or reorder what stands beside
// it, or break a table: each control character (C0, C1, DEL), line separator, bidirectional control, zero-width
// character, and each byte that is not UTF-8 (overlong forms and surrogates are not) becomes '?'. All other
// text stays as it is.
std::string Printable(std::string_view text);
// The same, but line feeds and tabs stay.
std::string PrintableLines(std::string_view text);
// JSON text (valid UTF-8): what Printable would replace is escaped instead (\u202e), line feeds stay.
std::string EscapedJson(std::string_view json);
// The bytes of an unfinished UTF-8 sequence at the end, 0 to 3.
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
  // One cell a column.
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
