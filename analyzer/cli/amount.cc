// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/amount.h"

#include <fmt/format.h>

#include <tuple>

namespace anttracks::analyzer {
namespace {

Estimated EstimatedBytes(const Estimated& words) {
  constexpr double kBytes = trace::kWordBytes;
  return {words.value * kBytes, words.low * kBytes, words.high * kBytes};
}

Estimated Point(double value) { return {value, value, value}; }

void AddTo(Estimated* sum, const Estimated& one) {
  *sum = {sum->value + one.value, sum->low + one.low, sum->high + one.high};
}

Accuracy AccuracyOf(Basis basis) {
  switch (basis) {
    case Basis::kExact:
      return Accuracy::kExact;
    case Basis::kSamples:
      return Accuracy::kEstimate;
    case Basis::kChosen:
      return Accuracy::kInterval;
  }
  return Accuracy::kExact;
}

}  // namespace

Amount::Amount(const HeapTotals& exact)
    : known_(exact),
      objects_(Point(static_cast<double>(exact.objects))),
      bytes_(Point(static_cast<double>(exact.bytes()))) {}

Amount::Amount(const Allocated& allocated)
    : known_(allocated.known), objects_(allocated.objects), bytes_(EstimatedBytes(allocated.words)) {}

Amount::Amount(const Estimate& estimate)
    : objects_(Point(estimate.objects)),
      bytes_(Point(estimate.bytes)),
      samples_(estimate.samples),
      object_squares_(estimate.object_squares),
      byte_squares_(estimate.byte_squares) {}

void Amount::Add(const Amount& other) {
  known_.Add(other.known_);
  AddTo(&objects_, other.objects_);
  AddTo(&bytes_, other.bytes_);
  samples_ += other.samples_;
  object_squares_ += other.object_squares_;
  byte_squares_ += other.byte_squares_;
}

Estimated Amount::WithInterval(const Estimated& sum, double squares) const {
  if (samples_ == 0 || squares == 0) return sum;
  // As many samples of equal weight as would be as reliable (Kish).
  const double worth = sum.value * sum.value / squares, each = sum.value / worth;
  return {sum.value, each * PoissonLow(worth), each * PoissonHigh(worth)};
}

std::partial_ordering Amount::operator<=>(const Amount& other) const {
  return std::tie(bytes_.value, objects_.value) <=> std::tie(other.bytes_.value, other.objects_.value);
}

std::string Amount::Text(Basis basis) const {
  if (basis == Basis::kExact) return Plural(known_.objects, "object") + ", " + Bytes(known_.bytes());
  const std::string interval = basis == Basis::kChosen ? " (" + IntervalOf(objects_) + ")" : "";
  return fmt::format("{} objects{}, {}", AboutCount(objects_.value), interval, AboutBytes(bytes_.value));
}

void Amount::AddCells(Row* row, Basis basis) const {
  if (basis == Basis::kExact) {
    row->insert(row->end(), {known_.objects, known_.bytes()});
    return;
  }
  row->insert(row->end(), {objects_, bytes_});
  if (basis == Basis::kSamples) row->emplace_back(samples_);
}

std::vector<Column> AmountColumns(Basis basis) {
  const Accuracy accuracy = AccuracyOf(basis);
  std::vector<Column> columns{
      {.key = "objects", .title = "Objects", .unit = Unit::kCount, .accuracy = accuracy, .with_share = true},
      {.key = "bytes", .title = "Bytes", .unit = Unit::kBytes, .accuracy = accuracy, .with_share = true}};
  if (basis == Basis::kSamples) columns.push_back({.key = "samples", .title = "Samples", .unit = Unit::kCount});
  return columns;
}

std::vector<Column> LiveColumns(Basis basis) {
  const Accuracy accuracy = AccuracyOf(basis);
  std::vector<Column> columns{
      {.key = "live_objects", .title = "Live objects", .unit = Unit::kCount, .accuracy = accuracy},
      {.key = "live_bytes",
       .title = "Live bytes",
       .unit = Unit::kBytes,
       .accuracy = accuracy,
       .with_share = true}};
  if (basis == Basis::kSamples) {
    columns.push_back({.key = "live_samples", .title = "Live samples", .unit = Unit::kCount});
  }
  return columns;
}

void AddAmount(nlohmann::ordered_json* json, const Amount& amount, Basis basis) {
  Row cells;
  amount.AddCells(&cells, basis);
  AddCells(json, AmountColumns(basis), cells);
}

void AddEstimate(nlohmann::ordered_json* json, const Amount& amount) {
  nlohmann::ordered_json all;
  AddAmount(&all, amount, Basis::kSamples);
  for (const char* key : {"objects", "bytes"}) (*json)[key] = all[key];
}

Basis BasisOf(const CountByShape& counts) { return counts.estimates() ? Basis::kChosen : Basis::kExact; }

std::string NoteOf(const CountByShape& counts) {
  if (!counts.estimates()) return "";
  return fmt::format("estimates: {} were read by chance, {} were skipped; a range is a 95 % interval",
                     Bytes(InBytes(counts.read_words())), Bytes(InBytes(counts.skipped_words())));
}

void AddNote(nlohmann::ordered_json* json, const CountByShape& counts) {
  if (!counts.estimates()) return;
  (*json)["estimated"] = true;
  (*json)["skipped_bytes"] = InBytes(counts.skipped_words());
  (*json)["chosen_bytes"] = InBytes(counts.read_words());
}

}  // namespace anttracks::analyzer
