// SPDX-License-Identifier: Apache-2.0
#include "agent/sample/sample_session.h"

#include <thread>

#include "agent/stream/outlet.h"

namespace anttracks::core {

// The queue itself never makes anybody wait: Push is called with mutex_ held.
SampleSession::SampleSession(const SampleConfig& config)
    : EventSource(ValidIn::kSample,
                  {.fuzz = 0, .bound_bytes = config.queue_bytes, .when_full = WhenFull::kDrop}),
      when_full_(config.when_full),
      wait_limit_(config.wait_limit) {}

void SampleSession::WaitForRoom() {
  if (queue_.fill() < 0.5) [[likely]] {
    if (stalled_.load(std::memory_order_relaxed)) stalled_.store(false, std::memory_order_relaxed);
    return;
  }
  if (when_full_ == WhenFull::kDrop || stalled_.load(std::memory_order_relaxed)) return;
  const uint64_t begin = Clock::Monotonic();
  const auto until = std::chrono::steady_clock::now() + wait_limit_;
  while (queue_.fill() >= 0.5 && failure_.active() && !stalled_.load(std::memory_order_relaxed)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (std::chrono::steady_clock::now() >= until) stalled_.store(true, std::memory_order_relaxed);
  }
  waits_.fetch_add(1, std::memory_order_relaxed);
  blocked_ns_.fetch_add(Clock::Monotonic() - begin, std::memory_order_relaxed);
}

uint64_t SampleSession::Sample(uint64_t interval, uint32_t thread, uint32_t site_class, uint64_t bytes) {
  WaitForRoom();
  const std::lock_guard lock(mutex_);
  if (finished_ || !failure_.active()) return 0;
  if (interval != interval_) Flush(ChunkAfter::kGoesOn);
  interval_ = interval;
  const uint64_t now = clock_.Now();
  if (samples_.size() + deaths_.size() == 0) pending_since_ = now;
  sample_count_++;
  sample_bytes_ += bytes;
  samples_.Sample(interval, sample_count_, now, thread, site_class,
                  (bytes + trace::kWordBytes - 1) / trace::kWordBytes);
  if (samples_.size() >= kSegmentBytes) Flush(ChunkAfter::kGoesOn);
  return sample_count_;
}

void SampleSession::Died(uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (finished_ || !failure_.active()) return;
  if (samples_.size() + deaths_.size() == 0) pending_since_ = clock_.Now();
  death_count_++;
  deaths_.Death(collections_, number);
  if (deaths_.size() >= kSegmentBytes) Flush(ChunkAfter::kGoesOn);
}

void SampleSession::Untracked() {
  const std::lock_guard lock(mutex_);
  untracked_++;
}

// Samples first: a death may be that of one of them.
void SampleSession::Flush(ChunkAfter chunk) {
  trace::ByteBuffer samples, deaths;
  samples_.Finish(&samples);
  deaths_.Finish(&deaths);
  const ChunkAfter after_samples = deaths.empty() ? chunk : ChunkAfter::kGoesOn;
  if (!samples.empty()) queue_.PushSegments(samples.span(), PushMode::kBounded, after_samples);
  if (!deaths.empty()) queue_.PushSegments(deaths.span(), PushMode::kTry, chunk);
}

void SampleSession::HandOver() {
  const std::lock_guard lock(mutex_);
  if (finished_ || samples_.size() + deaths_.size() == 0) return;
  if (clock_.Now() - pending_since_ >= kMostAge) Flush(ChunkAfter::kEnds);
}

// What the VM does not tell is left open: kind, cause and spaces.
void SampleSession::PushCollection(trace::SegmentKind kind) {
  trace::Collection collection;
  collection.id = collections_ - 1;
  collection.kind = trace::GcKind::kUnknown;
  collection.time = clock_.Now();
  trace::ByteBuffer segment;
  trace::AppendCollection(&segment, kind, collection);
  Outlet{clock_, queue_, failure_}.PushFrame(segment);
}

void SampleSession::CollectionBegin() {
  const std::lock_guard lock(mutex_);
  if (finished_ || !failure_.active() || pauses_++ != 0) return;
  Flush(ChunkAfter::kGoesOn);
  collections_++;
  PushCollection(trace::SegmentKind::kGcBegin);
}

void SampleSession::CollectionEnd() {
  const std::lock_guard lock(mutex_);
  // The first one may have begun before the session.
  if (finished_ || !failure_.active() || pauses_ == 0 || --pauses_ != 0) return;
  PushCollection(trace::SegmentKind::kGcEnd);
}

void SampleSession::Finish(std::string_view reason) noexcept {
  failure_.Guard([&] {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    end_reason_ = reason;
    if (failure_.active()) Flush(ChunkAfter::kGoesOn);
  });
  failure_.Deactivate();
  queue_.Close();
}

std::string SampleSession::end_reason() const {
  const std::lock_guard lock(mutex_);
  return end_reason_;
}

CounterValues SampleSession::counters() const {
  const SampleDefinitionCounts definitions = definitions_.counts();
  CounterValues values;
  values.threads = definitions.threads;
  values.site_classes = definitions.site_classes;
  values.sites = definitions.sites;
  values.unknown_frames = definitions.unknown_frames;
  values.methods = definitions.methods;
  values.classes = definitions.classes;
  CountOutput(&values);
  values.waits = waits_.load();
  values.blocked_ns = blocked_ns_.load();
  const std::lock_guard lock(mutex_);
  values.samples = sample_count_;
  values.sample_bytes = sample_bytes_;
  values.sample_deaths = death_count_;
  values.untracked_samples = untracked_;
  values.collections = collections_;
  return values;
}

}  // namespace anttracks::core
