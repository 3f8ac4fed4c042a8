// SPDX-License-Identifier: Apache-2.0
#include "agent/full/mutators.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <utility>

#include "trace/events.h"

namespace anttracks::core {
namespace {

std::optional<double> WaitedFor(ThreadState& state) { return state.run_delay.Share(state.tid); }

}  // namespace

Mutators::Mutators(Definitions& definitions, ObjectReader& reader, const Budget& budget, Skipped& skipped,
                   StackSamples& stacks, Provenance* provenance, const Outlet& outlet, const Config& config)
    : definitions_(definitions),
      reader_(reader),
      budget_(budget),
      skipped_(skipped),
      stacks_(stacks),
      provenance_(provenance),
      outlet_(outlet),
      report_limit_(config.report_limit),
      walker_count_(config.walkers),
      walkers_([this](ThreadState& state, const Batch& batch) { return ReadForThread(state, batch); },
               [this] { return outlet_.queue.fill() < 1; },
               config.walker_waited ? config.walker_waited : &WaitedFor) {}

Mutators::~Mutators() {
  walkers_.Stop();
  while (threads_ != nullptr) {
    ThreadState* next = threads_->next;
    threads_->stream.Release(outlet_.queue);
    delete threads_;
    threads_ = next;
  }
}

// In a segment of that share; 0: of any.
bool Mutators::RoomForRun(ThreadState& state, size_t bytes, uint32_t share, PushMode mode) {
  RunStream& stream = state.stream;
  const bool fits = stream.open() && bytes <= stream.room() && (share == 0 || share == state.share);
  if (fits) return true;
  if (stream.open()) (void)stream.Close(outlet_.queue, trace::SegmentKind::kAlloc, state.id, mode, &state.wait);
  if (!stream.Open(outlet_.queue, bytes + trace::kMaxAllocHeadBytes)) {
    outlet_.queue.DropUnqueued(1, 0);
    return false;
  }
  state.share = share == 0 ? budget_.share() : share;
  stream.out = trace::PutAllocHead(stream.out, {outlet_.clock.Now(), state.share});
  return true;
}

void Mutators::WriteRun(ThreadState& state, const AddressRange& range, trace::How how, uint32_t share,
                        std::span<const uint16_t> ids, std::span<const uint32_t> lengths, PushMode mode) {
  NoteFilled(state, range);
  if (!RoomForRun(state, RunStream::Bytes(ids, lengths), share, mode)) return;
  state.stream.Put(range, how, ids, lengths);
  state.counts.objects.Add(ids.size());
  state.counts.words.Add((range.top - range.start) / trace::kWordBytes);
}

void Mutators::WriteOutside(ThreadState& state, uint64_t address, const Header& header, PushMode mode) {
  uint16_t id;
  uint32_t lengths[2];
  Columns columns{&id, lengths};
  columns.Put(header.site_class.id, header.length, header.has_length);
  WriteRun(state, {address, address + header.words * trace::kWordBytes}, trace::How::kOutside, 0, {&id, 1},
           {lengths, columns.lengths}, mode);
  state.counts.outside.Add(1);
}

std::unique_ptr<Scratch> Mutators::TakeScratch() {
  const std::lock_guard lock(scratch_mutex_);
  if (scratch_.empty()) return std::make_unique<Scratch>();
  auto taken = std::move(scratch_.back());
  scratch_.pop_back();
  return taken;
}

bool Mutators::ReadOutside(const Batch& batch, std::vector<Header>* headers, Lookup lookup) {
  headers->resize(batch.outside.size());
  for (size_t i = 0; i < batch.outside.size(); i++) {
    if (!reader_.ReadHeader(batch.outside[i], &(*headers)[i], lookup)) return false;
  }
  return true;
}

// The first block of a stretch that is longer, as a run must fit into a chunk; what is left of the stretch.
// Asks the VM: what is written cannot be left to somebody else.
bool Mutators::ReadBlock(ThreadState& state, const Batch& batch, AddressRange* stretch, Scratch& scratch,
                         PushMode mode) {
  AddressRange block[kLanes];
  block[0] = {stretch->start, stretch->start + kMostOfRun};
  if (!reader_.ReadStretches(state.site_classes, block, scratch, Lookup::kAskVm)) return false;
  block[0].top = scratch.ends[0];
  WriteRun(state, block[0], batch.how, batch.share, scratch.lanes[0].id_span(), scratch.lanes[0].length_span(),
           mode);
  stretch->start = block[0].top;
  return true;
}

// With kTablesOnly everything is read before anything is written. False: nothing was; the VM has to be asked,
// or tracing has failed.
bool Mutators::ReadBatch(ThreadState& state, const Batch& batch, PushMode mode, Lookup lookup) {
  const auto is_long = [](const AddressRange& stretch) { return stretch.start + kMostOfRun < stretch.top; };
  if (lookup == Lookup::kTablesOnly &&
      std::any_of(std::begin(batch.stretches), std::end(batch.stretches), is_long))
    return false;
  const uint64_t begin = Clock::ThreadCpu();
  std::unique_ptr<Scratch> scratch = TakeScratch();
  std::vector<Header> outside;
  AddressRange stretches[kLanes];
  std::copy(std::begin(batch.stretches), std::end(batch.stretches), stretches);
  bool read = true;
  for (AddressRange& stretch : stretches) {
    while (read && is_long(stretch)) read = ReadBlock(state, batch, &stretch, *scratch, mode);
  }
  read = read && reader_.ReadStretches(state.site_classes, stretches, *scratch, lookup) &&
         ReadOutside(batch, &outside, lookup);
  for (unsigned i = 0; read && i < batch.count; i++) {
    if (scratch->ends[i] != stretches[i].top) {
      outlet_.failure.Fail("internal error: the objects of a TLAB do not end where it ends");
      break;
    }
    WriteRun(state, stretches[i], batch.how, batch.share, scratch->lanes[i].id_span(),
             scratch->lanes[i].length_span(), mode);
  }
  for (size_t i = 0; read && i < batch.outside.size(); i++)
    WriteOutside(state, batch.outside[i], outside[i], mode);
  {
    const std::lock_guard lock(scratch_mutex_);
    scratch_.push_back(std::move(scratch));
  }
  const uint64_t took = Clock::ThreadCpu() - begin;
  state.counts.walk_ns.Add(took);
  if (read) walkers_.pace().Add(took, batch.bytes);
  return read;
}

// In a walker.
bool Mutators::ReadForThread(ThreadState& state, const Batch& batch) {
  bool read = true;
  outlet_.failure.Guard([&] {
    if (outlet_.failure.active()) read = ReadBatch(state, batch, PushMode::kNoWait, Lookup::kTablesOnly);
  });
  return read;
}

// In the thread, or when none runs.
void Mutators::ReadNow(ThreadState& state, PushMode mode, Walkers::Take take) {
  const Walkers::Claim claim(walkers_, state, take);
  for (const Batch& batch : claim.batches()) ReadBatch(state, batch, mode, Lookup::kAskVm);
  if (!state.batch.empty()) ReadBatch(state, state.batch, mode, Lookup::kAskVm);
  unread_bytes_.fetch_sub(state.batch.bytes, std::memory_order_relaxed);
  state.batch.Clear();
}

void Mutators::HandBatch(ThreadState& state) {
  if (state.tid == 0) state.tid = gettid();
  state.wait.Refill(report_limit_);
  const uint64_t bytes = state.batch.bytes;
  if (walkers_.Give(state, &state.batch)) {
    unread_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  } else {
    ReadNow(state, PushMode::kBounded, walkers_.any() ? Walkers::Take::kRefused : Walkers::Take::kAll);
  }
}

// Read when there are as many as can be read side by side, or when all threads together keep more than a pause
// may have to read: until the next collection they stay where they are.
void Mutators::Alloc(void* thread, void** slot, uint64_t start, uint64_t top, Moment moment) {
  if (start == top) return;
  ThreadState* const known = State(thread, slot);
  if (known == nullptr) return;
  ThreadState& state = *known;
  state.counts.tlabs.Add(1);
  // A thread may allocate before it has its java.lang.Thread.
  if (state.java_id == 0 && std::has_single_bit(state.counts.tlabs.value())) {
    definitions_.RefreshThread(state.id, thread, &state.name, &state.java_id);
  }
  const uint32_t share = budget_.share();
  if (share != trace::kWholeShare && skipped_.may_skip() && !Budget::Choose(share, &state.random)) {
    return Skip(state, {start, top});
  }
  const bool safepoint = moment == Moment::kSafepoint;
  if (state.batch.count != 0 && state.batch.share != share) {
    state.wait.Refill(report_limit_);
    ReadNow(state, safepoint ? PushMode::kTry : PushMode::kBounded,
            safepoint ? Walkers::Take::kAll : Walkers::Take::kRefused);
  }
  state.batch.share = share;
  state.batch.Add({start, top});
  const uint64_t unread = unread_bytes_.fetch_add(top - start, std::memory_order_relaxed) + top - start;
  if (safepoint) {
    ReadNow(state, PushMode::kTry, Walkers::Take::kAll);
  } else if (state.batch.count == kLanes || unread > walkers_.pace().BytesIn(ReadPace::kMostUnreadNs)) {
    HandBatch(state);
  }
}

void Mutators::Object(void* thread, void** slot, uint64_t address) {
  ThreadState* const known = State(thread, slot);
  if (known == nullptr) return;
  ThreadState& state = *known;
  // The newest one stays here: a clone gets the header of its original for a moment when it has been reported.
  if (state.batch.outside.size() >= kMostOutside) HandBatch(state);
  state.batch.outside.push_back(address);
}

void Mutators::Stack(void* thread, void** slot, const AntTracksStack& stack) {
  const ThreadState* const state = State(thread, slot);
  if (state != nullptr) stacks_.Add(state->id, stack);
}

void Mutators::NoteFilled(ThreadState& state, const AddressRange& stretch) {
  if (provenance_ != nullptr) Provenance::Note(stretch, &state.filled);
}

void Mutators::TellFilled(ThreadState& state) {
  if (provenance_ != nullptr) provenance_->Allocated(state.id, &state.filled);
}

void Mutators::Skip(ThreadState& state, const AddressRange& stretch) {
  state.counts.skipped_words.Add((stretch.top - stretch.start) / trace::kWordBytes);
  if (!state.skipped.empty() && state.skipped.back().top == stretch.start) {
    state.skipped.back().top = stretch.top;
  } else {
    state.skipped.push_back(stretch);
  }
  skipped_.Mark(state.skipped.back(), stretch.start);
}

// At a safepoint, or when no thread runs.
void Mutators::WriteSkipped(ThreadState& state, PushMode mode) {
  for (const AddressRange& stretch : state.skipped) {
    NoteFilled(state, stretch);
    if (!RoomForRun(state, trace::kMaxRunHeadBytes, 0, mode)) break;
    state.stream.PutSkipped(stretch);
  }
  skipped_.Stand(state.skipped);
}

void Mutators::ReadSkipped(ThreadState& state, PushMode mode) {
  Batch batch;
  batch.how = trace::How::kLate;
  for (const AddressRange& stretch : state.skipped) {
    skipped_.Clear(stretch);
    state.counts.skipped_words.Add(-((stretch.top - stretch.start) / trace::kWordBytes));
    batch.Add(stretch);
    if (batch.count < kLanes) continue;
    ReadBatch(state, batch, mode, Lookup::kAskVm);
    batch.Clear();
  }
  if (!batch.empty()) ReadBatch(state, batch, mode, Lookup::kAskVm);
}

void Mutators::SettleSkipped(OnSkipped on_skipped, PushMode mode) {
  if (!skipped_.may_skip()) return;
  const std::lock_guard lock(registry_mutex_);
  const auto settle = [&](ThreadState& state) {
    if (state.skipped.empty()) return;
    on_skipped == OnSkipped::kRead ? ReadSkipped(state, mode) : WriteSkipped(state, mode);
    state.skipped.clear();
  };
  for (ThreadState* state = threads_; state != nullptr; state = state->next) settle(*state);
  for (Orphans& orphans : orphans_) {
    const auto state = std::make_unique<ThreadState>(orphans.thread);
    state->skipped = std::move(orphans.skipped);
    settle(*state);
    TellFilled(*state);
    staging_.Add(outlet_.queue, state->stream, trace::SegmentKind::kAlloc, state->id, mode, &state->wait);
    state->stream.Release(outlet_.queue);
    exited_.Add(state->counts);
  }
  orphans_.clear();
}

ThreadState* Mutators::State(void* thread, void** slot) {
  if (*slot != nullptr) [[likely]]
    return static_cast<ThreadState*>(*slot);
  std::string name;
  uint64_t java_id = 0;
  const uint32_t id = definitions_.DefineThread(thread, &name, &java_id);
  if (id == 0) {
    outlet_.failure.Fail(definitions_.ExhaustedText());
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

// Whatever fails, the state leaves the registry.
void Mutators::ThreadExit(void* thread, void** slot) {
  const std::unique_ptr<ThreadState> state(static_cast<ThreadState*>(*slot));
  *slot = nullptr;
  if (!state) return;
  state->wait.Refill(report_limit_);
  outlet_.failure.Guard([&] {
    if (outlet_.failure.active()) ReadNow(*state, PushMode::kBounded, Walkers::Take::kAll);
  });
  walkers_.Forget(*state);
  outlet_.failure.Guard([&] { TellFilled(*state); });
  {
    const std::lock_guard lock(registry_mutex_);
    (state->prev == nullptr ? threads_ : state->prev->next) = state->next;
    if (state->next != nullptr) state->next->prev = state->prev;
    exited_.Add(state->counts);
    outlet_.failure.Guard([&] {
      if (!state->skipped.empty()) orphans_.push_back({state->id, std::move(state->skipped)});
    });
  }
  outlet_.failure.Guard([&] {
    if (outlet_.failure.active()) LastWords(*state, thread);
  });
  state->stream.Release(outlet_.queue);
}

// What is left in the buffer of a thread that ends, and that it ends.
void Mutators::LastWords(ThreadState& state, void* thread) {
  definitions_.RefreshThread(state.id, thread, &state.name, &state.java_id);
  trace::ByteBuffer last;
  const bool copied = Staging::Copy(state.stream, trace::SegmentKind::kAlloc, state.id, &last);
  if (!copied && state.stream.open()) {
    (void)state.stream.Close(outlet_.queue, trace::SegmentKind::kAlloc, state.id, PushMode::kBounded,
                             &state.wait);
  }
  trace::AppendThreadEnd(&last, state.id);
  (void)outlet_.queue.PushSegments(last.span(), PushMode::kBounded, ChunkAfter::kGoesOn, &state.wait);
}

void Mutators::WalkAll() {
  const std::lock_guard lock(registry_mutex_);
  for (ThreadState* state = threads_; state != nullptr; state = state->next)
    ReadNow(*state, PushMode::kTry, Walkers::Take::kAll);
}

void Mutators::HandOverAll(PushMode mode, OnSkipped on_skipped) {
  WalkAll();
  SettleSkipped(on_skipped, mode);
  const std::lock_guard lock(registry_mutex_);
  for (ThreadState* state = threads_; state != nullptr; state = state->next) {
    TellFilled(*state);
    staging_.Add(outlet_.queue, state->stream, trace::SegmentKind::kAlloc, state->id, mode, &state->wait);
  }
  staging_.Push(outlet_.queue, mode);
}

void Mutators::AddCounts(AllocCounts* sum) const {
  const std::lock_guard lock(registry_mutex_);
  sum->Add(exited_);
  for (const ThreadState* state = threads_; state != nullptr; state = state->next) sum->Add(state->counts);
}

void Mutators::ForgetSiteClasses() {
  walkers_.WaitIdle();
  const std::lock_guard lock(registry_mutex_);
  for (ThreadState* state = threads_; state != nullptr; state = state->next) state->site_classes.Clear();
}

void Mutators::Count(CounterValues* values) const {
  AllocCounts alloc;
  AddCounts(&alloc);
  values->objects = alloc.objects.value();
  values->bytes = alloc.words.value() * trace::kWordBytes;
  values->tlabs = alloc.tlabs.value();
  values->outside_objects = alloc.outside.value();
  values->skipped_bytes = alloc.skipped_words.value() * trace::kWordBytes;
  values->walk_ns = alloc.walk_ns.value();
  values->batches_read = walkers_.batches_read();
  values->batches_refused = walkers_.batches_refused();
  values->walker_rests = walkers_.rests();
}

}  // namespace anttracks::core
