// SPDX-License-Identifier: Apache-2.0
// Reads objects where they lie: stretches of TLABs and single objects.
#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "agent/core/session.h"
#include "trace/object_encoder.h"

namespace anttracks::core {
namespace {

constexpr uint64_t kMarkBits = 3;
constexpr uint64_t kUnlocked = 1;

}  // namespace

// Cold. Fails the session if the object makes no sense.
Kind Session::ResolveKind(uint32_t site, uint64_t klass, uint64_t address) {
  const Kind kind = klass == 0 ? Kind() : symbols_.Resolve(site, klass);
  if (kind.id == 0) {
    failure_.Fail(fmt::format("internal error: the word at {:#x} is no object (class {:#x})", address, klass));
  }
  return kind;
}

bool Session::ReadHeader(uint64_t address, Header* header) {
  const uint64_t mark = LoadAt<uint64_t>(address);
  const uint64_t klass_at = address + vm_.klass_offset;
  header->klass = vm_.klass_bytes == 4 ? LoadAt<uint32_t>(klass_at) : LoadAt<uint64_t>(klass_at);
  header->site = static_cast<uint32_t>(mark >> ANTTRACKS_SITE_SHIFT);
  header->locked = (mark & kMarkBits) != kUnlocked;
  if (header->locked) header->site = vm_.object_site(address) & ((1u << ANTTRACKS_SITE_BITS) - 1);
  header->kind = symbols_.kinds().Find(header->site, header->klass);
  if (header->kind.id == 0) header->kind = ResolveKind(header->site, header->klass, address);
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
    header->words = vm_.object_bytes(address) / trace::kWordBytes;
    header->length = static_cast<uint32_t>(header->words);
  }
  if (header->words != 0) return true;
  failure_.Fail(fmt::format("internal error: object of no size at {:#x}", address));
  return false;
}

// What a stretch's reader does not find in its cache. The bytes of the object, 0 when tracing has failed.
uint64_t Session::ReadUncached(KindCache& cache, uint64_t address, PlainObject* object) {
  Header header;
  if (!ReadHeader(address, &header)) return 0;
  object->kind = header.kind.id | (header.has_length ? PlainObject::kHasLength : 0);
  object->length = header.length;
  if (!header.locked && vm_.klass_bytes == 4 && header.kind.shape.how() != Shape::kVariable) {
    cache.Put(header.site, static_cast<uint32_t>(header.klass), header.kind);
  }
  return header.words * trace::kWordBytes;
}

template <bool kNarrow>
bool Session::ReadSomeStretches(KindCache& cache, const Stretch (&stretches)[kLanes], Scratch& scratch) {
  PlainObject* out[kLanes];
  for (unsigned i = 0; i < kLanes; i++) {
    const size_t most = (stretches[i].top - stretches[i].start) / kSmallestObject + 1;
    if (scratch.objects[i].size() < most) scratch.objects[i].resize(most);
    out[i] = scratch.objects[i].data();
  }
  const auto resolve = [this](KindCache& kinds, uint64_t address, PlainObject* object) {
    return ReadUncached(kinds, address, object);
  };
  StretchReader<kNarrow, decltype(resolve)> reader(vm_, cache, resolve);
  return reader.Read(stretches, out, scratch.counts, scratch.ends);
}

bool Session::ReadStretches(KindCache& cache, const Stretch (&stretches)[kLanes], Scratch& scratch) {
  return vm_.klass_bytes == 4 ? ReadSomeStretches<true>(cache, stretches, scratch)
                              : ReadSomeStretches<false>(cache, stretches, scratch);
}

// The address of the object with that number in a stretch that was read before.
uint64_t Session::AddressIn(const Stretch& stretch, uint32_t number) {
  uint64_t at = stretch.start;
  Header header;
  for (uint32_t i = 0; i < number && ReadHeader(at, &header); i++) at += header.words * trace::kWordBytes;
  return at;
}

