// SPDX-License-Identifier: Apache-2.0
// Life of a session and of the threads in it.
#include "agent/core/session.h"

#include <fmt/format.h>

#include <cstring>

#include "agent/core/run_delay.h"
#include "agent/core/sync_state.h"

namespace anttracks::core {
namespace {

double WaitedOfThisThread() {
  static thread_local RunDelay delay;
  return delay.Share();
}

size_t Used(const ThreadState& state) { return static_cast<size_t>(state.out - state.buffer->data()); }

}  // namespace

Session::Session(const AntTracksVM& vm, const SessionConfig& config)
    : EventSource({config.buffer_bytes, config.fuzz, config.queue_bytes, config.wait_bytes, config.when_full,
                   config.wait_limit}),
      vm_(vm),
      stretch_bytes_(config.stretch_bytes),
      report_limit_(config.report_limit),
      pause_limit_(config.pause_limit),
      first_sight_limit_(config.first_sight_limit),
      symbols_(vm, config.most_id),
      budget_percent_(config.budget_percent),
      reader_count_(config.readers),
      readers_([this](ThreadState& state, const Batch& batch) { return ReadForThread(state, batch); },
               [this] { return queue_.fill() < 1; }, config.reader_waited ? config.reader_waited : &WaitedOfThisThread) {
  budget_.Fix(config.share);
}

Session::~Session() {
  readers_.Stop();
  while (threads_ != nullptr) {
    ThreadState* next = threads_->next;
    if (threads_->buffer != nullptr) queue_.Release(threads_->buffer);
    delete threads_;
    threads_ = next;
  }
  for (Worker& worker : workers_) {
    for (Buffer* buffer : {worker.moves.buffer, worker.slides.buffer, worker.fillers.buffer, worker.found.buffer}) {
      if (buffer != nullptr) queue_.Release(buffer);
    }
  }
  if (sync_ && sync_->buffer != nullptr) queue_.Release(sync_->buffer);
}

void Session::Begin(trace::SyncReason reason) {
  reason_ = reason;
  alignment_ = vm_.object_alignment;
  workers_ = std::vector<Worker>(vm_.gc_workers);
  sync_ = std::make_unique<Sync>();
  readers_.Start(reader_count_);
  if (budget_percent_ != 0 && !SetBudget(budget_percent_)) failure_.Fail("no memory for budget=");
  if (budget_.share() != trace::kWholeShare && !MakeSkippedMap()) failure_.Fail("no memory for share=");
  failure_.Activate();
}

void Session::PrepareStop() {
  queue_.LetIn();
  background_.Close();
  if (sync_) sync_->stop.store(true);
  if (!background_.Withdraw()) background_.WaitIdle();
}

// A reader ends its batch, a walk its block; what comes after sees that tracing is off. Needs no memory.
void Session::LeaveHeap() noexcept {
  readers_.WaitIdle();
  if (!background_.busy()) return;
  sync_->stop.store(true);
  if (!background_.Withdraw()) background_.WaitIdle();
}

void Session::Finish(std::string_view reason) noexcept {
  failure_.Guard([&] {
    {
      const std::lock_guard lock(registry_mutex_);
      end_reason_ = reason;
    }
    if (sync_) StopSyncPoint("tracing ended");
    if (failure_.active()) HandOverAll(PushMode::kForce);
  });
  failure_.Deactivate();
  readers_.Stop();
  queue_.Close();
}

void Session::Abandon(std::string_view reason) noexcept {
  const bool was_active = failure_.active();
  failure_.Deactivate();
  queue_.LetIn();
  readers_.Stop();
  failure_.Guard([&] {
    {
      const std::lock_guard lock(registry_mutex_);
      end_reason_ = reason;
    }
    if (!was_active) return;
    trace::ByteBuffer loss;
    trace::AppendLoss(&loss, clock_.Now(), 0, 0, std::string(reason) + " while threads were running");
    (void)queue_.PushLoss(loss.span());
  });
  queue_.Close();
}

ThreadState* Session::State(void* thread, void** slot) {
  if (*slot != nullptr) [[likely]]
    return static_cast<ThreadState*>(*slot);
  std::string name;
  uint64_t java_id = 0;
  const uint32_t id = symbols_.DefineThread(thread, &name, &java_id);
  if (id == 0) {
    failure_.Fail(symbols_.ExhaustedText());
    return nullptr;
  }
  auto state = std::make_unique<ThreadState>(id);
  state->name = std::move(name);
  state->java_id = java_id;
  const std::lock_guard lock(registry_mutex_);
  state->next = threads_;
  if (threads_ != nullptr) threads_->prev = state.get();
  threads_ = state.get();
  *slot = state.get();
  return state.release();
}

// With room for so many bytes.
bool Session::OpenSegment(ThreadState& state, size_t bytes, uint32_t share) {
  bytes += trace::kMaxAllocHeadBytes;
  if (state.buffer == nullptr) state.buffer = queue_.Acquire();
  if (state.buffer != nullptr && state.buffer->capacity < bytes) {
    queue_.Release(state.buffer);
    state.buffer = queue_.AcquireSized(bytes);
  }
  if (state.buffer == nullptr) {
    queue_.DropUnqueued(1, 0);
    return false;
  }
  Buffer& buffer = *state.buffer;
  buffer.kind = static_cast<uint8_t>(trace::SegmentKind::kAlloc);
  buffer.stream = state.id;
  state.out = trace::PutAllocHead(buffer.data(), {clock_.Now(), share});
  state.limit = buffer.data() + buffer.capacity;
  state.run_end = 0;
  state.share = share;
  state.open = true;
  return true;
}

// Queues the buffer, or drops it.
void Session::CloseSegment(ThreadState& state, PushMode mode) {
  if (!state.open) return;
  Buffer* buffer = state.buffer;
  buffer->used = static_cast<uint32_t>(Used(state));
  state.buffer = nullptr;
  state.open = false;
  (void)queue_.Push(buffer, mode, &state.wait);
}

// The open segment's bytes go to out, the buffer stays.
void Session::AppendOpenSegment(ThreadState& state, trace::ByteBuffer* out) {
  state.open = false;
  trace::AppendSegment(out, trace::SegmentKind::kAlloc, state.id, {state.buffer->data(), Used(state)});
}

void Session::PushStaged(PushMode mode) {
  if (!staging_.empty()) (void)queue_.PushSegments(staging_.span(), mode);
  staging_.Clear();
}

// What the segments around it make no sense without.
void Session::PushFrame(const trace::ByteBuffer& segment, bool flush) {
  // Nothing may follow a frame that is missing.
  if (failure_.failed()) return;
  if (!queue_.PushSegments(segment.span(), PushMode::kForce, flush)) failure_.Fail("out of memory");
}

void Session::StageThread(ThreadState& state, PushMode mode) {
  if (!state.open) {
    // Idle since the last hand-over.
    if (state.buffer != nullptr) queue_.Release(state.buffer);
    state.buffer = nullptr;
    return;
  }
  if (!IsSmall(*state.buffer, Used(state))) {
    CloseSegment(state, mode);
    return;
  }
  AppendOpenSegment(state, &staging_);
  if (staging_.size() >= kStagingBytes) PushStaged(mode);
}

void Session::WalkAll() {
  const std::lock_guard lock(registry_mutex_);
  for (ThreadState* state = threads_; state != nullptr; state = state->next) ReadNow(*state, PushMode::kTry, true);
}

// At a safepoint, or when no thread can be in a callback any more.
void Session::HandOverAll(PushMode mode, bool read_skipped) {
  WalkAll();
  SettleSkipped(read_skipped, mode);
  const std::lock_guard lock(registry_mutex_);
  for (ThreadState* state = threads_; state != nullptr; state = state->next) StageThread(*state, mode);
  PushStaged(mode);
}

// Whatever fails, the state leaves the registry.
void Session::ThreadExit(void* thread, void** slot) {
  const std::unique_ptr<ThreadState> state(static_cast<ThreadState*>(*slot));
  *slot = nullptr;
  if (!state) return;
  state->wait.Refill(report_limit_);
  failure_.Guard([&] {
    if (failure_.active()) ReadNow(*state, PushMode::kBounded, true);
  });
  readers_.Forget(*state);
  {
    const std::lock_guard lock(registry_mutex_);
    (state->prev == nullptr ? threads_ : state->prev->next) = state->next;
    if (state->next != nullptr) state->next->prev = state->prev;
    exited_.Add(state->counts);
    failure_.Guard([&] {
      if (!state->skipped.empty()) orphans_.push_back({state->id, std::move(state->skipped)});
    });
  }
  failure_.Guard([&] {
    if (failure_.active()) LastWords(*state, thread);
  });
  if (state->buffer != nullptr) queue_.Release(state->buffer);
}

// What is left in the buffer of a thread that ends, and that it ends.
void Session::LastWords(ThreadState& state, void* thread) {
  symbols_.RefreshThread(state.id, thread, &state.name, &state.java_id);
  trace::ByteBuffer last;
  if (state.open && IsSmall(*state.buffer, Used(state))) AppendOpenSegment(state, &last);
  CloseSegment(state, PushMode::kBounded);
  trace::AppendThreadEnd(&last, state.id);
  (void)queue_.PushSegments(last.span(), PushMode::kBounded, false, &state.wait);
}

std::string Session::end_reason() const {
  const std::lock_guard lock(registry_mutex_);
  return end_reason_;
}

std::string Session::CountersJson() const {
  AllocCounts alloc;
  {
    const std::lock_guard lock(registry_mutex_);
    alloc.Add(exited_);
    for (const ThreadState* state = threads_; state != nullptr; state = state->next) alloc.Add(state->counts);
  }
  uint64_t moves = 0, slides = 0, fillers = 0, found = 0;
  for (const Worker& worker : workers_) {
    moves += worker.moves.count.value();
    slides += worker.slides.count.value();
    fillers += worker.fillers.count.value();
    found += worker.found.count.value();
  }
  const SymbolCounts symbols = symbols_.counts();
  return fmt::format(
      R"({{"objects":{},"bytes":{},"tlabs":{},"outside_objects":{},"sync_objects":{},"collections":{},)"
      R"("moves":{},"slides":{},"fillers":{},"skipped_bytes":{},"found_objects":{},"share_ppm":{},)"
      R"("budget_ppm":{},"spent_ppm":{},"raw_bytes":{},"stored_bytes":{},"chunks":{},)"
      R"("files":{},"sync_points":{},"abandoned_sync_points":{},"requested_collections":{},"sync_pause_ns":{},)"
      R"("compressed_chunks":{},"compress_ns":{},"write_ns":{},"waits":{},"blocked_ns":{},"walk_ns":{},)"
      R"("batches_read":{},"batches_refused":{},"reader_rests":{},)"
      R"("folded_files":{},"unfolded_files":{},"fold_cpu_ns":{},)"
      R"("queue_high_water_bytes":{},"dropped_chunks":{},"dropped_bytes":{},"lost_segments":{},"lost_bytes":{},)"
      R"("threads":{},"kinds":{},"sites":{},"unknown_sites":{},"methods":{},"classes":{},)"
      R"("live_kinds":{},"table_bytes":{}}})",
      alloc.objects.value(), alloc.words.value() * trace::kWordBytes, alloc.tlabs.value(),
      alloc.outside.value(), sync_objects_.value(), collections_.value(), moves, slides, fillers,
      alloc.skipped_words.value() * trace::kWordBytes, found, uint64_t{budget_.share()} * 1'000'000 / trace::kWholeShare,
      static_cast<uint64_t>(budget_.percent() * 10'000), static_cast<uint64_t>(budget_.spent_percent() * 10'000),
      output_.raw_bytes.load(), output_.stored_bytes.load(), output_.chunks.load(), output_.files.load(),
      sync_points_.value(), abandoned_sync_points_.value(), output_.requested_collections.load(), sync_pause_ns_.value(),
      output_.compressed_chunks.load(), output_.compress_ns.load(), output_.write_ns.load(), queue_.waits(),
      queue_.blocked_ns(), alloc.walk_ns.value(), readers_.batches_read(), readers_.batches_refused(), readers_.rests(),
      output_.folded_files.load(), output_.unfolded_files.load(),
      output_.fold_cpu_ns.load(), queue_.high_water_bytes(), output_.dropped_chunks.load(),
      output_.dropped_bytes.load(), queue_.lost_segments(), queue_.lost_bytes(), symbols.threads, symbols.kinds,
      symbols.sites, symbols.unknown_sites, symbols.methods, symbols.classes, symbols.live_kinds, symbols.table_bytes);
}

}  // namespace anttracks::core
