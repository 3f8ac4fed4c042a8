// SPDX-License-Identifier: Apache-2.0
#include "agent/full/session.h"

#include <utility>

#include "trace/events.h"

namespace anttracks::core {
namespace {

constexpr uint64_t kAdjustNs = 100'000'000;
// What a report costs beside what is measured: a call, and the way there in the VM.
constexpr uint64_t kReportNs = 100;
// The part of a budget that stacks may take.
constexpr double kStacksPart = 1.0 / 6;
constexpr double kPpmOfPercent = 10'000;

}  // namespace

Session::Session(const AntTracksVM& vm, const SessionConfig& config)
    : SyncPointSource(config.census ? ValidIn::kCensus : ValidIn::kFull,
                      {config.buffer_bytes, config.fuzz, config.queue_bytes, config.wait_bytes,
                       config.when_full, config.wait_limit}),
      vm_(vm),
      stretch_bytes_(config.stretch_bytes),
      pause_limit_(config.pause_limit),
      outlet_{clock_, queue_, failure_},
      definitions_(vm, config.most_id, config.census.has_value()),
      reader_(vm, definitions_, failure_),
      budget_percent_(config.budget_percent),
      stack_percent_(config.stack_percent),
      stacks_(definitions_, outlet_, config.most_stacks),
      stack_distance_(config.stack_bytes),
      gc_events_(vm, reader_, budget_, skipped_, outlet_),
      census_(config.census ? std::optional<Census>(std::in_place, vm, definitions_, outlet_, *config.census)
                            : std::nullopt),
      sync_points_(vm, reader_, outlet_, {config.first_sync_point_limit, config.most_in_pause, census()}),
      mutators_(definitions_, reader_, budget_, skipped_, stacks_, outlet_,
                {config.report_limit, config.walkers, config.walker_waited}) {
  budget_.Fix(config.share);
}

Session::~Session() = default;

void Session::Begin(trace::SyncReason reason) {
  reason_ = reason;
  gc_events_.Begin(vm_.gc_workers);
  mutators_.Start();
  if (budget_percent_ != 0 && !SetBudget(budget_percent_)) failure_.Fail("not enough memory for budget=");
  if (budget_.share() != trace::kWholeShare && !skipped_.Make(vm_))
    failure_.Fail("not enough memory for share=");
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
  mutators_.walkers().Stop();
  queue_.Close();
}

void Session::Abandon(std::string_view reason) noexcept {
  const bool was_active = failure_.active();
  failure_.Deactivate();
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

void Session::PushCollection(trace::SegmentKind kind, const AntTracksGC& gc) {
  const std::vector<trace::Space> spaces = InWords({gc.spaces, gc.nspaces});
  trace::Collection collection;
  collection.id = gc.id;
  collection.kind = static_cast<trace::GcKind>(gc.kind);
  collection.cause = gc.cause == nullptr ? "" : gc.cause;
  collection.time = clock_.Now();
  collection.spaces = spaces;
  trace::ByteBuffer segment;
  trace::AppendCollection(&segment, kind, collection);
  // So that the trace of a killed process is complete up to the last collection.
  outlet_.PushFrame(segment, kind == trace::SegmentKind::kGcEnd ? ChunkAfter::kEnds : ChunkAfter::kGoesOn);
}

void Session::CollectionBegin(const AntTracksGC& gc) {
  gc_events_.CollectionBegins(pause_limit_);
  sync_points_.CollectionBegins(gc.kind);
  if (census_) {
    collections_.Add(1);
    return census_->CollectionBegins(gc);
  }
  // These have to know all objects: they move them in an order of their own, or free their classes.
  const bool needs_all = gc.kind == ANTTRACKS_GC_FULL || gc.kind == ANTTRACKS_GC_REMARK;
  mutators_.HandOverAll(PushMode::kTry, needs_all ? OnSkipped::kRead : OnSkipped::kWriteAsSkipped);
  stacks_.HandOver();
  collections_.Add(1);
  PushCollection(trace::SegmentKind::kGcBegin, gc);
}

void Session::CollectionEnd(const AntTracksGC& gc) {
  gc_events_.CollectionEnds();
  skipped_.Forget();
  if (classes_unloaded_) ForgetSiteClasses();
  if (census_) return BeginCensusIfDue(gc);
  PushCollection(trace::SegmentKind::kGcEnd, gc);
  const bool next_file = sync_point_wanted();
  if ((!sync_points_.due() && !next_file) || !sync_points_.MayFollow(gc.kind, gc_events_.any_slides())) return;
  if (!queue_.TellLoss()) failure_.Fail("out of memory");
  if (next_file) {
    NextFileQueued();
    if (!queue_.PushMark(kNextFile)) failure_.Fail("out of memory");
  }
  sync_points_.Begin({gc.spaces, gc.nspaces});
}

void Session::BeginCensusIfDue(const AntTracksGC& gc) {
  if (!census_->CollectionEnds(gc) || !sync_points_.MayFollow(gc.kind, census_->LeftDead(gc))) return;
  census_->Begin();
  sync_points_.Begin({gc.spaces, gc.nspaces});
}

void Session::ClassUnload(uint64_t klass) {
  const uint64_t id = definitions_.Unload(klass);
  if (id == 0) return;
  classes_unloaded_ = true;
  trace::ByteBuffer segment;
  trace::AppendClassUnload(&segment, id);
  outlet_.PushFrame(segment);
}

// No application thread is in a callback, the workers' last events are here, and classes are unloaded only by
// collections that have ended the walk of the background thread and what walkers had been given.
void Session::ForgetSiteClasses() {
  classes_unloaded_ = false;
  mutators_.ForgetSiteClasses();
  sync_points_.ForgetSiteClasses();
  if (!background().busy()) definitions_.Shrink();
}

bool Session::SetBudget(double percent) {
  if (percent < 100 && !skipped_.Make(vm_)) return false;
  budget_.SetPercent(percent);
  return true;
}

Budget::Costs Session::CostsSoFar() const {
  AllocCounts alloc;
  mutators_.AddCounts(&alloc);
  return {.process_ns = Clock::ProcessCpu(),
          .scaled_ns =
              alloc.walk_ns.value() + output_.compress_ns.load(std::memory_order_relaxed) + Clock::ThreadCpu(),
          .fixed_ns = gc_events_.counts().hook_ns + alloc.tlabs.value() * kReportNs + stacks_.counts().ns};
}

// In the writer.
void Session::HandOver() {
  const uint64_t now = Clock::Monotonic();
  if (now - adjusted_ns_ < kAdjustNs) return;
  stacks_.HandOver();
  adjusted_ns_ = now;
  if (budget_.percent() != 0) budget_.Adjust(CostsSoFar());
  AdjustStacks();
}

// A budget counts, even if a distance was asked for.
void Session::AdjustStacks() {
  const double part = budget_.percent() * kStacksPart;
  const double percent =
      part == 0 || stack_percent_ == 0 ? std::max(part, stack_percent_) : std::min(part, stack_percent_);
  if (stack_distance_.Adjust(stacks_.counts().ns, Clock::ProcessCpu(), percent))
    vm_.set_stack_bytes(stack_distance_.now());
}

std::string Session::end_reason() const {
  const std::lock_guard lock(end_mutex_);
  return end_reason_;
}

CounterValues Session::counters() const {
  AllocCounts alloc;
  mutators_.AddCounts(&alloc);
  CounterValues values;
  values.objects = alloc.objects.value();
  values.bytes = alloc.words.value() * trace::kWordBytes;
  values.tlabs = alloc.tlabs.value();
  values.outside_objects = alloc.outside.value();
  const StackSamples::Counts stacks = stacks_.counts();
  values.stacks = stacks.taken;
  values.cut_stacks = stacks.cut;
  values.distinct_stacks = stacks.distinct;
  values.stack_bytes = stack_distance_.now();
  values.stack_ns = stacks.ns;
  values.skipped_bytes = alloc.skipped_words.value() * trace::kWordBytes;
  values.walk_ns = alloc.walk_ns.value();

  const Walkers& walkers = mutators_.walkers();
  values.batches_read = walkers.batches_read();
  values.batches_refused = walkers.batches_refused();
  values.walker_rests = walkers.rests();

  const GcCounts gc = gc_events_.counts();
  values.collections = collections_.value();
  values.moves = gc.moves;
  values.slides = gc.slides;
  values.fillers = gc.fillers;
  values.found_objects = gc.found;

  values.sync_objects = values.census_objects = sync_points_.objects();
  values.sync_points = values.censuses = sync_points_.completed();
  values.abandoned_sync_points = values.abandoned_censuses = sync_points_.abandoned();
  values.sync_pause_ns = values.census_pause_ns = sync_points_.pause_ns();
  values.census_ns = sync_points_.cpu_ns();

  values.share_ppm = uint64_t{budget_.share()} * 1'000'000 / trace::kWholeShare;
  values.budget_ppm = static_cast<uint64_t>(budget_.percent() * kPpmOfPercent);
  values.spent_ppm = static_cast<uint64_t>(budget_.spent_percent() * kPpmOfPercent);

  const DefinitionCounts definitions = definitions_.counts();
  values.threads = definitions.threads;
  values.site_classes = definitions.site_classes;
  values.sites = definitions.sites;
  values.unknown_sites = definitions.unknown_sites;
  values.methods = definitions.methods;
  values.classes = definitions.classes;
  values.live_site_classes = definitions.live_site_classes;
  values.table_bytes = definitions.table_bytes + stacks.table_bytes;
  CountOutput(&values);
  values.waits = queue_.waits();
  values.blocked_ns = queue_.blocked_ns();
  return values;
}

}  // namespace anttracks::core