void Session::EncodeStretch(ThreadState& state, const Stretch& stretch, std::span<const PlainObject> objects,
                            PushMode mode) {
  size_t i = 0;
  while (i < objects.size()) {
    bool moved = i == 0;
    if (!state.open || state.out >= state.limit) {
      CloseSegment(state, mode);
      if (!OpenSegment(state)) return;
      moved |= state.buffer->resets;
    }
    if (moved) {
      const uint64_t at = AddressIn(stretch, static_cast<uint32_t>(i));
      state.out = state.encoder.MoveTo(state.out, at / trace::kWordBytes, false);
    }
    state.out = state.encoder.Objects(state.out, state.limit, &i, objects.size(), [objects](size_t number) {
      return objects[number].Unpacked();
    });
  }
  state.encoder.set_cursor(stretch.top / trace::kWordBytes);
  state.counts.objects.Add(objects.size());
  state.counts.words.Add((stretch.top - stretch.start) / trace::kWordBytes);
}

std::unique_ptr<Session::Scratch> Session::TakeScratch() {
  const std::lock_guard lock(scratch_mutex_);
  if (scratch_.empty()) return std::make_unique<Scratch>();
  auto taken = std::move(scratch_.back());
  scratch_.pop_back();
  return taken;
}

void Session::WalkPending(ThreadState& state, PushMode mode) {
  if (state.stretch_count == 0) return;
  const uint64_t begin = Clock::ThreadCpu();
  std::unique_ptr<Scratch> scratch = TakeScratch();
  for (unsigned i = state.stretch_count; i < kLanes; i++) state.stretches[i] = Stretch();
  const bool read = ReadStretches(state.kinds, state.stretches, *scratch);
  const unsigned count = std::exchange(state.stretch_count, 0);
  for (unsigned i = 0; read && i < count; i++) {
    if (scratch->ends[i] != state.stretches[i].top) {
      failure_.Fail("internal error: the objects of a TLAB do not end where it ends");
      break;
    }
    EncodeStretch(state, state.stretches[i], {scratch->objects[i].data(), scratch->counts[i]}, mode);
  }
  {
    const std::lock_guard lock(scratch_mutex_);
    scratch_.push_back(std::move(scratch));
  }
  state.counts.walk_ns.Add(Clock::ThreadCpu() - begin);
}

// Read when there are as many as can be read side by side: until the next collection they stay where they are.
void Session::Alloc(void* thread, void** slot, uint64_t start, uint64_t top, bool at_safepoint) {
  if (start == top) return;
  ThreadState& state = *State(thread, slot);
  state.counts.tlabs.Add(1);
  // A thread may allocate before it has its java.lang.Thread.
  if (state.java_id == 0 && !state.open) {
    symbols_.RefreshThread(state.id, thread, &state.name, &state.java_id);
  }
  state.stretches[state.stretch_count++] = {start, top};
  if (state.stretch_count == kLanes || at_safepoint) {
    WalkPending(state, at_safepoint ? PushMode::kTry : PushMode::kBounded);
  }
}

void Session::Object(void* thread, void** slot, uint64_t address) {
  ThreadState& state = *State(thread, slot);
  WalkPending(state, PushMode::kBounded);  // in the order of allocation
  if (state.open && state.out >= state.limit - trace::ObjectEncoder::kRoom) {
    CloseSegment(state, PushMode::kBounded);
  }
  Header header;
  if (!ReadHeader(address, &header)) return;
  if (!state.open && !OpenSegment(state)) return;
  state.out = state.encoder.MoveTo(state.out, address / trace::kWordBytes, true);
  state.out = state.encoder.Object(state.out, header.kind.id, header.length, header.has_length);
  state.encoder.Advance(header.words);
  state.counts.objects.Add(1);
  state.counts.outside.Add(1);
  state.counts.words.Add(header.words);
}

}  // namespace anttracks::core
