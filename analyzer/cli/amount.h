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
  kChosen,  // estimated, as only a share of the TLAB stretches was read; see ShareEstimator
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
  // With a 95 % interval: of samples that of a Poisson count; exact numbers are their own bounds.
  Estimated objects() const { return WithInterval(objects_, object_squares_); }
  Estimated bytes() const { return WithInterval(bytes_, byte_squares_); }
  // Adds the cells of AmountColumns.
  void AddCells(Row* row, Basis basis) const;

 private:
  Estimated WithInterval(const Estimated& sum, double squares) const;

  HeapTotals known_;
  Estimated objects_, bytes_;
  uint64_t samples_ = 0;
  double object_squares_ = 0, byte_squares_ = 0;  // of samples: see Estimate
};

// Columns objects and bytes, in the table with their shares, and with kSamples samples.
std::vector<Column> AmountColumns(Basis basis);
// Columns live_objects and live_bytes, and with kSamples live_samples.
std::vector<Column> LiveColumns(Basis basis);
// Adds an amount to the head of the JSON, with the keys of AmountColumns.
void AddAmount(nlohmann::ordered_json* json, const Amount& amount, Basis basis);
// The same for an estimate from samples, without the number of samples.
void AddEstimate(nlohmann::ordered_json* json, const Amount& amount);

Basis BasisOf(const CountByShape& counts);
// A sentence that says what the numbers are; empty if they are exact.
std::string NoteOf(const CountByShape& counts);
// If something was skipped, adds "estimated" and how much was skipped.
void AddNote(nlohmann::ordered_json* json, const CountByShape& counts);

}  // namespace anttracks::analyzer
