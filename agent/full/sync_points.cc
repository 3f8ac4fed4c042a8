// SPDX-License-Identifier: Apache-2.0
#include "agent/full/sync_points.h"

#include <algorithm>
#include <iterator>
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

// The spaces that a collection takes, or has taken, by address.
std::vector<AddressRange> Collected(std::span<const AntTracksSpace> spaces) {
  std::vector<AddressRange> collected;
  for (const AntTracksSpace& space : spaces) {
    if (space.collected != ANTTRACKS_NOT_COLLECTED) collected.push_back({space.bottom, space.end});
  }
  std::sort(collected.begin(), collected.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.start < b.start; });
  return collected;
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
  if (config_.provenance != nullptr && !first) config_.provenance->SyncPointBegins();
  lister_.Begin(spaces, first ? PushMode::kWait : PushMode::kGiveUp, config_.first_sync_point_limit);
  first_.store(first);
  impatient_.store(false);
  young_done_.store(false);
  unlisted_.clear();
  for (const bool young : {true, false}) {
    for (uint32_t i = 0; i < spaces.size(); i++) {
      const bool by_vm = first && spaces[i].kind == ANTTRACKS_SPACE_EDEN;
      if (YoungMayTake(spaces[i]) == young && spaces[i].bottom < spaces[i].top && !by_vm)
        unlisted_.push_back({i, {spaces[i].bottom, spaces[i].top}});
    }
  }
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
  const bool small = first_reason_ != trace::SyncReason::kAttach || bytes <= config_.most_in_pause;
  Walk(small ? Where::kInPause : Where::kBesideProgram);
  pause_ns_.Add(Clock::Monotonic() - first_begin_ns_);
}

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
  if (Open(trace::SyncReason::kRotation, spaces)) {
    Walk(in_pause_ ? Where::kInPause : Where::kBesideProgram);
    in_pause_ = false;
  }
  pause_ns_.Add(Clock::Monotonic() - begin);
}

// Beside the program, unless tracing is ending.
void SyncPoints::Walk(Where where) {
  if (where == Where::kInPause || !background_.Start([this] { ListInBackground(); })) ListInPause();
}

