// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/origin_runs.h"

#include <algorithm>

namespace anttracks::analyzer {

bool OriginRuns::Add(const OriginRun& run) {
  if (run.end <= run.begin || (!runs_.empty() && run.begin < runs_.back().end)) return false;
  runs_.push_back(run);
  ids_.emplace_back();
  words_ += run.end - run.begin;
  return true;
}

void OriginRuns::Begin(int64_t epoch, Origins* origins) {
  begins_++;
  epoch_ = epoch;
  origins_ = origins;
  by_origin_.clear();
  last_ = 0;
  found_ = 0;
}

uint32_t OriginRuns::IdOf(size_t i) {
  Id& id = ids_[i];
  if (id.begin == begins_) return id.origin;
  const OriginRun& run = runs_[i];
  const auto [at, is_new] = by_origin_.try_emplace({run.thread, run.age}, 0);
  if (is_new) at->second = origins_->Add({run.thread, epoch_ - static_cast<int64_t>(run.age)});
  id = {begins_, at->second};
  return id.origin;
}

uint32_t OriginRuns::Find(uint64_t word, uint32_t words) {
  const auto holds = [&](size_t i) {
    return i < runs_.size() && word >= runs_[i].begin && word < runs_[i].end;
  };
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
  return IdOf(last_);
}

}  // namespace anttracks::analyzer
