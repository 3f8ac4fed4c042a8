// SPDX-License-Identifier: Apache-2.0
// Sync points: lists of all objects in the heap. The first one shows the moment when tracing starts; those of a
// rotation follow a collection. The young spaces are listed first. The agent's thread lists the other ones
// while the program runs: an object in them moves or dies only in a collection that takes its region.
//
//     none --First, Begin--> open, listed in the background --all listed--> none, SYNC_END
//              full collection, the end of tracing (not of the first one), a full queue --> none,
//              SYNC_ABANDONED, due again
//
// When a collection begins the VM thread takes the walk from the agent's thread, which ends its block, and
// lists in the pause what the collection needs: young spaces, and the old regions that a mixed one takes;
// before a full one, all of the first sync point. Then the walk goes on: at once, or when a remark ends. A
// young collection leaves a walk alone that has listed the young spaces.
//
// A census is read in the same way, after a collection; then objects are counted instead of listed, and nothing
// is written before the end.
//
// The first one is never abandoned: if it cannot be written the session fails, since a partly known heap is
// worthless. Its eden has fillers between the objects, so the VM lists eden. After a collection eden is empty.
//
// Thread safety: First*, Begin and Collection* by the VM thread at a safepoint; the other functions say who
// calls them. Ownership: borrows its arguments; owns the tasks of the background thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "agent/base/counter.h"
#include "agent/base/counters.h"
#include "agent/full/background.h"
#include "agent/full/provenance.h"
#include "agent/full/space_lister.h"
#include "agent/stream/outlet.h"
#include "trace/events.h"
#include "trace/format.h"

namespace anttracks::core {

// Converts spaces from the VM's byte addresses to word numbers.
std::vector<trace::Space> InWords(std::span<const AntTracksSpace> spaces);

class SyncPoints {
 public:
  struct Config {
    std::chrono::milliseconds first_sync_point_limit;  // how long the program may wait for the first one
    uint64_t most_in_pause;                            // see SessionConfig
    Census* census = nullptr;                          // nullptr: objects are listed
    Provenance* provenance = nullptr;                  // nullptr: it is not kept
  };

  SyncPoints(const AntTracksVM& vm, ObjectReader& reader, const Outlet& outlet, const Config& config)
      : vm_(vm), outlet_(outlet), config_(config), lister_(vm, reader, outlet, config.census) {}

  // The first sync point. reason: kStart or kAttach.
  void FirstBegin(trace::SyncReason reason, std::span<const AntTracksSpace> spaces);
  void FirstEden(uint32_t space, std::span<const uint64_t> addresses);
  void FirstEdenEnd();
  // Waits until the first sync point is over. Not for threads in VM state. False: it was not over after that
  // time.
  bool WaitForFirst(std::chrono::milliseconds limit) const;

  // Whether a sync point may follow a collection of this kind. self_forwarded: the collection left objects in
  // place; after a young one dead objects lie between them.
  bool MayFollow(uint32_t gc_kind, bool stayed) const;
  // At the end of a collection: begins a sync point.
  void Begin(std::span<const AntTracksSpace> spaces);
  // At the begin of a collection. When it returns, everything that the collection may move, or free though it
  // is alive, is listed, or the sync point is abandoned.
  void CollectionBegins(const AntTracksGC& gc);
  // When everything about the collection is queued.
  void CollectionEnds(const AntTracksGC& gc);
  // A sync point was abandoned: another one is due, in the same file.
  bool due() const { return due_.load(); }

  // Before the VM's stop, by any thread: completes the first sync point or stops another one; none begins any
  // more.
  void PrepareStop();
  // After the VM's stop.
  void End();
  // When it returns no walk reads the heap. Allocates no memory.
  void LeaveHeap() noexcept { background_.Cancel(); }
  // At a safepoint.
  void ForgetSiteClasses() { lister_.ForgetSiteClasses(); }
  // Any thread.
  Background& background() { return background_; }
  double EstimatedBytes() const { return lister_.EstimatedBytes(); }
  uint64_t completed() const { return completed_.value(); }
  uint64_t abandoned() const { return abandoned_.value(); }
  void Count(CounterValues* values) const;

 private:
  // A part of a space that is not listed yet; see SpaceLister::ListSome.
  struct Unlisted {
    uint32_t space;
    AddressRange part;
  };
  // A walk while the program runs limits its speed, and can be stopped.
  enum class Where : bool { kInPause, kBesideProgram };

  bool Open(trace::SyncReason reason, std::span<const AntTracksSpace> spaces);
  void WriteBegin(trace::SyncReason reason, std::span<const AntTracksSpace> spaces);
  void Walk(Where where);
  void Complete();
  void Lose();
  void Abandon(std::string_view reason);
  void TakeWalk(const AntTracksGC& gc);
  void ListNeeded(const AntTracksGC& gc);
  void LeaveDead(const std::vector<AddressRange>& freed);
  void ListInPause();
  void ListInBackground();
  bool Pace();
  bool IsYoungNext() const;
  size_t PutFirst(const std::vector<AddressRange>& regions);
  template <class More>
  bool List(Where where, More more);

  const AntTracksVM& vm_;
  const Outlet outlet_;
  const Config config_;
  Background background_;

  // Belong to the background's task while there is one, but to the VM thread while it holds that.
  SpaceLister lister_;
  std::deque<Unlisted> unlisted_;  // in the order of listing: first what a young collection may take

  std::atomic<bool> young_done_{false};  // the young spaces are listed, and queued
  std::atomic<bool> impatient_{false};   // the walk no longer waits for the queue to become emptier
  std::atomic<bool> open_{false};        // begun, and neither completed nor abandoned
  std::atomic<bool> due_{false};
  std::atomic<bool> first_{false};  // not of a rotation

  // For the VM thread only.
  bool in_pause_ = false;  // the next one is listed in the pause, as the last one was interrupted
  trace::SyncReason first_reason_ = trace::SyncReason::kStart;
  uint64_t first_begin_ns_ = 0;
  // pause_ns_: time spent on sync points within pauses. cpu_ns_: of the reading, within pauses or not.
  Counter objects_, completed_, abandoned_, pause_ns_, cpu_ns_;
};

}  // namespace anttracks::core
