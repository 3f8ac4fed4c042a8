// SPDX-License-Identifier: Apache-2.0
// The share of the TLAB stretches that were read, over the time of a trace.
//
// Thread safety: none. Units: ns since the start of the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/format.h"

namespace anttracks::analyzer {

class ShareOverTime {
 public:
  static constexpr size_t kMost = 64;
  struct Period {
    uint64_t segments = 0;
    double shares = 0;  // their sum

    double mean() const { return segments == 0 ? 0 : shares / static_cast<double>(segments); }
  };

  // Adds a segment that was begun at that time. share: 0 to 1.
  void Add(uint64_t time, double share) {
    while (time / period_ns_ >= kMost) Widen();
    const size_t at = time / period_ns_;
    if (at >= periods_.size()) periods_.resize(at + 1);
    periods_[at].segments++;
    periods_[at].shares += share;
  }

  // Consecutive periods from time 0 on, each of period_ns(); some have no segments.
  const std::vector<Period>& periods() const { return periods_; }
  uint64_t period_ns() const { return period_ns_; }

 private:
  void Widen() {
    period_ns_ *= 2;
    for (size_t i = 0; i < periods_.size(); i++) {
      const Period period = periods_[i];
      periods_[i] = {};
      periods_[i / 2].segments += period.segments;
      periods_[i / 2].shares += period.shares;
    }
    periods_.resize((periods_.size() + 1) / 2);
  }

  uint64_t period_ns_ = 100'000'000;
  std::vector<Period> periods_;
};

}  // namespace anttracks::analyzer