void SyncPoints::Complete() {
  if (config_.census != nullptr) {
    config_.census->Write(lister_.objects(), lister_.words());
  } else {
    trace::ByteBuffer segment;
    trace::AppendSyncEnd(&segment, lister_.objects(), lister_.words() * trace::kWordBytes);
    outlet_.PushFrame(segment, ChunkAfter::kEnds);
    if (!outlet_.queue.PushMark(kSyncComplete)) outlet_.CannotQueue();
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
  if (config_.provenance != nullptr) config_.provenance->SyncPointAbandoned();
  if (config_.census == nullptr) {
    trace::ByteBuffer segment;
    trace::AppendSyncAbandoned(&segment, reason);
    outlet_.PushFrame(segment);
  }
  abandoned_.Add(1);
  due_.store(true);
}

// Beside the program: waits while the VM thread has the walk, and while the queue is rather full. Of the first
// one not for ever: somebody waits for it, and must hear that it cannot be written. False: the walk must end.
bool SyncPoints::Pace() {
  const auto begin = std::chrono::steady_clock::now();
  while (background_.Pass() && outlet_.failure.active()) {
    if (impatient_.load() || outlet_.queue.fill() <= kFillForWalk) return true;
    if (first_.load() && std::chrono::steady_clock::now() - begin > config_.first_sync_point_limit)
      impatient_.store(true);
    background_.Rest(kPause);
  }
  return false;
}

// Lists what is left for as long as there is more() to list, and queues it. False: the sync point is lost, or
// the walk must end, and the VM thread may be at work on the same.
template <class More>
bool SyncPoints::List(Where where, More more) {
  const uint64_t cpu_begin = Clock::ThreadCpu();
  bool listed = true, goes_on = true;
  while (listed) {
    goes_on = where == Where::kInPause || Pace();
    if (!goes_on || unlisted_.empty() || !more()) break;
    Unlisted& first = unlisted_.front();
    listed = lister_.ListSome(first.space, &first.part);
    if (first.part.start >= first.part.top) unlisted_.pop_front();
  }
  cpu_ns_.Add(Clock::ThreadCpu() - cpu_begin);
  if (!goes_on) return false;
  if (listed && lister_.Close()) return true;
  Lose();
  return false;
}

bool SyncPoints::IsYoungNext() const { return YoungMayTake(lister_.spaces()[unlisted_.front().space]); }

// Regions by address. How many parts that makes. Regions begin and end with objects, so parts may be cut there.
size_t SyncPoints::PutFirst(const std::vector<AddressRange>& regions) {
  std::deque<Unlisted> taken, rest;
  for (const Unlisted& unlisted : unlisted_) {
    uint64_t at = unlisted.part.start;
    const auto add = [&](std::deque<Unlisted>& to, uint64_t end) {
      if (at < end) to.push_back({unlisted.space, {at, end}});
      at = std::max(at, end);
    };
    auto region = std::lower_bound(regions.begin(), regions.end(), at,
                                   [](const AddressRange& a, uint64_t address) { return a.top <= address; });
    for (; region != regions.end() && region->start < unlisted.part.top; ++region) {
      add(rest, region->start);
      add(taken, std::min(region->top, unlisted.part.top));
    }
    add(rest, unlisted.part.top);
  }
  const size_t parts = taken.size();
  std::move(rest.begin(), rest.end(), std::back_inserter(taken));
  unlisted_ = std::move(taken);
  return parts;
}

// What is left of it.
void SyncPoints::ListInPause() {
  if (List(Where::kInPause, [] { return true; })) Complete();
}

void SyncPoints::ListInBackground() {
  outlet_.failure.Guard([this] {
    if (!List(Where::kBesideProgram, [this] { return IsYoungNext(); })) return;
    young_done_.store(true);
    if (List(Where::kBesideProgram, [] { return true; })) Complete();
  });
}

// A walk that has listed the young spaces may be waiting for the writer; a young collection must not.
void SyncPoints::CollectionBegins(const AntTracksGC& gc) {
  const uint64_t begin = Clock::Monotonic();
  if (gc.kind != ANTTRACKS_GC_YOUNG || !young_done_.load() || !background_.busy()) TakeWalk(gc);
  pause_ns_.Add(Clock::Monotonic() - begin);
}

// A remark has the walk until it ends: the VM's knowledge of what is an object changes, and dead objects lose
// their classes. A sync point is open without a walk when tracing is about to end and threads that are still
// ahead of that collect.
void SyncPoints::TakeWalk(const AntTracksGC& gc) {
  const bool walk = background_.Hold();
  if (open_.load()) walk ? ListNeeded(gc) : Abandon("tracing is ending");
  if (!open_.load()) LeaveHeap();
  if (gc.kind != ANTTRACKS_GC_REMARK) background_.Release();
}

// In the pause, of an open sync point.
void SyncPoints::ListNeeded(const AntTracksGC& gc) {
  if (gc.kind == ANTTRACKS_GC_FULL) {
    if (first_.load()) return ListInPause();
    in_pause_ = true;
    return Abandon("a full collection came");
  }
  if (!List(Where::kInPause, [this] { return IsYoungNext(); })) return;
  young_done_.store(true);
  if (gc.kind != ANTTRACKS_GC_MIXED) return;
  const size_t parts = PutFirst(Collected({gc.spaces, gc.nspaces}));
  const size_t rest = unlisted_.size() - parts;
  (void)List(Where::kInPause, [this, rest] { return unlisted_.size() > rest; });
}

void SyncPoints::CollectionEnds(const AntTracksGC& gc) {
  if (gc.kind != ANTTRACKS_GC_REMARK) return;
  if (open_.load()) LeaveDead(Collected({gc.spaces, gc.nspaces}));
  background_.Release();
}

// At the end of a remark. What it freed had no living objects, and may be in use again at once. Of dead objects
// elsewhere G1 makes fillers when the program runs again, one of all that lie side by side (JDK 21 and later).
// The walk may stand among some, where no object will begin then, and whose classes are gone; so it moves on to
// what lives while the VM still knows that. All other parts begin where a region does.
void SyncPoints::LeaveDead(const std::vector<AddressRange>& freed) {
  const auto parts = static_cast<std::ptrdiff_t>(PutFirst(freed));
  unlisted_.erase(unlisted_.begin(), unlisted_.begin() + parts);
  if (!unlisted_.empty()) lister_.SkipDead(&unlisted_.front().part);
}

void SyncPoints::PrepareStop() {
  background_.Close();
  if (first_.load()) {
    impatient_.store(true);
    (void)WaitForFirst(limits::kEndWithoutProgress);
  }
  // Nobody waits for the writer any more.
  outlet_.queue.AdmitAll();
  LeaveHeap();
}

void SyncPoints::End() {
  if (!background_.busy()) return;
  LeaveHeap();
  if (open_.load()) Abandon("tracing ended");
}

void SyncPoints::Count(CounterValues* values) const {
  values->sync_objects = values->census_objects = objects_.value();
  values->sync_points = values->censuses = completed_.value();
  values->abandoned_sync_points = values->abandoned_censuses = abandoned_.value();
  values->sync_pause_ns = values->census_pause_ns = pause_ns_.value();
  values->census_ns = cpu_ns_.value();
}

}  // namespace anttracks::core
