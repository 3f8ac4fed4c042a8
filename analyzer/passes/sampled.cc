// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/sampled.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "trace/json_text.h"

namespace anttracks::analyzer {
namespace {

constexpr uint64_t kMostCollections = UINT32_MAX - 1;

}  // namespace

Estimate EstimateOf(uint64_t bytes, uint64_t interval) {
  const auto size = static_cast<double>(bytes);
  const bool each = interval == 0 || bytes == 0;
  const double weight = each ? 1 : 1 / -std::expm1(-size / static_cast<double>(interval));
  return {1, weight, weight * size, weight * weight, weight * size * weight * size};
}

void Sampled::Sample(const SampleEvent& event) {
  if (event.number <= last_number_ || (event.number != last_number_ + 1 && !lost_)) {
    problems_->Add(ProblemKind::kOrder, position_, "sample {} follows sample {}", event.number, last_number_);
    if (event.number <= last_number_) return;
  }
  last_number_ = event.number;
  if (event.words == 0 || event.words > UINT32_MAX) {
    problems_->Add(ProblemKind::kSize, position_, "sample {} cannot have {} words", event.number, event.words);
    return;
  }
  if (!definitions_->site_class(event.site_class).defined) {
    problems_->Add(ProblemKind::kUndefined, position_,
                   "sample {} is of site-class pair {}, which is not defined", event.number, event.site_class);
    return;
  }
  if (!definitions_->thread(event.thread).defined) {
    problems_->Add(ProblemKind::kUndefined, position_, "sample {} is of thread {}, which is not defined",
                   event.number, event.thread);
    return;
  }
  least_interval_ = std::min(least_interval_, event.interval);
  most_interval_ = std::max(most_interval_, event.interval);
  samples_.push_back({event.number, static_cast<uint32_t>(event.interval), static_cast<uint32_t>(event.thread),
                      static_cast<uint32_t>(event.site_class), static_cast<uint32_t>(event.words), event.time,
                      static_cast<uint32_t>(begun_), SampledObject::kAlive});
}

void Sampled::SampleDied(uint64_t number, uint64_t collections) {
  const auto found =
      std::lower_bound(samples_.begin(), samples_.end(), number,
                       [](const SampledObject& sample, uint64_t n) { return sample.number < n; });
  if (found == samples_.end() || found->number != number) {
    problems_->Add(lost_ ? ProblemKind::kAfterLoss : ProblemKind::kUnknownSample, position_,
                   "sample {} died but is not in the trace", number);
    return;
  }
  if (found->died != SampledObject::kAlive) {
    problems_->Add(ProblemKind::kDiedTwice, position_, "sample {} died a second time", number);
    return;
  }
  if (collections < found->born || collections > begun_) {
    problems_->Add(ProblemKind::kOrder, position_,
                   "sample {} was made after {} collections, and died after {} of {} that have begun", number,
                   found->born, collections, begun_);
    return;
  }
  found->died = static_cast<uint32_t>(collections);
}

void Sampled::GcBegin(const GcEvent& event) {
  if (event.id >= kMostCollections || event.id < begun_ || (event.id != begun_ && !lost_)) {
    problems_->Add(ProblemKind::kOrder, position_, "collection {} begins where {} was expected", event.id,
                   begun_);
    if (event.id >= kMostCollections) return;
  }
  begun_ = std::max(begun_, event.id + 1);
  begin_ns_ = event.time;
}

void Sampled::GcEnd(const GcEvent& event) {
  if (event.id + 1 != begun_) {
    problems_->Add(ProblemKind::kOrder, position_, "GC_END of collection {} does not match GC_BEGIN of {}",
                   event.id, begun_ - 1);
    return;
  }
  gcs_.push_back({event.id, begin_ns_, std::max(begin_ns_, event.time)});
}

void Sampled::End(const EndEvent& event) {
  const auto counters = trace::ParseJson<nlohmann::json>(event.counters);
  const auto count = counters.is_object() ? counters.find("samples") : counters.end();
  if (lost_ || count == counters.end() || !count->is_number_unsigned()) return;
  if (count->get<uint64_t>() != last_number_) {
    problems_->Add(ProblemKind::kTotals, position_, "the trace has {} samples, its end says {}", last_number_,
                   count->get<uint64_t>());
  }
}

}  // namespace anttracks::analyzer
