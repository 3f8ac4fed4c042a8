// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/origin_runs.h"

#include <algorithm>

namespace anttracks::analyzer {

bool OriginRuns::Add(const OriginRun& run) {
  if (run.end <= run.begin || (!runs_.empty() && run.begin < runs_.back().end)) return false;
  runs_.push_back(run);
  words_ += run.end - run.begin;
  return true;
}

void OriginRuns::Begin(int64_t epoch, Origins* origins) {
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> ids;
  ids_.clear();
  for (const OriginRun& run : runs_) {
    const auto [at, is_new] = ids.try_emplace({run.thread, run.age}, 0);
    if (is_new) at->second = origins->Add({run.thread, epoch - static_cast<int64_t>(run.age)});
    ids_.push_back(at->second);
  }
  last_ = 0;
  found_ = 0;
}

uint32_t OriginRuns::Find(uint64_t word, uint32_t words) {
  const auto holds = [&](size_t i) { return i < runs_.size() && word >= runs_[i].begin && word < runs_[i].end; };
  if (!holds(last_)) {
    if (holds(last_ + 1)) {
      last_++;
    } else {
      const auto behind = std::upper_bound(runs_.begin(), runs_.end(), word,
                                           [](uint64_t at, const OriginRun& run) { return at < run.begin; });
      if (behind == runs_.begin()) return Origins::kBeforeTrace;
      last_ = static_cast<size_t>(behind - runs_.begin()) - 1;
      if (!holds(last_)) return Origins::kBeforeTrace;
    }
  }
  if (words > runs_[last_].end - word) return Origins::kBeforeTrace;
  found_ += words;
  return ids_[last_];
}

}  // namespace anttracks::analyzer
