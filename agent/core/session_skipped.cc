// SPDX-License-Identifier: Apache-2.0
// Stretches that are not read: with a budget, or a share. What lives in them is found by the young collection that moves it; before a
// collection that has to know all objects they are read after all.
#include <algorithm>

#include "agent/core/session.h"
#include "trace/object_runs.h"

namespace anttracks::core {
namespace {

constexpr uint64_t kAdjustNs = 100'000'000;
// What a report costs beside what is measured: a call, and the way there in the VM.
constexpr uint64_t kReportNs = 100;

}  // namespace

bool Session::MakeSkippedMap() {
  if (!skipped_.made() && !skipped_.Make(vm_.heap_start, vm_.heap_end)) return false;
  may_skip_.store(true, std::memory_order_release);
  return true;
}

bool Session::SetBudget(double percent) {
  if (percent < 100 && !MakeSkippedMap()) return false;
  budget_.SetPercent(percent);
  return true;
}

Budget::Costs Session::CostsSoFar() const {
  uint64_t walk = 0, reports = 0, hooks = 0;
  {
    const std::lock_guard lock(registry_mutex_);
    walk = exited_.walk_ns.value();
    reports = exited_.tlabs.value();
    for (const ThreadState* state = threads_; state != nullptr; state = state->next) {
      walk += state->counts.walk_ns.value();
      reports += state->counts.tlabs.value();
    }
  }
  for (const Worker& worker : workers_) hooks += worker.hook_ns.value();
  return {.process_ns = Clock::ProcessCpu(),
          .scaled_ns = walk + output_.compress_ns.load(std::memory_order_relaxed) + Clock::ThreadCpu(),
          .fixed_ns = hooks + reports * kReportNs};
}

// In the writer.
void Session::HandOver() {
  const uint64_t now = Clock::Monotonic();
  if (budget_.percent() == 0 || now - adjusted_ns_ < kAdjustNs) return;
  adjusted_ns_ = now;
  budget_.Adjust(CostsSoFar());
}

void Session::Skip(ThreadState& state, const Stretch& stretch) {
  state.counts.skipped_words.Add((stretch.top - stretch.start) / trace::kWordBytes);
  if (!state.skipped.empty() && state.skipped.back().top == stretch.start) {
    state.skipped.back().top = stretch.top;
  } else {
    state.skipped.push_back(stretch);
  }
  skipped_.Mark(stretch);
}

// At a safepoint, or when no thread runs.
void Session::WriteSkipped(ThreadState& state, PushMode mode) {
  for (const Stretch& stretch : state.skipped) {
    if (!RoomForRun(state, trace::kMaxRunHeadBytes, 0, mode)) break;
    const uint64_t start = stretch.start / trace::kWordBytes, top = stretch.top / trace::kWordBytes;
    state.out = trace::PutRunHead(state.out, {.distance = static_cast<int64_t>(start - state.run_end),
                                              .how = trace::How::kSkipped,
                                              .lengths = top - start});
    state.run_end = top;
  }
  standing_.insert(standing_.end(), state.skipped.begin(), state.skipped.end());
}

void Session::ReadSkipped(ThreadState& state, PushMode mode) {
  Batch batch;
  batch.how = trace::How::kLate;
  for (const Stretch& stretch : state.skipped) {
    skipped_.Clear(stretch);
    state.counts.skipped_words.Add(-((stretch.top - stretch.start) / trace::kWordBytes));
    batch.Add(stretch);
    if (batch.count < kLanes) continue;
    ReadBatch(state, batch, mode, true);
    batch.Clear();
  }
  if (!batch.empty()) ReadBatch(state, batch, mode, true);
}

// What was skipped since the last collection: read, or written as that.
void Session::SettleSkipped(bool read, PushMode mode) {
  if (!may_skip_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(registry_mutex_);
  const auto settle = [&](ThreadState& state) {
    if (state.skipped.empty()) return;
    read ? ReadSkipped(state, mode) : WriteSkipped(state, mode);
    state.skipped.clear();
  };
  for (ThreadState* state = threads_; state != nullptr; state = state->next) settle(*state);
  for (Orphans& orphans : orphans_) {
    const auto state = std::make_unique<ThreadState>(orphans.thread);
    state->skipped = std::move(orphans.skipped);
    settle(*state);
    StageThread(*state, mode);
    if (state->buffer != nullptr) queue_.Release(state->buffer);
    exited_.Add(state->counts);
  }
  orphans_.clear();
}

// After a collection that has found what lived there.
void Session::ForgetSkipped() {
  for (const Stretch& stretch : standing_) skipped_.Clear(stretch);
  standing_.clear();
}

}  // namespace anttracks::core
