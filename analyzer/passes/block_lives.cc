// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/block_lives.h"

namespace anttracks::analyzer {

void BlockLives::BeforeDrop(std::span<const DeadRange> ranges) {
  for (const DeadRange& range : ranges) {
    heap().ForEach(range.bottom, range.top, [&](const HeapObject& object, bool taken) {
      if (!taken) Ended(object);
    });
  }
}

void BlockLives::BeforeClear() {
  heap().ForEach([&](const HeapObject& object, bool) { Ended(object); });
}

void BlockLives::GcEnd(const GcEvent& event) {
  Rebuild::GcEnd(event);
  if (AffordsWalk()) CountLive(gcs().back().end_ns, true);
}

// The heap at the end has dead objects, too, and does not count as the highest.
void BlockLives::CountLive(uint64_t time, bool after_gc) {
  for (Counts& counts : counts_) counts.live = 0;
  heap().ForEach([&](const HeapObject& object, bool) {
    if (InTrace(object)) At(object.shape).live++;
  });
  uint64_t all = 0;
  for (auto& [site_class, sums] : sums_) sums.live = {};
  for (uint32_t shape = 0; shape < counts_.size(); shape++) {
    if (counts_[shape].live == 0 || IsFiller(shape)) continue;
    const uint64_t words = counts_[shape].live * definitions().shapes().words(shape);
    sums_[definitions().shapes()[shape].site_class].live.Add({counts_[shape].live, words});
    all += words;
  }
  const bool highest = all > highest_words_ && (after_gc || highest_ns_ == 0);
  if (highest) {
    highest_words_ = all;
    highest_ns_ = time;
  }
  for (auto& [site_class, sums] : sums_) {
    if (sums.live.words > sums.most.words) sums.most = sums.live;
    if (highest) sums.at_highest = sums.live;
  }
}

void BlockLives::Finish(uint64_t end_ns) {
  now_ = end_ns;
  heap().ForEach([&](const HeapObject& object, bool) { Ended(object); });
  CountLive(end_ns, false);
  std::map<uint32_t, Wide> lived;
  for (uint32_t shape = 0; shape < counts_.size(); shape++) {
    if (counts_[shape].born == 0 || IsFiller(shape)) continue;
    const uint32_t site_class = definitions().shapes()[shape].site_class;
    sums_[site_class].born.Add(
        {counts_[shape].born, counts_[shape].born * definitions().shapes().words(shape)});
    lived[site_class] += counts_[shape].lived;
  }
  // Times of a damaged trace may run backwards, and objects be lost from sight: then it is 0.
  for (const auto& [site_class, sum] : lived) {
    const bool possible = sum <= UINT64_MAX;
    sums_[site_class].lived_ns = possible ? static_cast<uint64_t>(sum) : 0;
  }
}

}  // namespace anttracks::analyzer
