// SPDX-License-Identifier: Apache-2.0
#include "agent/full/session.h"

#include <utility>

#include "trace/events.h"

namespace anttracks::core {
namespace {

constexpr uint64_t kAdjustNs = 100'000'000;

}  // namespace

Session::Session(const AntTracksVM& vm, const SessionConfig& config)
    : SyncPointSource(config.census ? ValidIn::kCensus : ValidIn::kFull,
                      {config.buffer_bytes, config.fuzz, config.queue_bytes, config.wait_bytes,
                       config.when_full, config.wait_limit}),
      vm_(vm),
      stretch_bytes_(config.stretch_bytes),
      budget_percent_(config.budget_percent),
      outlet_{clock_, queue_, failure_},
      definitions_(vm, config.most_id, config.census.has_value()),
      reader_(vm, definitions_, failure_),
      cost_(vm, config.share, config.stack_bytes, config.stack_percent),
      stacks_(definitions_, outlet_, config.most_stacks),
      provenance_(config.keeps_provenance ? std::optional<Provenance>(std::in_place) : std::nullopt),
      gc_events_(vm, reader_, cost_.budget(), cost_.skipped(), provenance(), outlet_),
      census_(config.census ? std::optional<Census>(std::in_place, vm, definitions_, outlet_, *config.census)
                            : std::nullopt),
      sync_points_(vm, reader_, outlet_,
                   {config.first_sync_point_limit, config.most_in_pause, census(), provenance()}),
      mutators_(definitions_, reader_, cost_.budget(), cost_.skipped(), stacks_, provenance(), outlet_,
                {config.report_limit, config.walkers, config.walker_waited}),
      collections_(
          *this, outlet_,
          {definitions_, cost_.skipped(), stacks_, gc_events_, sync_points_, mutators_, census(), provenance()},
          config.pause_limit) {}

Session::~Session() = default;

void Session::Begin(trace::SyncReason reason) {
  reason_ = reason;
  gc_events_.Begin(vm_.gc_workers);
  if (provenance_) provenance_->Begin(vm_.gc_workers);
  mutators_.Start();
  if (!cost_.Begin(budget_percent_)) failure_.Fail("not enough memory for budget= or share=");
  failure_.Activate();
}

// A walker ends its batch, a walk its block; what comes after sees that tracing is off. Needs no memory.
void Session::LeaveHeap() noexcept {
  mutators_.walkers().WaitIdle();
  sync_points_.LeaveHeap();
}

void Session::SetEndReason(std::string_view reason) {
  const std::lock_guard lock(end_mutex_);
  end_reason_ = reason;
}

void Session::Finish(std::string_view reason) noexcept {
  failure_.Guard([&] {
    SetEndReason(reason);
    sync_points_.End();
    if (!failure_.active()) return;
    mutators_.HandOverAll(PushMode::kForce, OnSkipped::kWriteAsSkipped);
    stacks_.HandOver();
  });
  failure_.Deactivate();
  cost_.End();
  mutators_.walkers().Stop();
  queue_.Close();
}

void Session::Abandon(std::string_view reason) noexcept {
  const bool was_active = failure_.active();
  failure_.Deactivate();
  cost_.End();
  queue_.AdmitAll();
  mutators_.walkers().Stop();
  failure_.Guard([&] {
    SetEndReason(reason);
    if (!was_active) return;
    trace::ByteBuffer loss;
    trace::AppendLoss(&loss, clock_.Now(), 0, 0, std::string(reason) + " while threads were running");
    (void)queue_.PushLoss(loss.span());
  });
  queue_.Close();
}

// In the writer.
void Session::HandOver() {
  if (provenance_) provenance_->Settle();
  const uint64_t now = Clock::Monotonic();
  if (now - adjusted_ns_ < kAdjustNs) return;
  adjusted_ns_ = now;
  stacks_.HandOver();
  CostControl::Spent spent{.stack_ns = stacks_.ns(), .for_budget = cost_.budget().percent() != 0};
  if (spent.for_budget) {  // else only stacks have a price, and nobody visits all threads
    AllocCounts alloc;
    mutators_.AddCounts(&alloc);
    spent.walk_ns = alloc.walk_ns.value();
    spent.tlabs = alloc.tlabs.value();
    spent.hook_ns = gc_events_.counts().hook_ns;
    spent.compress_ns = output_.compress_ns.load(std::memory_order_relaxed);
  }
  cost_.Adjust(spent);
}

trace::SavedProvenance Session::TakeProvenance() {
  return provenance_ ? provenance_->TakeSaved() : trace::SavedProvenance();
}

std::string Session::end_reason() const {
  const std::lock_guard lock(end_mutex_);
  return end_reason_;
}

CounterValues Session::counters() const {
  CounterValues values;
  values.collections = collections_.count();
  values.waits = queue_.waits();
  values.blocked_ns = queue_.blocked_ns();
  mutators_.Count(&values);
  stacks_.Count(&values);
  gc_events_.Count(&values);
  sync_points_.Count(&values);
  cost_.Count(&values);
  if (provenance_) provenance_->Count(&values);
  definitions_.Count(&values);
  CountOutput(&values);
  return values;
}

}  // namespace anttracks::core
