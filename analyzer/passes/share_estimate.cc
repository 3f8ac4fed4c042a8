// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/share_estimate.h"

#include <algorithm>
#include <cmath>

namespace anttracks::analyzer {
namespace {

constexpr double k95 = 1.96, kEscaped = 3;
constexpr double kLeastWords = 2;  // of an object

// For residuals. 1.96 would do were they normal; where one stretch in fifty is unlike the others, it leaves out
// 7 % of the truths instead of 5.
constexpr double kOfResiduals = 2.2;

// Student's quantile for that many degrees of freedom (Cornish and Fisher's expansion).
double Student(double freedom) {
  const double z = kOfResiduals, v = std::max(freedom, 1.0);
  return z + (z * z * z + z) / (4 * v) + (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * v * v);
}

}  // namespace

// The bounds of the mean of a Poisson distribution, given a count of n.
double PoissonHigh(double n) {
  return (n + 1) * std::pow(1 - 1 / (9 * (n + 1)) + k95 / (3 * std::sqrt(n + 1)), 3);
}
double PoissonLow(double n) {
  return n == 0 ? 0 : n * std::pow(std::max(0.0, 1 - 1 / (9 * n) - k95 / (3 * std::sqrt(n))), 3);
}

void ShareEstimator::Object(Group group, uint64_t words) {
  OfGroup& sums = At(group);
  if (sums.current_objects == 0) touched_.push_back(group);
  sums.current_objects++;
  sums.current_words += words;
  cluster_words_ += words;
}

void ShareEstimator::End() {
  if (cluster_words_ == 0) return;
  const double p = static_cast<double>(share_) / trace::kWholeShare, weight = 1 / p,
               variance = (1 - p) / (p * p);
  const auto words = static_cast<double>(cluster_words_);
  for (const Group group : touched_) {
    OfGroup& sums = groups_[group];
    sums.objects.Add(static_cast<double>(sums.current_objects), words, weight, variance);
    sums.words.Add(static_cast<double>(sums.current_words), words, weight, variance);
    sums.clusters++;
    sums.known_objects += sums.current_objects;
    sums.known_words += sums.current_words;
    sums.current_objects = sums.current_words = 0;
  }
  touched_.clear();
  clusters_++;
  weights_ += weight;
  weight_squares_ += weight * weight;
  highest_weight_ = std::max(highest_weight_, weight);
  weighted_words_ += weight * words;
  square_words_ += variance * words * words;
  read_words_ += cluster_words_;
  cluster_words_ = 0;
}

void ShareEstimator::Found(Group group, uint64_t words) {
  OfGroup& sums = At(group);
  sums.known_objects++;
  sums.known_words += words;
}

Estimated ShareEstimator::Interval(const OfGroup& group, const Sums& sums, uint64_t known) const {
  const auto least = static_cast<double>(known);
  if (skipped_words_ == 0) return {least, least, least};
  // Nothing was read: it may be whatever has room there.
  if (weighted_words_ == 0) return {least, least, least + static_cast<double>(skipped_words_) / kLeastWords};
  const auto all = static_cast<double>(read_words_ + skipped_words_);
  const double ratio = sums.weighted / weighted_words_, scale = all / weighted_words_;
  const double square = sums.square - 2 * ratio * sums.cross + ratio * ratio * square_words_;
  const double worth = weights_ * weights_ / weight_squares_;
  const double value = ratio * all;
  const double error =
      std::hypot(Student(worth - 1) * scale * std::sqrt(std::max(0.0, square)), value * kEscaped / worth);
  const double clusters =
      sums.weighted_squares == 0 ? 0 : sums.weighted * sums.weighted / sums.weighted_squares;
  const double each = clusters == 0 ? 0 : value / clusters;
  // In many stretches, or in most of few: the residuals say more than a count does.
  const bool few = clusters < 30 && group.clusters < clusters_ / 2;
  const double low = few ? std::min(value - error, each * PoissonLow(clusters)) : value - error;
  // Where the share was least, some more may have escaped whatever others say.
  const double escaped =
      kEscaped * scale * highest_weight_ * least / std::max(1.0, static_cast<double>(group.clusters));
  const double high =
      few ? std::max({value + error, each * PoissonHigh(clusters), value + escaped}) : value + error;
  return {std::max(value, least), std::max(low, least), std::max(high, least)};
}

EstimatedTotals ShareEstimator::Of(std::span<const Group> groups) const {
  EstimatedTotals totals;
  const auto add = [](Estimated* sum, const Estimated& one) {
    sum->value += one.value;
    sum->low += one.low;
    sum->high += one.high;
  };
  for (const Group number : groups) {
    if (number >= groups_.size()) continue;
    const OfGroup& group = groups_[number];
    add(&totals.objects, Interval(group, group.objects, group.known_objects));
    add(&totals.words, Interval(group, group.words, group.known_words));
  }
  return totals;
}

}  // namespace anttracks::analyzer
