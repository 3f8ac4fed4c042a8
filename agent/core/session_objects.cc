// SPDX-License-Identifier: Apache-2.0
// Reads objects where they lie: stretches of TLABs and single objects.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "agent/core/session.h"
#include "trace/object_runs.h"

namespace anttracks::core {
namespace {

constexpr uint64_t kMarkBits = 3;
constexpr uint64_t kInflated = 2;
constexpr uint64_t kUnlocked = 1;

}  // namespace

// Cold. Fails the session if the object makes no sense.
Kind Session::ResolveKind(uint32_t site, uint64_t klass, uint64_t address) {
  const Kind kind = klass == 0 ? Kind() : symbols_.Resolve(site, klass);
  if (kind.id == 0 && symbols_.exhausted()) {
    failure_.Fail(symbols_.ExhaustedText());
  } else if (kind.id == 0) {
    failure_.Fail(fmt::format("internal error: the word at {:#x} is no object (class {:#x})", address, klass));
  }
  return kind;
}

bool Session::ReadHeader(uint64_t address, Header* header, bool ask_vm) {
  const uint64_t mark = LoadMark(address);
  const uint64_t klass_at = address + vm_.klass_offset;
  header->klass = vm_.klass_bytes == 4 ? LoadAt<uint32_t>(klass_at) : LoadAt<uint64_t>(klass_at);
  header->site = static_cast<uint32_t>(mark >> ANTTRACKS_SITE_SHIFT);
  header->locked = (mark & kMarkBits) != kUnlocked;
  if (header->locked) {
    // A heap walk of JVM TI holds the world and must not be waited for; and what the stack of a lock's owner holds may be
    // another object's header by the time it is read.
    if (!ask_vm && (mark & kMarkBits) != kInflated) return false;
    header->site = vm_.object_site(address);
    if (header->site == ANTTRACKS_SITE_CANNOT_TELL) {
      if (!ask_vm) return false;
      header->site = ANTTRACKS_SITE_NONE;
    }
  }
  header->kind = symbols_.kinds().Find(header->site, header->klass);
  if (header->kind.id == 0 && ask_vm) header->kind = ResolveKind(header->site, header->klass, address);
  if (header->kind.id == 0) return false;
  const Shape shape = header->kind.shape;
  header->length = 0;
  header->has_length = shape.how() != Shape::kFixed;
  if (!header->has_length) {
    header->words = shape.fixed_words();
  } else if (shape.how() == Shape::kArray) {
    header->length = LoadAt<uint32_t>(address + vm_.array_length_offset);
    header->words = shape.array_words(header->length, alignment_);
  } else {
    if (!ask_vm) return false;
    header->words = vm_.object_bytes(address) / trace::kWordBytes;
    header->length = static_cast<uint32_t>(header->words);
  }
  if (header->words != 0) return true;
  failure_.Fail(fmt::format("internal error: object of no size at {:#x}", address));
  return false;
}

// What a walk does not find in the table of layouts. ask_vm: false for a thread that the VM does not know, and 0 for what
// only the VM could tell. The bytes of the object, 0 too when tracing has failed.
uint64_t Session::ReadOdd(KindCache& cache, uint64_t address, Columns* columns, bool ask_vm) {
  const bool narrow = vm_.klass_bytes == 4;
  const uint64_t mark = LoadMark(address);
  const auto site = static_cast<uint32_t>(mark >> ANTTRACKS_SITE_SHIFT);
  const auto klass = LoadAt<uint32_t>(address + vm_.klass_offset);
  const KindCache::Entry& entry = cache.At(site, klass);
  if (narrow && entry.Is(site, klass) && (mark & kMarkBits) == kUnlocked) {
    const uint32_t length = LoadAt<uint32_t>(address + vm_.array_length_offset) & entry.length_mask();
    columns->Put(entry.kind(), length, entry.has_length());
    const uint64_t bytes = entry.base() + (uint64_t{length} << entry.log2());
    return (bytes + alignment_ - 1) & ~uint64_t{alignment_ - 1};
  }
  Header header;
  if (!ReadHeader(address, &header, ask_vm)) return 0;
  columns->Put(header.kind.id, header.length, header.has_length);
  if (narrow && !header.locked && header.kind.shape.how() != Shape::kVariable) {
    symbols_.layouts().Put(header.site, static_cast<uint32_t>(header.klass), header.kind);
    cache.Put(header.site, static_cast<uint32_t>(header.klass), header.kind);
  }
  return header.words * trace::kWordBytes;
}

template <bool kPlain>
bool Session::ReadSomeStretches(KindCache& cache, const Stretch (&stretches)[kLanes], Scratch& scratch, bool ask_vm) {
  Columns out[kLanes];
  for (unsigned i = 0; i < kLanes; i++) {
    Scratch::Lane& lane = scratch.lanes[i];
    if (lane.ids.size() < MostIds(stretches[i])) lane.ids.resize(MostIds(stretches[i]));
    if (lane.lengths.size() < MostLengths(stretches[i])) lane.lengths.resize(MostLengths(stretches[i]));
    out[i] = {lane.ids.data(), lane.lengths.data()};
  }
  const auto resolve = [this, &cache, ask_vm](uint64_t address, Columns* columns) {
    return ReadOdd(cache, address, columns, ask_vm);
  };
  TlabWalker<kPlain, decltype(resolve)> walker(symbols_.layouts(), resolve);
  const bool read = walker.Read(stretches, out, scratch.ends);
  for (unsigned i = 0; i < kLanes; i++) {
    scratch.lanes[i].id_count = static_cast<size_t>(out[i].ids - scratch.lanes[i].ids.data());
    scratch.lanes[i].length_count = static_cast<size_t>(out[i].lengths - scratch.lanes[i].lengths.data());
  }
  return read;
}

bool Session::ReadStretches(KindCache& cache, const Stretch (&stretches)[kLanes], Scratch& scratch, bool ask_vm) {
  return PlainHeaders(vm_) ? ReadSomeStretches<true>(cache, stretches, scratch, ask_vm)
                              : ReadSomeStretches<false>(cache, stretches, scratch, ask_vm);
}

// In a segment of that share; 0: of any.
bool Session::RoomForRun(ThreadState& state, size_t bytes, uint32_t share, PushMode mode) {
  const bool fits = bytes <= static_cast<size_t>(state.limit - state.out) && (share == 0 || share == state.share);
  if (state.open && !fits) CloseSegment(state, mode);
  return state.open || OpenSegment(state, bytes, share == 0 ? budget_.share() : share);
}

void Session::WriteRun(ThreadState& state, const Stretch& range, trace::How how, uint32_t share, std::span<const uint16_t> ids,
                       std::span<const uint32_t> lengths, PushMode mode) {
  if (!RoomForRun(state, trace::kMaxRunHeadBytes + ids.size_bytes() + lengths.size_bytes(), share, mode)) return;
  const uint64_t start = range.start / trace::kWordBytes;
  const uint64_t top = range.top / trace::kWordBytes;
  state.out = trace::PutRun(state.out, {static_cast<int64_t>(start - state.run_end), how}, ids, lengths);
  state.run_end = top;
  state.counts.objects.Add(ids.size());
  state.counts.words.Add(top - start);
}

void Session::WriteOutside(ThreadState& state, uint64_t address, const Header& header, PushMode mode) {
  uint16_t id;
  uint32_t lengths[2];
  Columns columns{&id, lengths};
  columns.Put(header.kind.id, header.length, header.has_length);
  WriteRun(state, {address, address + header.words * trace::kWordBytes}, trace::How::kOutside, 0, {&id, 1}, {lengths, columns.lengths},
           mode);
  state.counts.outside.Add(1);
}

std::unique_ptr<Session::Scratch> Session::TakeScratch() {
  const std::lock_guard lock(scratch_mutex_);
  if (scratch_.empty()) return std::make_unique<Scratch>();
  auto taken = std::move(scratch_.back());
  scratch_.pop_back();
  return taken;
}

bool Session::ReadOutside(const Batch& batch, std::vector<Header>* headers, bool ask_vm) {
  headers->resize(batch.outside.size());
  for (size_t i = 0; i < batch.outside.size(); i++) {
    if (!ReadHeader(batch.outside[i], &(*headers)[i], ask_vm)) return false;
  }
  return true;
}

// The first block of a stretch that is longer, as a run must fit into a chunk; what is left of the stretch.
bool Session::ReadBlock(ThreadState& state, const Batch& batch, Stretch* stretch, Scratch& scratch, PushMode mode) {
  Stretch block[kLanes];
  block[0] = {stretch->start, stretch->start + kMostOfRun};
  if (!ReadStretches(state.kinds, block, scratch, true)) return false;
  block[0].top = scratch.ends[0];
  WriteRun(state, block[0], batch.how, batch.share, scratch.lanes[0].id_span(), scratch.lanes[0].length_span(), mode);
  stretch->start = block[0].top;
  return true;
}

// Everything is read before anything is written. False: nothing was; the VM has to be asked, or tracing has failed.
bool Session::ReadBatch(ThreadState& state, const Batch& batch, PushMode mode, bool ask_vm) {
  const uint64_t begin = Clock::ThreadCpu();
  std::unique_ptr<Scratch> scratch = TakeScratch();
  std::vector<Header> outside;
  Stretch stretches[kLanes];
  std::copy(std::begin(batch.stretches), std::end(batch.stretches), stretches);
  bool read = true;
  for (Stretch& stretch : stretches) {  // none that readers have is so long
    while (read && stretch.start + kMostOfRun < stretch.top) read = ReadBlock(state, batch, &stretch, *scratch, mode);
  }
  read = read && ReadStretches(state.kinds, stretches, *scratch, ask_vm) && ReadOutside(batch, &outside, ask_vm);
  for (unsigned i = 0; read && i < batch.count; i++) {
    if (scratch->ends[i] != stretches[i].top) {
      failure_.Fail("internal error: the objects of a TLAB do not end where it ends");
      break;
    }
    WriteRun(state, stretches[i], batch.how, batch.share, scratch->lanes[i].id_span(), scratch->lanes[i].length_span(), mode);
  }
  for (size_t i = 0; read && i < batch.outside.size(); i++) WriteOutside(state, batch.outside[i], outside[i], mode);
  {
    const std::lock_guard lock(scratch_mutex_);
    scratch_.push_back(std::move(scratch));
  }
  const uint64_t took = Clock::ThreadCpu() - begin;
  state.counts.walk_ns.Add(took);
  if (read) readers_.pace().Add(took, batch.bytes);
  return read;
}

// In a reader.
bool Session::ReadForThread(ThreadState& state, const Batch& batch) {
  bool read = true;
  failure_.Guard([&] {
    if (failure_.active()) read = ReadBatch(state, batch, PushMode::kTry, false);
  });
  return read;
}

// In the thread, or when none runs. all: also what readers have not come to.
void Session::ReadNow(ThreadState& state, PushMode mode, bool all) {
  const Readers::Claim claim(readers_, state, all);
  for (const Batch& batch : claim.batches()) ReadBatch(state, batch, mode, true);
  if (!state.batch.empty()) ReadBatch(state, state.batch, mode, true);
  kept_bytes_.fetch_sub(state.batch.bytes, std::memory_order_relaxed);
  state.batch.Clear();
}

void Session::HandBatch(ThreadState& state) {
  state.wait.Refill(report_limit_);
  const uint64_t bytes = state.batch.bytes;
  if (readers_.Give(state, &state.batch)) {
    kept_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  } else {
    ReadNow(state, PushMode::kBounded, !readers_.any());
  }
}

// Read when there are as many as can be read side by side, or when all threads together keep more than a pause may have to
// read: until the next collection they stay where they are.
void Session::Alloc(void* thread, void** slot, uint64_t start, uint64_t top, bool at_safepoint) {
  if (start == top) return;
  ThreadState* const known = State(thread, slot);
  if (known == nullptr) return;
  ThreadState& state = *known;
  state.counts.tlabs.Add(1);
  // A thread may allocate before it has its java.lang.Thread.
  if (state.java_id == 0 && std::has_single_bit(state.counts.tlabs.value())) {
    symbols_.RefreshThread(state.id, thread, &state.name, &state.java_id);
  }
  const uint32_t share = budget_.share();
  if (share != trace::kWholeShare && may_skip_.load(std::memory_order_acquire) && !Budget::Choose(share, &state.random)) {
    return Skip(state, {start, top});
  }
  if (state.batch.count != 0 && state.batch.share != share) {
    state.wait.Refill(report_limit_);
    ReadNow(state, at_safepoint ? PushMode::kTry : PushMode::kBounded, at_safepoint);
  }
  state.batch.share = share;
  state.batch.Add({start, top});
  const uint64_t kept = kept_bytes_.fetch_add(top - start, std::memory_order_relaxed) + top - start;
  if (at_safepoint) {
    ReadNow(state, PushMode::kTry, true);
  } else if (state.batch.count == kLanes || kept > readers_.pace().BytesIn(ReadPace::kMostKeptNs)) {
    HandBatch(state);
  }
}

void Session::Object(void* thread, void** slot, uint64_t address) {
  ThreadState* const known = State(thread, slot);
  if (known == nullptr) return;
  ThreadState& state = *known;
  // The newest one stays here: a clone gets the header of its original for a moment when it has been reported.
  if (state.batch.outside.size() >= kMostOutside) HandBatch(state);
  state.batch.outside.push_back(address);
}

}  // namespace anttracks::core
