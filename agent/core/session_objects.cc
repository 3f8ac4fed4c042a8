// SPDX-License-Identifier: Apache-2.0
// Reads objects where they lie: stretches of TLABs, single objects, the heap at a sync point.
#include <fmt/format.h>

#include <cstring>

#include "agent/core/session.h"
#include "agent/core/sync_state.h"
#include "trace/object_encoder.h"

namespace anttracks::core {
namespace {

constexpr uint64_t kMarkBits = 3;
constexpr uint64_t kUnlocked = 1;

template <class T>
T Load(uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

}  // namespace

// Cold. Fails the session if the object makes no sense.
Kind Session::ResolveKind(uint32_t site, uint64_t klass, uint64_t address) {
  const Kind kind = klass == 0 ? Kind() : symbols_.Resolve(site, klass);
  if (kind.id == 0) {
    failure_.Fail(fmt::format("internal error: the word at {:#x} is no object (class {:#x})", address, klass));
  }
  return kind;
}

template <bool kNarrow>
inline bool Session::ReadHeader(KindCache& cache, uint64_t address, Header* header) {
  const uint64_t mark = Load<uint64_t>(address);
  const uint64_t klass_at = address + vm_.klass_offset;
  header->klass = kNarrow ? Load<uint32_t>(klass_at) : Load<uint64_t>(klass_at);
  header->site = static_cast<uint32_t>(mark >> ANTTRACKS_SITE_SHIFT);
  if ((mark & kMarkBits) != kUnlocked) [[unlikely]] {
    header->site = vm_.object_site(address) & ((1u << ANTTRACKS_SITE_BITS) - 1);
  }
  header->kind = cache.Find(header->site, header->klass);
  if (header->kind.id == 0) [[unlikely]] {
    header->kind = symbols_.kinds().Find(header->site, header->klass);
    if (header->kind.id == 0) header->kind = ResolveKind(header->site, header->klass, address);
    if (header->kind.id == 0) return false;
    cache.Put(header->site, header->klass, header->kind);
  }
  const Shape shape = header->kind.shape;
  header->length = 0;
  header->has_length = shape.how() != Shape::kFixed;
  if (!header->has_length) {
    header->words = shape.fixed_words();
  } else if (shape.how() == Shape::kArray) {
    header->length = Load<uint32_t>(address + vm_.array_length_offset);
    header->words = shape.array_words(header->length, alignment_);
  } else {
    header->words = vm_.object_bytes(address) / trace::kWordBytes;
    header->length = static_cast<uint32_t>(header->words);
  }
  return true;
}

bool Session::ReadAnyHeader(KindCache& cache, uint64_t address, Header* header) {
  return vm_.klass_bytes == 4 ? ReadHeader<true>(cache, address, header)
                              : ReadHeader<false>(cache, address, header);
}

template <bool kNarrow>
void Session::Walk(ThreadState& state, uint64_t start, uint64_t top) {
  Header header;
  uint64_t at = start;
  while (at < top) {
    if (!state.open || state.out >= state.limit) [[unlikely]] {
      CloseSegment(state, PushMode::kBounded);
      if (!OpenSegment(state)) return;
    }
    state.out = state.encoder.MoveTo(state.out, at / trace::kWordBytes, false);
    // One segment's worth. What changes for each object stays in registers.
    uint8_t* out = state.out;
    uint8_t* const limit = state.limit;
    uint64_t objects = 0;
    const uint64_t begin = at;
    while (at < top && out < limit) {
      if (!ReadHeader<kNarrow>(state.kinds, at, &header)) return;
      if (header.words == 0) [[unlikely]] {
        failure_.Fail(fmt::format("internal error: object of no size at {:#x}", at));
        return;
      }
      out = state.encoder.Object(out, header.kind.id, header.length, header.has_length);
      at += header.words * trace::kWordBytes;
      objects++;
    }
    state.out = out;
    state.encoder.Advance((at - begin) / trace::kWordBytes);
    state.counts.objects.Add(objects);
    state.counts.words.Add((at - begin) / trace::kWordBytes);
  }
  if (at != top) {
    failure_.Fail(fmt::format("internal error: objects of a TLAB end at {:#x} instead of {:#x}", at, top));
  }
}

void Session::Alloc(void* thread, void** slot, uint64_t start, uint64_t top) {
  if (start == top) return;
  ThreadState& state = *State(thread, slot);
  const uint64_t begin = Clock::ThreadCpu();
  state.counts.tlabs.Add(1);
  // A thread may allocate before it has its java.lang.Thread.
  if (state.java_id == 0 && !state.open) {
    symbols_.RefreshThread(state.id, thread, &state.name, &state.java_id);
  }
  if (vm_.klass_bytes == 4) {
    Walk<true>(state, start, top);
  } else {
    Walk<false>(state, start, top);
  }
  state.counts.walk_ns.Add(Clock::ThreadCpu() - begin);
}

void Session::Object(void* thread, void** slot, uint64_t address) {
  ThreadState& state = *State(thread, slot);
  if (state.open && state.out >= state.limit - trace::ObjectEncoder::kRoom) {
    CloseSegment(state, PushMode::kBounded);
  }
  Header header;
  if (!ReadAnyHeader(state.kinds, address, &header)) return;
  if (!state.open && !OpenSegment(state)) return;
  state.out = state.encoder.MoveTo(state.out, address / trace::kWordBytes, true);
  state.out = state.encoder.Object(state.out, header.kind.id, header.length, header.has_length);
  state.encoder.Advance(header.words);
  state.counts.objects.Add(1);
  state.counts.outside.Add(1);
  state.counts.words.Add(header.words);
}

void Session::SyncBegin(std::span<const AntTracksSpace> spaces) {
  std::vector<trace::Space> words;
  for (const AntTracksSpace& space : spaces) {
    words.push_back({static_cast<trace::SpaceKind>(space.kind), space.collected != 0,
                     space.bottom / trace::kWordBytes, space.top / trace::kWordBytes,
                     space.end / trace::kWordBytes});
  }
  trace::ByteBuffer segment;
  trace::AppendSyncBegin(&segment, reason_, clock_.Now(), words);
  queue_.PushSegments(segment.span(), PushMode::kForce);
}

bool Session::OpenSync(uint32_t space) {
  Sync& sync = *sync_;
  sync.buffer = queue_.Acquire();
  if (sync.buffer == nullptr) {
    failure_.Fail("no memory for the first sight of the heap");
    return false;
  }
  sync.space = space;
  sync.encoder.Reset();
  sync.out = sync.buffer->data();
  sync.limit = sync.out + sync.buffer->capacity - 2 * trace::ObjectEncoder::kRoom;
  return true;
}

// A heap that is known in part only is worth nothing, so a loss here ends tracing.
bool Session::CloseSync() {
  Sync& sync = *sync_;
  if (sync.buffer == nullptr) return true;
  Buffer* buffer = sync.buffer;
  sync.buffer = nullptr;
  sync.out = sync.encoder.Finish(sync.out);
  buffer->used = static_cast<uint32_t>(sync.out - buffer->data());
  buffer->kind = static_cast<uint8_t>(trace::SegmentKind::kSyncObjects);
  buffer->stream = sync.space;
  if (queue_.Push(buffer, PushMode::kBounded)) return true;
  failure_.Fail("the trace file could not be written fast enough for the first sight of the heap");
  return false;
}

void Session::SyncObjects(uint32_t space, std::span<const uint64_t> addresses) {
  Sync& sync = *sync_;
  Header header;
  for (const uint64_t address : addresses) {
    if (sync.buffer != nullptr && (sync.space != space || sync.out >= sync.limit) && !CloseSync()) return;
    if (sync.buffer == nullptr && !OpenSync(space)) return;
    if (!ReadAnyHeader(sync.kinds, address, &header)) return;
    sync.out = sync.encoder.MoveTo(sync.out, address / trace::kWordBytes, false);
    sync.out = sync.encoder.Object(sync.out, header.kind.id, header.length, header.has_length);
    sync.encoder.Advance(header.words);
    sync.objects++;
    sync.words += header.words;
  }
}

void Session::SyncEnd() {
  if (!CloseSync()) return;
  trace::ByteBuffer segment;
  trace::AppendSyncEnd(&segment, sync_->objects, sync_->words * trace::kWordBytes);
  queue_.PushSegments(segment.span(), PushMode::kForce, true);
  sync_objects_.Add(sync_->objects);
  sync_->objects = sync_->words = 0;
}

}  // namespace anttracks::core
