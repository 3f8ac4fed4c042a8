// SPDX-License-Identifier: Apache-2.0
// Collections: what the VM thread and the GC workers report.
#include <fmt/format.h>

#include <utility>

#include "agent/core/session.h"
#include "agent/core/sync_state.h"

namespace anttracks::core {
namespace {

constexpr uint64_t kOldBit = 1;

}  // namespace

std::vector<trace::Space> InWords(std::span<const AntTracksSpace> spaces) {
  std::vector<trace::Space> words;
  for (const AntTracksSpace& space : spaces) {
    words.push_back({static_cast<trace::SpaceKind>(space.kind), static_cast<trace::Collected>(space.collected),
                     space.bottom / trace::kWordBytes, space.top / trace::kWordBytes,
                     space.end / trace::kWordBytes});
  }
  return words;
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
  // Behind the end of a collection the chunk ends: what a killed process leaves behind is that complete.
  PushFrame(segment, kind == trace::SegmentKind::kGcEnd);
}

void Session::CollectionBegin(const AntTracksGC& gc) {
  const uint64_t begin = Clock::Monotonic();
  pause_wait_.Refill(pause_limit_);
  if (gc.kind == ANTTRACKS_GC_FULL && !sync_->first.load()) {
    StopSyncPoint("a full collection came");
  } else if (gc.kind == ANTTRACKS_GC_YOUNG) {
    FinishYoungSpaces();
  } else {
    FinishSyncPoint();
  }
  CloseSyncPoint();
  sync_pause_ns_.Add(Clock::Monotonic() - begin);
  // Those have to know all objects: they move them in an order of their own, or free their classes.
  HandOverAll(PushMode::kTry, gc.kind == ANTTRACKS_GC_FULL || gc.kind == ANTTRACKS_GC_REMARK);
  collections_.Add(1);
  slides_before_ = YoungSlides();
  PushCollection(trace::SegmentKind::kGcBegin, gc);
}

bool Session::CheckWorker(uint32_t worker) {
  if (worker < workers_.size()) [[likely]]
    return true;
  failure_.Fail(fmt::format("internal error: GC worker {} of {}", worker, workers_.size()));
  return false;
}

template <class Encoder>
bool Session::OpenGc(GcStream<Encoder>& stream) {
  stream.buffer = queue_.Acquire();
  if (stream.buffer == nullptr) {
    queue_.DropUnqueued(1, 0);
    return false;
  }
  stream.encoder.Reset();
  stream.out = stream.buffer->data();
  stream.limit = stream.out + stream.buffer->capacity - 2 * Encoder::kRoom;
  return true;
}

template <class Encoder>
void Session::CloseGc(GcStream<Encoder>& stream, trace::SegmentKind kind, uint32_t worker, PushMode mode) {
  Buffer* buffer = stream.buffer;
  stream.buffer = nullptr;
  if constexpr (requires { stream.encoder.Finish(stream.out); }) {
    stream.out = stream.encoder.Finish(stream.out);
  }
  buffer->kind = static_cast<uint8_t>(kind);
  buffer->stream = worker;
  buffer->used = static_cast<uint32_t>(stream.out - buffer->data());
  queue_.Push(buffer, mode, &pause_wait_);
}

void Session::Moves(uint32_t worker, std::span<const AntTracksMove> moves) {
  if (!CheckWorker(worker)) return;
  const bool reckons = budget_.percent() != 0;
  const uint64_t begin = reckons ? Clock::Monotonic() : 0;
  const bool looks = !standing_.empty();
  auto& stream = workers_[worker].moves;
  for (const AntTracksMove& move : moves) {
    if (looks && skipped_.Contains(move.from)) {
      if (!Found(worker, {move.from, move.to & ~kOldBit, move.words}, (move.to & kOldBit) != 0)) return;
      continue;
    }
    if (stream.buffer != nullptr && stream.out >= stream.limit) [[unlikely]] {
      CloseGc(stream, trace::SegmentKind::kMoves, worker, PushMode::kBounded);
    }
    if (stream.buffer == nullptr && !OpenGc(stream)) [[unlikely]]
      return;
    stream.out =
        stream.encoder.Move(stream.out, move.from / trace::kWordBytes, (move.to & ~kOldBit) / trace::kWordBytes,
                            (move.to & kOldBit) != 0, move.words);
  }
  stream.count.Add(moves.size());
  if (reckons) workers_[worker].hook_ns.Add(Clock::Monotonic() - begin);
}

void Session::Slides(uint32_t worker, std::span<const AntTracksSlide> slides) {
  if (!CheckWorker(worker)) return;
  const bool looks = !standing_.empty();
  auto& stream = workers_[worker].slides;
  for (const AntTracksSlide& slide : slides) {
    if (looks && skipped_.Contains(slide.from)) {
      workers_[worker].stayed.push_back(slide);
      continue;
    }
    if (stream.buffer != nullptr && stream.out >= stream.limit) [[unlikely]] {
      CloseGc(stream, trace::SegmentKind::kSlides, worker, PushMode::kBounded);
    }
    if (stream.buffer == nullptr && !OpenGc(stream)) [[unlikely]]
      return;
    stream.out = stream.encoder.Slide(stream.out, slide.from / trace::kWordBytes, slide.to / trace::kWordBytes,
                                      slide.words);
  }
  stream.count.Add(slides.size());
}

// An object that a collection has copied, or left where it is, out of a stretch that was skipped. Its header is that of the copy; but
// G1 counts in the length of the copy of an array what it has scanned of it, and leaves that of the original alone.
bool Session::Found(uint32_t worker, const AntTracksSlide& move, bool old) {
  auto& stream = workers_[worker].found;
  if (stream.buffer != nullptr && stream.out >= stream.limit) [[unlikely]] {
    CloseGc(stream, trace::SegmentKind::kFound, worker, PushMode::kBounded);
  }
  if (stream.buffer == nullptr && !OpenGc(stream)) return false;
  Header header;
  if (!ReadHeader(move.to, &header)) return false;
  if (header.words != move.words && header.kind.shape.how() == Shape::kArray) {
    header.length = LoadAt<uint32_t>(move.from + vm_.array_length_offset);
    header.words = header.kind.shape.array_words(header.length, alignment_);
  }
  if (header.words != move.words) {
    failure_.Fail(fmt::format("internal error: object found at {:#x} has {} words instead of {}", move.from, header.words, move.words));
    return false;
  }
  stream.out = stream.encoder.Found(stream.out, move.from / trace::kWordBytes, move.to / trace::kWordBytes, old, move.words,
                                    header.kind.id, header.length);
  stream.count.Add(1);
  return true;
}

// Headers of what stayed where it is hold other things until the collection's end.
void Session::FoundInPlace() {
  for (uint32_t worker = 0; worker < workers_.size(); worker++) {
    std::vector<AntTracksSlide>& stayed = workers_[worker].stayed;
    for (const AntTracksSlide& object : stayed) {
      if (!Found(worker, object, false)) break;
    }
    stayed.clear();
  }
}

void Session::Fillers(uint32_t worker, std::span<const AntTracksFiller> fillers) {
  if (!CheckWorker(worker)) return;
  auto& stream = workers_[worker].fillers;
  Header header;
  for (const AntTracksFiller& filler : fillers) {
    if (stream.buffer != nullptr && stream.out >= stream.limit) {
      CloseGc(stream, trace::SegmentKind::kFillers, worker, PushMode::kBounded);
    }
    if (stream.buffer == nullptr && !OpenGc(stream)) return;
    if (!ReadHeader(filler.address, &header)) return;
    if (header.words != filler.words) {
      failure_.Fail(fmt::format("internal error: filler at {:#x} has {} words instead of {}", filler.address,
                                header.words, filler.words));
      return;
    }
    stream.out = stream.encoder.Filler(stream.out, filler.address / trace::kWordBytes, header.kind.id,
                                       header.length, header.words);
  }
  stream.count.Add(fillers.size());
}

void Session::ClassUnload(uint64_t klass) {
  const uint64_t id = symbols_.Unload(klass);
  if (id == 0) return;
  kinds_removed_ = true;
  trace::ByteBuffer segment;
  trace::AppendClassUnload(&segment, id);
  PushFrame(segment);
}

// Small segments are copied together; the buffer goes back to the pool.
template <class Encoder>
void Session::StageGc(GcStream<Encoder>& stream, trace::SegmentKind kind, uint32_t worker) {
  if (stream.buffer == nullptr) return;
  const size_t used = static_cast<size_t>(stream.out - stream.buffer->data());
  if (!IsSmall(*stream.buffer, used)) {
    CloseGc(stream, kind, worker, PushMode::kTry);
    return;
  }
  if constexpr (requires { stream.encoder.Finish(stream.out); }) {
    stream.out = stream.encoder.Finish(stream.out);
  }
  trace::AppendSegment(&staging_, kind, worker,
                       {stream.buffer->data(), static_cast<size_t>(stream.out - stream.buffer->data())});
  queue_.Release(stream.buffer);
  stream.buffer = nullptr;
  if (staging_.size() >= kStagingBytes) PushStagedGc();
}

void Session::PushStagedGc() {
  if (staging_.empty()) return;
  queue_.PushSegments(staging_.span(), PushMode::kTry);
  staging_.Clear();
}

void Session::StageWorkers() {
  for (uint32_t i = 0; i < workers_.size(); i++) {
    StageGc(workers_[i].moves, trace::SegmentKind::kMoves, i);
    StageGc(workers_[i].slides, trace::SegmentKind::kSlides, i);
    StageGc(workers_[i].fillers, trace::SegmentKind::kFillers, i);
    StageGc(workers_[i].found, trace::SegmentKind::kFound, i);
  }
  PushStagedGc();
}

// No application thread is in a callback, the workers' last events are here, and classes are unloaded only by collections
// that have ended the walk of the background thread and what readers had been given.
void Session::ForgetCachedKinds() {
  kinds_removed_ = false;
  readers_.WaitIdle();
  {
    const std::lock_guard lock(registry_mutex_);
    for (ThreadState* state = threads_; state != nullptr; state = state->next) state->kinds.Clear();
    sync_->kinds.Clear();
  }
  if (!background_.busy()) symbols_.Shrink();
}

void Session::CollectionEnd(const AntTracksGC& gc) {
  FoundInPlace();
  StageWorkers();
  ForgetSkipped();
  if (kinds_removed_) ForgetCachedKinds();
  PushCollection(trace::SegmentKind::kGcEnd, gc);
  const bool again = sync_->again.load();
  if ((!again && !sync_point_wanted()) || !MayBeSyncPoint(gc)) return;
  sync_->again.store(false);
  const uint64_t begin = Clock::Monotonic();
  BeginSyncPoint(gc, sync_point_wanted());
  sync_pause_ns_.Add(Clock::Monotonic() - begin);
}

}  // namespace anttracks::core
