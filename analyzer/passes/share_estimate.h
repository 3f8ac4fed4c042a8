// SPDX-License-Identifier: Apache-2.0
// How much was allocated where only a share of the TLAB stretches was read: estimates with 95 % intervals.
//
// Stretches are a sample of clusters: each was read with a probability p that does not depend on what is in it
// (Poisson sampling). The bytes of all stretches are known, so that the estimate is a ratio: what the read ones
// have per byte, each weighted with 1 / p, times all bytes (Hajek's estimator; Saerndal, Swensson, Wretman,
// "Model Assisted Survey Sampling", 1992, sections 5.6 and 5.7). Its variance is that of the residuals, with
// Student's quantile for as many stretches as the weighted ones are worth (Kish). What only few stretches have
// gets at least the interval of a Poisson count (Wilson and Hilferty's approximation); and as many stretches as
// may have escaped (three in so many as were read, the rule of three) may be quite unlike those that were read.
//
// Thread safety: none. Units: words of 8 bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/format.h"

namespace anttracks::analyzer {

// An estimate, and where the true number lies in 95 of 100 cases.
struct Estimated {
  double value = 0, low = 0, high = 0;
};

struct EstimatedTotals {
  Estimated objects, words;
};

class ShareEstimator {
 public:
  // Of objects, by a number that the caller gives; 0, 1, 2 and so on.
  using Group = uint32_t;

  // A stretch that was read, in a segment of that share.
  void Begin(uint32_t share) {
    End();
    share_ = share;
  }
  void Object(Group group, uint64_t words);
  void End();
  void Skipped(uint64_t words) { skipped_words_ += words; }
  // Of what was skipped, known all the same.
  void Found(Group group, uint64_t words);

  uint64_t read_words() const { return read_words_; }
  uint64_t skipped_words() const { return skipped_words_; }
  // All that these groups have in stretches that were chosen or skipped. Their errors are added up as if they
  // always went the same way, so that the interval of several groups is rather too wide than too narrow.
  EstimatedTotals Of(std::span<const Group> groups) const;

 private:
  struct Sums {
    double weighted = 0, weighted_squares = 0;  // n / p, and its square
    double square = 0, cross = 0;               // of n and n, n and the stretch's words, by (1 - p) / p^2
    void Add(double n, double words, double weight, double variance) {
      weighted += weight * n;
      weighted_squares += weight * n * weight * n;
      square += variance * n * n;
      cross += variance * n * words;
    }
  };
  struct OfGroup {
    Sums objects, words;
    uint64_t clusters = 0;                        // stretches that have some
    uint64_t known_objects = 0, known_words = 0;  // read or found
    uint64_t current_objects = 0, current_words = 0;
  };
  OfGroup& At(Group group) {
    if (group >= groups_.size()) groups_.resize(group + size_t{1});
    return groups_[group];
  }
  Estimated Interval(const OfGroup& group, const Sums& sums, uint64_t known) const;

  std::vector<OfGroup> groups_;
  std::vector<Group> touched_;  // by the stretch that is being read
  uint64_t cluster_words_ = 0;
  uint32_t share_ = trace::kWholeShare;
  uint64_t clusters_ = 0;
  double weights_ = 0, weight_squares_ = 0, highest_weight_ = 0;
  double weighted_words_ = 0, square_words_ = 0;
  uint64_t read_words_ = 0, skipped_words_ = 0;
};

}  // namespace anttracks::analyzer
