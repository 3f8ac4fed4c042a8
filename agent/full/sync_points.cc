// SPDX-License-Identifier: Apache-2.0
#include "agent/full/sync_points.h"

#include <thread>

#include "trace/events.h"

namespace anttracks::core {
namespace {

constexpr std::chrono::milliseconds kPause{1};
// The walk waits while the queue is fuller than this.
constexpr double kFillForWalk = 0.5;

bool YoungMayTake(const AntTracksSpace& space) {
  return trace::YoungMayTake(static_cast<trace::SpaceKind>(space.kind));
}

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

void SyncPoints::WriteBegin(trace::SyncReason reason, std::span<const AntTracksSpace> spaces) {
  std::vector<trace::Space> in_words = InWords(spaces);
  if (vm_.next_objects != nullptr) {
    for (trace::Space& space : in_words) space.collected = trace::Collected::kOptional;
  }
  trace::ByteBuffer segment;
  trace::AppendSyncBegin(&segment, reason, outlet_.clock.Now(), in_words);
  outlet_.PushFrame(segment);
}

// False: it cannot be written.
bool SyncPoints::Open(trace::SyncReason reason, std::span<const AntTracksSpace> spaces) {
  if (config_.census == nullptr) WriteBegin(reason, spaces);
  if (outlet_.failure.failed()) return false;  // objects of a sync point that never began make no sense
  const bool first = reason != trace::SyncReason::kRotation;
  lister_.Begin(spaces, first ? PushMode::kWait : PushMode::kGiveUp, config_.first_sync_point_limit);
  first_.store(first);
  impatient_ = false;
  stop_.store(false);
  hurry_.store(Hurry::kNot);
  young_done_.store(false);
  open_.store(true);
  return true;
}

void SyncPoints::FirstBegin(trace::SyncReason reason, std::span<const AntTracksSpace> spaces) {
  first_begin_ns_ = Clock::Monotonic();
  first_reason_ = reason;
  (void)Open(reason, spaces);
}

void SyncPoints::FirstEden(uint32_t space, std::span<const uint64_t> addresses) {
  if (open_.load() && !lister_.List(space, addresses)) Lose();
}

// A small heap is listed at once, which takes milliseconds: no collection will find it known in part.
void SyncPoints::FirstEdenEnd() {
  if (!open_.load()) return;
  lister_.CountAsRead(ANTTRACKS_SPACE_EDEN);
  uint64_t bytes = 0;
  for (const AntTracksSpace& space : lister_.spaces()) {
    if (space.kind != ANTTRACKS_SPACE_EDEN) bytes += space.top - space.bottom;
  }
  const bool at_once = first_reason_ != trace::SyncReason::kAttach || bytes <= config_.most_in_pause;
  if (at_once || !background_.Start([this] { ListInBackground(); })) ListInPause();
  pause_ns_.Add(Clock::Monotonic() - first_begin_ns_);
}

// Not by the background's being idle: a collection may have taken the walk from it for a moment.
bool SyncPoints::WaitForFirst(std::chrono::milliseconds limit) const {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (first_.load() && open_.load() && outlet_.failure.active()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

// Not while another one is written. Nor when tracing is ending: there would be nobody to read the heap.
bool SyncPoints::MayFollow(uint32_t gc_kind, bool self_forwarded) const {
  if (background_.busy() || background_.closed() || gc_kind == ANTTRACKS_GC_REMARK) return false;
  return gc_kind == ANTTRACKS_GC_FULL || !self_forwarded;
}

void SyncPoints::Begin(std::span<const AntTracksSpace> spaces) {
  const uint64_t begin = Clock::Monotonic();
  due_.store(false);
  if (Open(trace::SyncReason::kRotation, spaces) &&
      (in_pause_ || !background_.Start([this] { ListInBackground(); }))) {
    in_pause_ = false;
    ListInPause();
  }
  pause_ns_.Add(Clock::Monotonic() - begin);
}

void SyncPoints::Complete() {
  if (config_.census != nullptr) {
    config_.census->Write(lister_.objects(), lister_.words());
  } else {
    trace::ByteBuffer segment;
    trace::AppendSyncEnd(&segment, lister_.objects(), lister_.words() * trace::kWordBytes);
    outlet_.PushFrame(segment, ChunkAfter::kEnds);
    if (!outlet_.queue.PushMark(kSyncComplete)) outlet_.failure.Fail("out of memory");
  }
  objects_.Add(lister_.objects());
  completed_.Add(1);
  open_.store(false);
}

// What was read could not be written.
void SyncPoints::Lose() {
  if (!outlet_.failure.active()) return;
  if (!first_.load()) return Abandon("the trace could not be written fast enough");
  open_.store(false);
  outlet_.failure.Fail(
      "the trace file could not be written fast enough for the first sync point; give a larger queue= or a "
      "faster disk");
}

void SyncPoints::Abandon(std::string_view reason) {
  open_.store(false);
  lister_.Release();
  if (config_.census == nullptr) {
    trace::ByteBuffer segment;
    trace::AppendSyncAbandoned(&segment, reason);
    outlet_.PushFrame(segment);
  }
  abandoned_.Add(1);
  due_.store(true);
}

// Waits while the queue is rather full. Of the first one not for ever: somebody waits for it, and must hear
// that it cannot be written.
void SyncPoints::Pace() {
  if (impatient_) return;
  const auto begin = std::chrono::steady_clock::now();
  while (!stop_.load() && hurry_.load() == Hurry::kNot && outlet_.failure.active() &&
         outlet_.queue.fill() > kFillForWalk) {
    impatient_ = first_.load() && std::chrono::steady_clock::now() - begin > config_.first_sync_point_limit;
    if (impatient_) return;
    std::this_thread::sleep_for(kPause);
  }
}

// False: stopped, or lost.
bool SyncPoints::ListSpace(uint32_t space, Where where) {
  uint64_t at = lister_.spaces()[space].bottom;
  while (at < lister_.spaces()[space].top) {
    if (where == Where::kBesideProgram) {
      Pace();
      if (stop_.load() || !outlet_.failure.active()) return false;
    }
    if (!lister_.ListSome(space, &at)) return false;
  }
  return true;
}

// False: stopped, or lost.
bool SyncPoints::ListSpaces(Part part, Where where) {
  const uint64_t cpu_begin = Clock::ThreadCpu();
  bool whole = true;
  for (uint32_t i = 0; whole && i < lister_.spaces().size(); i++) {
    const AntTracksSpace& space = lister_.spaces()[i];
    const bool listed = first_.load() && space.kind == ANTTRACKS_SPACE_EDEN;
    if (YoungMayTake(space) == (part == Part::kYoung) && !listed) whole = ListSpace(i, where);
  }
  cpu_ns_.Add(Clock::ThreadCpu() - cpu_begin);
  return whole && lister_.Close();
}

// What is left of it.
void SyncPoints::ListInPause() {
  const bool young = young_done_.load() || ListSpaces(Part::kYoung, Where::kInPause);
  young_done_.store(true);
  const bool whole = young && ListSpaces(Part::kRest, Where::kInPause);
  whole ? Complete() : Lose();
}

// A collection that waits for the young spaces goes on when they are listed, or when this is over: then it sees
// by open_ what has become of the sync point.
void SyncPoints::ListInBackground() {
  outlet_.failure.Guard([this] {
    bool whole = young_done_.load() || ListSpaces(Part::kYoung, Where::kBesideProgram);
    if (whole) {
      background_.Notify([this] { young_done_.store(true); });
      whole = ListSpaces(Part::kRest, Where::kBesideProgram);
    }
    if (whole) {
      Complete();
    } else if (!stop_.load()) {
      Lose();
    }
  });
}

void SyncPoints::CollectionBegins(uint32_t gc_kind) {
  const uint64_t begin = Clock::Monotonic();
  if (gc_kind == ANTTRACKS_GC_YOUNG) {
    FinishYoung();
  } else if (gc_kind == ANTTRACKS_GC_FULL && !first_.load()) {
    Stop("a full collection came");
  } else {
    Finish();
  }
  // Nothing of a collection may come between the objects of a sync point. One is open without a walk when
  // tracing is about to end and threads that are still ahead of that collect. busy() is asked first: a walk
  // that ends between the two questions has closed its sync point.
  if (!background_.busy() && open_.load()) Abandon("tracing is ending");
  pause_ns_.Add(Clock::Monotonic() - begin);
}

// Before a young collection moves what lies in the young spaces. Usually they were listed long ago.
void SyncPoints::FinishYoung() {
  if (!background_.busy() || young_done_.load()) return;
  if (background_.Withdraw()) {
    // Its thread did not come to it, and may be waiting for this very collection: listed here instead.
    const bool young = ListSpaces(Part::kYoung, Where::kInPause);
    young_done_.store(true);
    if (!young) return Lose();
    const bool goes_on = background_.Start([this] { ListInBackground(); });
    if (!goes_on && first_.load()) ListInPause();  // tracing ends, and waits for it
    return;
  }
  Hurry calm = Hurry::kNot;
  hurry_.compare_exchange_strong(calm, Hurry::kYoung);
  background_.WaitUntil([this] { return young_done_.load(); });
  Hurry young = Hurry::kYoung;
  hurry_.compare_exchange_strong(young, Hurry::kNot);
}

// Before a collection takes old regions, or classes are unloaded; of the first one before any but a young
// collection.
void SyncPoints::Finish() {
  if (!background_.busy()) return;
  if (background_.Withdraw()) return ListInPause();
  hurry_.store(Hurry::kAll);
  background_.WaitIdle();
}

// Before objects of the old space may move, and before the session ends.
void SyncPoints::Stop(std::string_view reason) {
  if (!background_.busy()) return;
  LeaveHeap();
  if (!open_.load()) return;
  Abandon(reason);
  in_pause_ = true;
}

void SyncPoints::PrepareStop() {
  background_.Close();
  if (first_.load()) {
    hurry_.store(Hurry::kAll);
    (void)WaitForFirst(limits::kEndWithoutProgress);
  }
  // Nobody waits for the writer any more.
  outlet_.queue.AdmitAll();
  LeaveHeap();
}

void SyncPoints::End() { Stop("tracing ended"); }

// A walk ends its block; what comes after sees that it has been stopped.
void SyncPoints::LeaveHeap() noexcept {
  stop_.store(true);
  if (!background_.Withdraw()) background_.WaitIdle();
}

void SyncPoints::Count(CounterValues* values) const {
  values->sync_objects = values->census_objects = objects_.value();
  values->sync_points = values->censuses = completed_.value();
  values->abandoned_sync_points = values->abandoned_censuses = abandoned_.value();
  values->sync_pause_ns = values->census_pause_ns = pause_ns_.value();
  values->census_ns = cpu_ns_.value();
}

}  // namespace anttracks::core
