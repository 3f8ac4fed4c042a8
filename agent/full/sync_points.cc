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
std::vector<Stretch> Collected(std::span<const AntTracksSpace> spaces) {
  std::vector<Stretch> collected;
  for (const AntTracksSpace& space : spaces) {
    if (space.collected != ANTTRACKS_NOT_COLLECTED) collected.push_back({space.bottom, space.end});
  }
  std::sort(collected.begin(), collected.end(),
            [](const Stretch& a, const Stretch& b) { return a.start < b.start; });
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
  impatient_ = false;
  stop_.store(false);
  hurry_.store(Hurry::kNot);
  unlisted_.clear();
  withdrawn_ = false;
  stands_still_.store(false);
  for (const bool young : {true, false}) {
    for (uint32_t i = 0; i < spaces.size(); i++) {
      const bool by_vm = first && spaces[i].kind == ANTTRACKS_SPACE_EDEN;
      if (YoungMayTake(spaces[i]) == young && spaces[i].bottom < spaces[i].top && !by_vm)
        unlisted_.push_back({i, {spaces[i].bottom, spaces[i].top}});
    }
  }
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
  if (config_.provenance != nullptr) config_.provenance->SyncPointAbandoned();
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

// Lists what is left for as long as there is more() to list. False: stopped, or lost.
template <class More>
bool SyncPoints::List(Where where, More more) {
  const uint64_t cpu_begin = Clock::ThreadCpu();
  bool whole = true;
  while (whole && !unlisted_.empty() && more()) {
    if (where == Where::kBesideProgram) {
      Pace();
      if (stands_still_.load() && young_done_.load()) {
        whole = WaitHere();  // meanwhile unlisted_ may become shorter
        continue;
      }
      whole = !stop_.load() && outlet_.failure.active();
    }
    Unlisted& first = unlisted_.front();
    whole = whole && lister_.ListSome(first.space, &first.part);
    if (first.part.start >= first.part.top) unlisted_.pop_front();
  }
  cpu_ns_.Add(Clock::ThreadCpu() - cpu_begin);
  return whole && lister_.Close();
}

// Until the collection is over. False: stopped, or lost.
bool SyncPoints::WaitHere() {
  if (!lister_.Close()) return false;
  background_.Notify([this] { stands_.store(true); });
  background_.WaitUntil([this] { return !stands_still_.load(); });
  return !stop_.load() && outlet_.failure.active();
}

bool SyncPoints::IsYoungNext() const { return YoungMayTake(lister_.spaces()[unlisted_.front().space]); }

bool SyncPoints::ListYoung(Where where) {
  return young_done_.load() || List(where, [this] { return IsYoungNext(); });
}

// Regions by address. How many parts that makes. Regions begin and end with objects, so parts may be cut there.
size_t SyncPoints::PutFirst(const std::vector<Stretch>& regions) {
  std::deque<Unlisted> taken, rest;
  for (const Unlisted& unlisted : unlisted_) {
    uint64_t at = unlisted.part.start;
    const auto add = [&](std::deque<Unlisted>& to, uint64_t end) {
      if (at < end) to.push_back({unlisted.space, {at, end}});
      at = std::max(at, end);
    };
    auto region = std::lower_bound(regions.begin(), regions.end(), at,
                                   [](const Stretch& a, uint64_t address) { return a.top <= address; });
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

bool SyncPoints::ListTaken(Where where) {
  const size_t parts = PutFirst(taken_);
  const size_t rest = unlisted_.size() - parts;
  return List(where, [this, rest] { return unlisted_.size() > rest; });
}

// Beside the program. What a collection waits for comes before the rest.
bool SyncPoints::ListRest() {
  bool whole = true;
  while (whole && !unlisted_.empty()) {
    whole = List(Where::kBesideProgram, [this] { return !awaits_taken_.load(); });
    if (!whole || !awaits_taken_.load()) continue;
    whole = ListTaken(Where::kBesideProgram);
    if (whole) background_.Notify([this] { awaits_taken_.store(false); });
  }
  return whole;
}

// What is left of it.
void SyncPoints::ListInPause() {
  const bool whole = List(Where::kInPause, [] { return true; });
  young_done_.store(true);
  whole ? Complete() : Lose();
}

// A collection that waits for a part goes on when that is listed, or when this is over: then it sees by open_
// what has become of the sync point.
void SyncPoints::ListInBackground() {
  outlet_.failure.Guard([this] {
    bool whole = ListYoung(Where::kBesideProgram);
    if (whole) {
      background_.Notify([this] { young_done_.store(true); });
      whole = ListRest();
    }
    if (whole) {
      Complete();
    } else if (!stop_.load()) {
      Lose();
    }
  });
}

void SyncPoints::CollectionBegins(const AntTracksGC& gc) {
  const uint64_t begin = Clock::Monotonic();
  if (gc.kind == ANTTRACKS_GC_YOUNG || gc.kind == ANTTRACKS_GC_MIXED) {
    FinishTaken(gc);
  } else if (gc.kind == ANTTRACKS_GC_REMARK) {
    StandStill();
  } else if (gc.kind == ANTTRACKS_GC_FULL && !first_.load()) {
    Stop("a full collection came");
  } else {
    Finish();
  }
  // What the collection moves must be listed. A sync point is open without a walk when tracing is about to end
  // and threads that are still ahead of that collect. busy() is asked first: a walk that ends between the two
  // questions has closed its sync point.
  if (!background_.busy() && open_.load() && !withdrawn_) Abandon("tracing is ending");
  pause_ns_.Add(Clock::Monotonic() - begin);
}

void SyncPoints::CollectionEnds(const AntTracksGC& gc) {
  if (gc.kind == ANTTRACKS_GC_REMARK && (withdrawn_ || stands_still_.load()))
    GoOnWithout(Collected({gc.spaces, gc.nspaces}));
}

// Before a young or mixed collection moves what it takes. The young spaces were usually listed long ago.
void SyncPoints::FinishTaken(const AntTracksGC& gc) {
  const bool mixed = gc.kind == ANTTRACKS_GC_MIXED;
  if (!background_.busy() || (young_done_.load() && !mixed)) return;
  const bool withdrawn = background_.Withdraw();
  if (mixed) taken_ = Collected({gc.spaces, gc.nspaces});
  if (withdrawn) {
    // Its thread did not come to it, and may be waiting for this very collection: listed here instead.
    const bool listed = ListYoung(Where::kInPause) && (!mixed || ListTaken(Where::kInPause));
    young_done_.store(true);
    if (!listed) return Lose();
    const bool goes_on = background_.Start([this] { ListInBackground(); });
    if (!goes_on && first_.load()) ListInPause();  // tracing ends, and waits for it
    return;
  }
  awaits_taken_.store(mixed);
  HurryUntil([this] { return young_done_.load() && !awaits_taken_.load(); });
  awaits_taken_.store(false);
}

// Or until the walk is over.
void SyncPoints::HurryUntil(const std::function<bool()>& done) {
  Hurry calm = Hurry::kNot;
  hurry_.compare_exchange_strong(calm, Hurry::kSome);
  background_.WaitUntil(done);
  Hurry some = Hurry::kSome;
  hurry_.compare_exchange_strong(some, Hurry::kNot);
}

// Before marking ends: the VM's knowledge of what is an object changes, and dead objects lose their classes.
// The young spaces are listed first, as before any collection.
void SyncPoints::StandStill() {
  if (!background_.busy()) return;
  withdrawn_ = background_.Withdraw();
  if (withdrawn_) {
    const bool young = ListYoung(Where::kInPause);
    young_done_.store(true);
    if (!young) Lose();
    withdrawn_ = young;
    return;
  }
  stands_.store(false);
  stands_still_.store(true);
  HurryUntil([this] { return stands_.load(); });
}

// What was freed had no living objects, and may be in use again at once.
void SyncPoints::GoOnWithout(const std::vector<Stretch>& freed) {
  const auto parts = static_cast<std::ptrdiff_t>(PutFirst(freed));
  unlisted_.erase(unlisted_.begin(), unlisted_.begin() + parts);
  if (!withdrawn_) return background_.Notify([this] { stands_still_.store(false); });
  withdrawn_ = false;
  if (background_.Start([this] { ListInBackground(); })) return;
  first_.load() ? ListInPause() : Abandon("tracing is ending");
}

// Before a full collection, of the first one.
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
  background_.Notify([this] { stands_still_.store(false); });
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
