// SPDX-License-Identifier: Apache-2.0
// How much was allocated in each period of a trace, in a bounded number of periods.
//
// Thread safety: none. Units: bytes, ns since the start of the trace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace anttracks::analyzer {

class RateOverTime {
 public:
  static constexpr size_t kMost = 200;

  void Add(uint64_t time, double bytes) {
    while (time / period_ns_ >= kMost) Widen();
    const size_t at = time / period_ns_;
    if (at >= bytes_.size()) bytes_.resize(at + 1);
    bytes_[at] += bytes;
  }
  // Of bytes that were allocated between these times, nobody knows when. from < to.
  void AddEvenly(uint64_t from, uint64_t to, double bytes) {
    while ((to - 1) / period_ns_ >= kMost) Widen();
    const double each = bytes / static_cast<double>(to - from);
    for (uint64_t begin = from; begin < to;) {
      const uint64_t end = begin + std::min(to - begin, period_ns_ - begin % period_ns_);
      Add(begin, each * static_cast<double>(end - begin));
      begin = end;
    }
  }

  // Of consecutive periods of period_ns() from time 0 on.
  const std::vector<double>& bytes() const { return bytes_; }
  uint64_t period_ns() const { return period_ns_; }

 private:
  void Widen() {
    period_ns_ *= 2;
    for (size_t i = 0; i < bytes_.size(); i++) {
      const double bytes = bytes_[i];
      bytes_[i] = 0;
      bytes_[i / 2] += bytes;
    }
    bytes_.resize((bytes_.size() + 1) / 2);
  }

  uint64_t period_ns_ = 1'000'000;
  std::vector<double> bytes_;
};

}  // namespace anttracks::analyzer
