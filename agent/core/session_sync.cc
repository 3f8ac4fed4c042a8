// SPDX-License-Identifier: Apache-2.0
// Sync points: the heap as it stands, object for object. The first one comes from the VM, object by object; those
// of a rotation follow a collection and are read from the spaces' own linear layout (ICPE'16, section 3.3; with G1 the VM
// tells where in it objects are). The agent's thread reads what a young collection may take first, then the rest, while
// the program runs: nothing in it moves before the next collection. A young one waits for the former if it must, one that
// takes old regions for all of it; a full one stops the walk.
#include "agent/core/session.h"
#include "agent/core/sync_state.h"
#include "trace/object_runs.h"

namespace anttracks::core {
namespace {

constexpr uint64_t kBlockBytes = 64 << 10;
constexpr std::chrono::milliseconds kPause{1};
// The walk waits while the queue is fuller than this.
constexpr double kFillForWalk = 0.5;
// The part of the heap that must have been read before its size in the trace is estimated.
constexpr double kEnoughForEstimate = 0.02;

bool YoungMayTake(const AntTracksSpace& space) {
  return trace::YoungMayTake(static_cast<trace::SpaceKind>(space.kind));
}

}  // namespace

void Session::SyncBegin(std::span<const AntTracksSpace> spaces) {
  pause_wait_.Refill(first_sight_limit_);
  sync_->spaces.assign(spaces.begin(), spaces.end());
  trace::ByteBuffer segment;
  trace::AppendSyncBegin(&segment, reason_, clock_.Now(), InWords(spaces));
  PushFrame(segment);
}

bool Session::OpenSync(uint32_t space, size_t bytes) {
  Sync& sync = *sync_;
  sync.buffer = queue_.Acquire();
  if (sync.buffer != nullptr && sync.buffer->capacity < bytes) {
    queue_.Release(sync.buffer);
    sync.buffer = queue_.AcquireSized(bytes);
  }
  if (sync.buffer == nullptr) {
    failure_.Fail("no memory for a sync point");
    return false;
  }
  sync.space = space;
  sync.run_end = 0;
  sync.out = sync.buffer->data();
  sync.limit = sync.out + sync.buffer->capacity;
  return true;
}

// False: what was read is lost.
bool Session::CloseSync(PushMode mode) {
  Sync& sync = *sync_;
  if (sync.buffer == nullptr) return true;
  Buffer* buffer = sync.buffer;
  sync.buffer = nullptr;
  buffer->used = static_cast<uint32_t>(sync.out - buffer->data());
  buffer->kind = static_cast<uint8_t>(trace::SegmentKind::kSyncObjects);
  buffer->stream = sync.space;
  sync.bytes_written.fetch_add(buffer->used, std::memory_order_relaxed);
  return queue_.Push(buffer, mode, &pause_wait_);
}

bool Session::IsArchive(uint32_t space) const {
  return space < sync_->spaces.size() && sync_->spaces[space].kind == ANTTRACKS_SPACE_ARCHIVE;
}

// Objects that lie one behind the other in the range. False: what was read is lost.
bool Session::WriteSyncRun(uint32_t space, const Stretch& range, std::span<const uint16_t> ids,
                           std::span<const uint32_t> lengths, PushMode mode) {
  Sync& sync = *sync_;
  const size_t bytes = trace::kMaxRunHeadBytes + ids.size_bytes() + lengths.size_bytes();
  const bool fits = sync.buffer != nullptr && sync.space == space && bytes <= static_cast<size_t>(sync.limit - sync.out);
  if (!fits && !CloseSync(mode)) {
    sync.lost = true;
    return false;
  }
  if (sync.buffer == nullptr && !OpenSync(space, bytes)) return false;
  const uint64_t start = range.start / trace::kWordBytes;
  const uint64_t top = range.top / trace::kWordBytes;
  sync.out = trace::PutRun(sync.out, {static_cast<int64_t>(start - sync.run_end)}, ids, lengths);
  sync.run_end = top;
  sync.objects += ids.size();
  sync.words += top - start;
  return true;
}

// What was listed one by one and lies one behind the other.
bool Session::WriteListed(uint32_t space, PushMode mode) {
  Sync::Listed& listed = sync_->listed;
  if (listed.ids.empty()) return true;
  const bool written = WriteSyncRun(space, listed.range, listed.ids, listed.lengths, mode);
  listed.ids.clear();
  listed.lengths.clear();
  return written;
}

// One object; its bytes. 0: it is lost, or tracing has failed. WriteListed must follow the last one.
uint64_t Session::ListObject(uint32_t space, uint64_t address, bool archive, PushMode mode) {
  Header header;
  if (!ReadHeader(address, &header)) return 0;
  if (archive && header.site == trace::kSiteUnknown) {
    header.kind = ResolveKind(trace::kSiteArchive, header.klass, address);
  }
  Sync::Listed& listed = sync_->listed;
  const bool follows = address == listed.range.top && listed.ids.size() < Sync::Listed::kMost;
  if (!follows && !WriteListed(space, mode)) return 0;
  if (listed.ids.empty()) listed.range = {address, address};
  uint16_t id;
  uint32_t lengths[2];
  Columns columns{&id, lengths};
  columns.Put(header.kind.id, header.length, header.has_length);
  listed.ids.push_back(id);
  listed.lengths.insert(listed.lengths.end(), lengths, columns.lengths);
  listed.range.top += header.words * trace::kWordBytes;
  return header.words * trace::kWordBytes;
}

void Session::SyncObjects(uint32_t space, std::span<const uint64_t> addresses) {
  if (sync_->lost) return;
  const bool archive = IsArchive(space);
  for (const uint64_t address : addresses) {
    if (ListObject(space, address, archive, PushMode::kWait) == 0) return;
  }
  (void)WriteListed(space, PushMode::kWait);
}

// Of the first sync point: a heap that is known in part only is worth nothing.
void Session::FirstSyncEnd() {
  if (!sync_->lost) return SyncEnd();
  failure_.Fail("the trace file could not be written fast enough for the first sight of the heap; give a larger queue= or a "
                "faster disk");
}

void Session::SyncEnd() {
  if (!CloseSync(PushMode::kForce)) return;
  trace::ByteBuffer segment;
  trace::AppendSyncEnd(&segment, sync_->objects, sync_->words * trace::kWordBytes);
  PushFrame(segment, true);
  if (!queue_.PushMark(kSyncComplete)) failure_.Fail("out of memory");
  sync_objects_.Add(sync_->objects);
  sync_points_.Add(1);
  sync_->open.store(false);
}

uint64_t Session::YoungSlides() const {
  uint64_t slides = 0;
  for (const Worker& worker : workers_) slides += worker.slides.count.value();
  return slides;
}

// Not while another one is written; not if a young collection failed to promote: dead objects lie between those
// that stayed. Nor when tracing is ending: there would be nobody to read the heap.
bool Session::MayBeSyncPoint(const AntTracksGC& gc) const {
  if (background_.busy() || background_.closed() || gc.kind == ANTTRACKS_GC_REMARK) return false;
  return gc.kind == ANTTRACKS_GC_FULL || YoungSlides() == slides_before_;
}

void Session::BeginSyncPoint(const AntTracksGC& gc, bool next_file) {
  Sync& sync = *sync_;
  const std::span<const AntTracksSpace> spaces(gc.spaces, gc.nspaces);
  if (!queue_.TellLoss()) failure_.Fail("out of memory");
  if (next_file) {
    NextFileQueued();
    if (!queue_.PushMark(kNextFile)) failure_.Fail("out of memory");
  }
  trace::ByteBuffer segment;
  std::vector<trace::Space> in_words = InWords(spaces);
  if (vm_.next_objects != nullptr) {
    for (trace::Space& space : in_words) space.collected = trace::Collected::kOptional;
  }
  trace::AppendSyncBegin(&segment, trace::SyncReason::kRotation, clock_.Now(), in_words);
  PushFrame(segment);
  if (failure_.failed()) return;  // objects of a sync point that never began make no sense
  sync.objects = sync.words = 0;
  sync.lost = false;
  sync.stop.store(false);
  uint64_t all_words = 0;
  for (const AntTracksSpace& space : spaces) all_words += (space.top - space.bottom) / trace::kWordBytes;
  sync.all_words.store(all_words);
  sync.words_read.store(0);
  sync.bytes_written.store(0);
  sync.spaces.assign(spaces.begin(), spaces.end());
  sync.hurry.store(Hurry::kNot);
  sync.young_done.store(false);
  sync.open.store(true);
  if (!sync_in_pause_ && background_.Start([this] { WalkSpaces(); })) return;
  sync_in_pause_ = false;
  WalkInPause();
}

// What is left of it.
void Session::WalkInPause() {
  const bool young = sync_->young_done.load() || WalkYoung(false);
  sync_->young_done.store(true);
  if (young && WalkOld(false)) {
    SyncEnd();
  } else if (failure_.active()) {
    AbandonSyncPoint("the trace could not be written fast enough");
  }
}

// What a young collection may take, then the rest. False: stopped, or lost.
bool Session::WalkYoung(bool concurrent) {
  for (uint32_t i = 0; i < sync_->spaces.size(); i++) {
    const AntTracksSpace& space = sync_->spaces[i];
    if (YoungMayTake(space) && !WalkSpace(i, {space.bottom, space.top}, concurrent)) return false;
  }
  return CloseSync(PushMode::kGiveUp);
}

bool Session::WalkOld(bool concurrent) {
  for (uint32_t i = 0; i < sync_->spaces.size(); i++) {
    const AntTracksSpace& space = sync_->spaces[i];
    if (!YoungMayTake(space) && !WalkSpace(i, {space.bottom, space.top}, concurrent)) return false;
  }
  return CloseSync(PushMode::kGiveUp);
}

// False: stopped, or lost.
bool Session::WalkSpace(uint32_t index, const Stretch& space, bool concurrent) {
  Sync& sync = *sync_;
  uint64_t at = space.start;
  while (at < space.top) {
    while (concurrent && !sync.stop.load() && sync.hurry.load() == Hurry::kNot && failure_.active() &&
           queue_.fill() > kFillForWalk) {
      std::this_thread::sleep_for(kPause);
    }
    if (concurrent && (sync.stop.load() || !failure_.active())) return false;
    Stretch run{at, space.top};
    if (vm_.next_objects != nullptr) run.top = vm_.next_objects(&run.start, space.top);
    if (run.start < run.top) {
      const uint64_t end = IsArchive(index) ? ListArchive(index, run) : ListRun(index, run);
      if (end == 0) return false;
      if (end > run.top) {
        failure_.Fail("internal error: the objects of a space do not end where it ends");
        return false;
      }
      run.top = end;
    }
    sync.words_read.fetch_add((run.top - at) / trace::kWordBytes, std::memory_order_relaxed);
    at = run.top;
  }
  return true;
}

// Lists objects that lie one behind the other, a block at most; where they end. 0: lost.
uint64_t Session::ListRun(uint32_t index, const Stretch& run) {
  Sync& sync = *sync_;
  Stretch blocks[kLanes];
  blocks[0] = {run.start, std::min(run.top, run.start + kBlockBytes)};
  if (!ReadStretches(sync.kinds, blocks, sync.scratch, true)) return 0;
  const Stretch block{run.start, sync.scratch.ends[0]};
  const Scratch::Lane& lane = sync.scratch.lanes[0];
  return WriteSyncRun(index, block, lane.id_span(), lane.length_span(), PushMode::kGiveUp) ? block.top : 0;
}

// The same for objects of the shared archive, which have a site of their own.
uint64_t Session::ListArchive(uint32_t index, const Stretch& run) {
  uint64_t at = run.start;
  while (at < run.top) {
    const uint64_t bytes = ListObject(index, at, true, PushMode::kGiveUp);
    if (bytes == 0) return 0;
    at += bytes;
  }
  return WriteListed(index, PushMode::kGiveUp) ? at : 0;
}

// In the background. A collection that waits for the young spaces goes on when they are listed, or when this is over: then
// it sees by `open` what has become of the sync point.
void Session::WalkSpaces() {
  failure_.Guard([this] {
    bool whole = sync_->young_done.load() || WalkYoung(true);
    if (whole) {
      background_.Notify([this] { sync_->young_done.store(true); });
      whole = WalkOld(true);
    }
    if (whole) {
      SyncEnd();
    } else if (!sync_->stop.load() && failure_.active()) {
      AbandonSyncPoint("the trace could not be written fast enough");
    }
  });
}

// Before a young collection moves what lies in the young spaces. Usually they were listed long ago.
void Session::FinishYoungSpaces() {
  Sync& sync = *sync_;
  if (!background_.busy() || sync.young_done.load()) return;
  if (background_.Withdraw()) {
    // Its thread did not come to it, and may be waiting for this very collection: listed here instead.
    const bool young = WalkYoung(false);
    sync.young_done.store(true);
    if (young) {
      background_.Start([this] { WalkSpaces(); });
    } else {
      AbandonSyncPoint("the trace could not be written fast enough");
    }
    return;
  }
  sync.hurry.store(Hurry::kYoung);
  background_.WaitUntil([&sync] { return sync.young_done.load(); });
  Hurry young = Hurry::kYoung;
  sync.hurry.compare_exchange_strong(young, Hurry::kNot);
}

// Before a collection takes old regions, or classes are unloaded.
void Session::FinishSyncPoint() {
  if (!background_.busy()) return;
  if (background_.Withdraw()) {
    WalkInPause();
    return;
  }
  sync_->hurry.store(Hurry::kAll);
  background_.WaitIdle();
}

void Session::AbandonSyncPoint(std::string_view reason) {
  sync_->open.store(false);
  if (sync_->buffer != nullptr) queue_.Release(sync_->buffer);
  sync_->buffer = nullptr;
  trace::ByteBuffer segment;
  trace::AppendSyncAbandoned(&segment, reason);
  PushFrame(segment);
  abandoned_sync_points_.Add(1);
  sync_->again.store(true);
}

// Before objects of the old space may move, and before the session ends.
void Session::StopSyncPoint(std::string_view reason) {
  if (!background_.busy()) return;
  sync_->stop.store(true);
  if (!background_.Withdraw()) background_.WaitIdle();
  if (!sync_->open.load()) return;
  AbandonSyncPoint(reason);
  sync_in_pause_ = true;
}

// Nothing of a collection may come between the objects of a sync point. One is open without a walk when tracing
// is about to end and threads that are still ahead of that collect.
void Session::CloseSyncPoint() {
  if (background_.busy()) return;  // asked first: a walk that ends between the two questions has closed its sync point
  if (sync_->open.load()) AbandonSyncPoint("tracing is ending");
}

double Session::SyncPointBytes() const {
  if (!sync_) return 0;
  const auto all = static_cast<double>(sync_->all_words.load());
  const auto read = static_cast<double>(sync_->words_read.load());
  const double part = all == 0 ? 0 : read / all;
  return part < kEnoughForEstimate ? 0 : static_cast<double>(sync_->bytes_written.load()) / part;
}

}  // namespace anttracks::core
