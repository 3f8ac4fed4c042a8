// SPDX-License-Identifier: Apache-2.0
// A report: rows of cells under columns that are described once. The table for people, --json and --csv all
// come from that description, so that they have the same columns, keys, and estimates.
//
//   text   aligned columns; shares of the sum of all rows beside a column that asks for them; rounded units
//   JSON   the report's head, then an array of one object per row; all numbers in full, bytes and nanoseconds
//   CSV    a line of keys, then one line per row, quoted as RFC 4180 says; lines end in a line feed. What
//          qualifies the numbers (estimates, what is not covered) goes to stderr
//
// An estimate has a ~ before it in text. One with an interval has the interval beside it, and in JSON and CSV
// KEY_low and KEY_high.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "analyzer/cli/session.h"
#include "analyzer/cli/text.h"
#include "analyzer/passes/share_estimate.h"

namespace anttracks::analyzer {

enum class Unit {
  kText,
  kTexts,  // several texts; in a table each is on a line of its own under the row, after an arrow
  kFlag,   // true or false
  kId,     // a number without thousands separators
  kCount,
  kBytes,
  kRoundedBytes,  // in a table "1.50 MiB"
  kNs,            // in a table "4.56 ms"
  kShare,         // 0 to 1; in a table "12.3 %"
};

enum class Accuracy { kExact, kEstimate, kInterval };

// Where a column is shown. kInData: JSON and CSV.
enum class Where { kEverywhere, kInText, kInData };

struct Column {
  std::string key;         // in JSON and CSV; JSON makes "moved.bytes" a member of an object
  std::string title = {};  // in the table; an estimate's is preceded by "Est. "
  Unit unit = Unit::kText;
  Accuracy accuracy = Accuracy::kExact;
  Where where = Where::kEverywhere;
  bool with_share = false;     // in the table a column with the share of the sum of all rows follows
  bool right_aligned = false;  // even if it is text
};

// int64_t: a difference, with its sign in a table.
// monostate: no value, and no key in JSON; nullptr: null in JSON.
using Value = std::variant<std::monostate, std::nullptr_t, bool, uint64_t, int64_t, double, Estimated,
                           std::string, std::vector<std::string>>;

struct Cell {
  Value value;
  std::string text;  // in the table instead of the value, if not empty

  template <class T>
  requires std::is_constructible_v<Value, T> Cell(T&& v)
      : value(std::forward<T>(v)) {}  // NOLINT: a row is written as a list of values
  template <class T>
  Cell(T&& v, std::string in_table) : value(std::forward<T>(v)), text(std::move(in_table)) {}
};

// One cell per column.
using Row = std::vector<Cell>;

// The rows of a report. Those of a long one need not all be there at once: a cell takes 72 bytes, so that rows
// can take more than what they are made of.
class ReportRows {
 public:
  ReportRows() = default;
  ReportRows(std::initializer_list<Row> rows) : given_(rows) {}
  ReportRows(std::vector<Row> rows) : given_(std::move(rows)) {}  // NOLINT: rows are what rows are made of
  // make(i) makes one of so many rows each time that it is needed. What it refers to must outlive the report.
  ReportRows(size_t count, std::function<Row(size_t)> make) : count_(count), make_(std::move(make)) {}

  void clear() { *this = {}; }
  void push_back(Row row) { given_.push_back(std::move(row)); }
  size_t size() const { return make_ ? count_ : given_.size(); }
  bool empty() const { return size() == 0; }
  // Calls visit(const Row&) for the first ones.
  template <class Visit>
  void ForFirst(size_t count, Visit&& visit) const {
    for (size_t i = 0; i < count; i++) {
      if (make_) {
        visit(make_(i));
      } else {
        visit(given_[i]);
      }
    }
  }

 private:
  std::vector<Row> given_;
  size_t count_ = 0;
  std::function<Row(size_t)> make_;
};

struct Report {
  nlohmann::ordered_json head = nlohmann::ordered_json::object();  // of JSON
  std::string rows_key = "rows";                                   // of JSON
  std::string heading;                                             // lines above the table, with the blank one
  std::vector<std::string> notes;  // what qualifies the numbers; with CSV on stderr. The heading says so, too
  std::string if_empty;            // instead of heading and table if there are no rows; "": none
  std::string footing;             // lines under the table
  std::vector<Column> columns;     // in the order of JSON and CSV
  std::vector<std::string_view> text_order;  // keys of the table's columns; of none: as columns
  ReportRows rows;
  std::string sum_label;  // in the last column of a line with the sums of counts and bytes; "": no such line
};

// Prints the report in the session's output format, with at most session.top rows.
void Print(Session& session, const Report& report);

// Adds the row's cells under their keys.
void AddCells(nlohmann::ordered_json* json, const std::vector<Column>& columns, const Row& row);
// The rows only. top: at most so many rows; 0: all.
std::string TableText(const Report& report, size_t top);
std::string CsvText(const Report& report, size_t top);
nlohmann::ordered_json ReportJson(const Report& report, size_t top);

// A field of CSV, quoted if necessary.
std::string CsvField(std::string_view text);
void PrintNotes(Session& session, const std::vector<std::string>& notes);

// The nearest integer; the largest one if 64 bits are too few, as for estimates from impossible intervals.
uint64_t Rounded(double number);
// "~1,234", "~1.50 MiB", "~12.3 %", "1,200 to 1,270"
std::string AboutCount(double number);
std::string AboutBytes(double bytes);
std::string AboutShare(double part, double whole);
std::string IntervalOf(const Estimated& number);

}  // namespace anttracks::analyzer
