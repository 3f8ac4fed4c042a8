// SPDX-License-Identifier: Apache-2.0
// How many objects and bytes, as reports show them: exact numbers, estimates from samples, or estimates with
// intervals where only a share of the allocations was read. One set of columns for all three, so that a report
// is written once.
//
// Thread safety: none.
#pragma once

#include <compare>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/cli/report.h"
#include "analyzer/passes/counts.h"
#include "analyzer/passes/sampled.h"

namespace anttracks::analyzer {

enum class Basis {
  kExact,  // every object was seen
  kSamples,
  kChosen,  // of what was skipped only the bytes are known; see ShareEstimator
};

class Amount {
 public:
  Amount() = default;
  explicit Amount(const HeapTotals& exact);
  explicit Amount(const Allocated& allocated);
  explicit Amount(const Estimate& estimate);

  void Add(const Amount& other);
  // By bytes, then by objects.
  std::partial_ordering operator<=>(const Amount& other) const;
  bool operator==(const Amount& other) const { return (*this <=> other) == 0; }
  // "12 objects, 304 B"; "~1,234 objects (1,200 to 1,270), ~1.50 MiB"
  std::string Text(Basis basis) const;
  uint64_t samples() const { return samples_; }
  // As AmountColumns says.
  void AddCells(Row* row, Basis basis) const;

 private:
  HeapTotals known_;
  Estimated objects_, bytes_;
  uint64_t samples_ = 0;
};

// objects, bytes, and samples if there are any; in the table with their shares.
std::vector<Column> AmountColumns(Basis basis);
// live_objects, live_bytes, and live_samples if there are any.
std::vector<Column> LiveColumns(Basis basis);
// For the head of JSON, with the keys of AmountColumns.
void AddAmount(nlohmann::ordered_json* json, const Amount& amount, Basis basis);
// The same from samples, but for their number.
void AddEstimate(nlohmann::ordered_json* json, const Amount& amount);

Basis BasisOf(const CountByShape& counts);
// What the numbers are, in a sentence; empty where they are exact.
std::string NoteOf(const CountByShape& counts);
// Adds estimated, and how much was skipped, where something was.
void AddNote(nlohmann::ordered_json* json, const CountByShape& counts);

}  // namespace anttracks::analyzer
