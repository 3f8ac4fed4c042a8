// SPDX-License-Identifier: Apache-2.0
// Estimates how much was allocated if only a share of the TLAB stretches was read, with 95 % intervals.
//
// Stretches are a sample of clusters: each was read with a probability p that does not depend on its contents
// (Poisson sampling). The bytes of all stretches are known, so the estimate is a ratio: objects per byte in the
// stretches that were read, each weighted with 1 / p, times all bytes (Hajek's estimator; Saerndal, Swensson,
// Wretman, "Model Assisted Survey Sampling", 1992, sections 5.6 and 5.7). Its variance is that of the
// residuals, with Student's quantile for the effective number of stretches (Kish). Objects in only few
// stretches get at least the interval of a Poisson count (Wilson and Hilferty's approximation). And up to 3 / n
// of the stretches, n being those that were read, may be quite different (the rule of three).
//
// Thread safety: none. Units: words of 8 bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/format.h"

namespace anttracks::analyzer {

// An estimate, and its 95 % interval [low, high].
struct Estimated {
  double value = 0, low = 0, high = 0;
};

// Of a Poisson count of n: where its mean lies in 95 of 100 cases.
double PoissonLow(double n);
double PoissonHigh(double n);

struct EstimatedTotals {
  Estimated objects, words;
};

class ShareEstimator {
 public:
  // A group of objects, numbered by the caller: 0, 1, 2 and so on.
  using Group = uint32_t;

  // A stretch begins that was read with that share.
  void Begin(uint32_t share) {
    End();
    share_ = share;
  }
  void Object(Group group, uint64_t words);
  void End();
  void Skipped(uint64_t words) { skipped_words_ += words; }
  // An object in a skipped range that a collection found.
  void Found(Group group, uint64_t words);

  uint64_t read_words() const { return read_words_; }
  uint64_t skipped_words() const { return skipped_words_; }
  // The total of these groups in all stretches, read or skipped. Their errors are added as if all had the same
  // sign, so that the interval of several groups is too wide rather than too narrow.
  EstimatedTotals Of(std::span<const Group> groups) const;

 private:
  struct Sums {
    double weighted = 0, weighted_squares = 0;  // sums of n / p, and of its square
    double square = 0, cross = 0;  // sums of n * n and of n * (the stretch's words), each times (1 - p) / p^2
    void Add(double n, double words, double weight, double variance) {
      weighted += weight * n;
      weighted_squares += weight * n * weight * n;
      square += variance * n * n;
      cross += variance * n * words;
    }
  };
  struct OfGroup {
    Sums objects, words;
    uint64_t clusters = 0;                        // stretches with objects of the group
    uint64_t known_objects = 0, known_words = 0;  // read or found
    uint64_t current_objects = 0, current_words = 0;
  };
  OfGroup& At(Group group) {
    if (group >= groups_.size()) groups_.resize(group + size_t{1});
    return groups_[group];
  }
  Estimated Interval(const OfGroup& group, const Sums& sums, uint64_t known) const;

  std::vector<OfGroup> groups_;
  std::vector<Group> touched_;  // groups in the current stretch
  uint64_t cluster_words_ = 0;
  uint32_t share_ = trace::kWholeShare;
  uint64_t clusters_ = 0;
  double weights_ = 0, weight_squares_ = 0, highest_weight_ = 0;
  double weighted_words_ = 0, square_words_ = 0;
  uint64_t read_words_ = 0, skipped_words_ = 0;
};

}  // namespace anttracks::analyzer
