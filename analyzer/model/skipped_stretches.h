// SPDX-License-Identifier: Apache-2.0
// The skipped ranges since the last collection: TLAB stretches whose objects were not read.
//
// Thread safety: none. Units: word numbers; ranges are [begin, end).
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace anttracks::analyzer {

class SkippedStretches {
 public:
  struct Stretch {
    uint64_t begin = 0, end = 0;
    uint32_t provenance = 0;
  };

  void Add(const Stretch& stretch) { stretches_.push_back(stretch); }
  void Clear() {
    stretches_.clear();
    taken_.clear();
    last_ = 0;
  }

  // Must be called after the last Add and before Find. False: some overlap; only the first of these is left.
  bool Sort() {
    std::sort(stretches_.begin(), stretches_.end(),
              [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
    size_t kept = 0;
    for (const Stretch& stretch : stretches_) {
      if (kept == 0 || stretch.begin >= stretches_[kept - 1].end) stretches_[kept++] = stretch;
    }
    const bool apart = kept == stretches_.size();
    stretches_.resize(kept);
    last_ = 0;
    return apart;
  }

  // The range that contains `words` words from `word` on; nullptr: there is none. Fast if it is that of the
  // call before.
  const Stretch* Find(uint64_t word, uint32_t words) {
    if (last_ < stretches_.size() && Holds(stretches_[last_], word, words)) return &stretches_[last_];
    const auto behind =
        std::upper_bound(stretches_.begin(), stretches_.end(), word,
                         [](uint64_t at, const Stretch& stretch) { return at < stretch.begin; });
    if (behind == stretches_.begin()) return nullptr;
    last_ = static_cast<size_t>(behind - stretches_.begin()) - 1;
    return Holds(stretches_[last_], word, words) ? &stretches_[last_] : nullptr;
  }

  // An object was found in a range. False: it overlaps an object that was found before.
  bool Take(uint64_t word, uint32_t words) {
    const auto behind = taken_.lower_bound(word);
    if (behind != taken_.end() && behind->first < word + words) return false;
    if (behind != taken_.begin() && std::prev(behind)->first + std::prev(behind)->second > word) return false;
    taken_.emplace_hint(behind, word, words);
    return true;
  }

  const std::vector<Stretch>& all() const { return stretches_; }
  uint64_t words() const {
    uint64_t sum = 0;
    for (const Stretch& stretch : stretches_) sum += stretch.end - stretch.begin;
    return sum;
  }

 private:
  static bool Holds(const Stretch& stretch, uint64_t word, uint32_t words) {
    return word >= stretch.begin && word < stretch.end && words <= stretch.end - word;
  }

  std::vector<Stretch> stretches_;
  std::map<uint64_t, uint32_t> taken_;
  size_t last_ = 0;
};

}  // namespace anttracks::analyzer
