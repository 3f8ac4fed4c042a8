// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/provenance_runs.h"

#include <algorithm>

namespace anttracks::analyzer {

bool ProvenanceRuns::Add(const ProvenanceRun& run) {
  if (run.end <= run.begin || (!runs_.empty() && run.begin < runs_.back().end)) return false;
  runs_.push_back(run);
  ids_.emplace_back();
  words_ += run.end - run.begin;
  return true;
}

void ProvenanceRuns::Begin(int64_t epoch, ProvenanceTable* table) {
  begins_++;
  epoch_ = epoch;
  table_ = table;
  id_of_.clear();
  last_ = 0;
  found_ = 0;
}

uint32_t ProvenanceRuns::IdOf(size_t i) {
  Id& id = ids_[i];
  if (id.begin == begins_) return id.provenance;
  const ProvenanceRun& run = runs_[i];
  const auto [at, is_new] = id_of_.try_emplace({run.thread, run.age}, 0);
  if (is_new) at->second = table_->Add({run.thread, epoch_ - static_cast<int64_t>(run.age)});
  id = {begins_, at->second};
  return id.provenance;
}

uint32_t ProvenanceRuns::Find(uint64_t word, uint32_t words) {
  const auto holds = [&](size_t i) {
    return i < runs_.size() && word >= runs_[i].begin && word < runs_[i].end;
  };
  if (!holds(last_)) {
    if (holds(last_ + 1)) {
      last_++;
    } else {
      const auto behind =
          std::upper_bound(runs_.begin(), runs_.end(), word,
                           [](uint64_t at, const ProvenanceRun& run) { return at < run.begin; });
      if (behind == runs_.begin()) return ProvenanceTable::kBeforeTrace;
      last_ = static_cast<size_t>(behind - runs_.begin()) - 1;
      if (!holds(last_)) return ProvenanceTable::kBeforeTrace;
    }
  }
  if (words > runs_[last_].end - word) return ProvenanceTable::kBeforeTrace;
  found_ += words;
  return IdOf(last_);
}

}  // namespace anttracks::analyzer
