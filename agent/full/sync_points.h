// SPDX-License-Identifier: Apache-2.0
// Sync points: the heap as it stands, object for object. The first one is of the moment when tracing starts,
// those of a rotation follow a collection. What is in the young spaces is listed first, then the rest, by the
// agent's thread, while the program runs: nothing in them moves before the next collection.
//
//     none --First, Begin--> open, listed in the background --all listed--> none, SYNC_END
//              young collection: waits for the young spaces |
//              mixed, remark (and full, of the first one):  |
//                                           waits for all   |
//              full collection, the end of tracing (not of the first one), a full queue --> none,
//              SYNC_ABANDONED, due again
//
// The first one is never abandoned: what cannot be written then fails the session, as a heap that is known in
// part only is worth nothing. Of it the VM lists eden, which has fillers between the objects; a collection
// leaves eden empty.
//
// Thread safety: First*, Begin, Collection* in the VM thread at a safepoint; the rest says so. Ownership:
// borrows what it is made with, owns the background's tasks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "agent/base/counter.h"
#include "agent/full/background.h"
#include "agent/full/space_lister.h"
#include "agent/stream/outlet.h"
#include "trace/events.h"
#include "trace/format.h"

namespace anttracks::core {

// Spaces as the VM gives them, in words.
std::vector<trace::Space> InWords(std::span<const AntTracksSpace> spaces);

class SyncPoints {
 public:
  struct Config {
    std::chrono::milliseconds first_sight_limit;  // for which the program may wait for the first one
    uint64_t most_in_pause;                       // see SessionConfig
  };

  SyncPoints(const AntTracksVM& vm, ObjectReader& reader, const Outlet& outlet, const Config& config)
      : vm_(vm), outlet_(outlet), config_(config), lister_(vm, reader, outlet) {}

  // The first one. reason: not that of a rotation.
  void FirstBegin(trace::SyncReason reason, std::span<const AntTracksSpace> spaces);
  void FirstEden(uint32_t space, std::span<const uint64_t> addresses);
  void FirstEdenEnd();
  // Until the first one is over; in no thread of the VM that is in VM state. False: it was not after that time.
  bool WaitForFirst(std::chrono::milliseconds limit) const;

  // Whether one may follow a collection of the kind. stayed: a young one left objects where they were; dead
  // ones lie between them.
  bool MayFollow(uint32_t gc_kind, bool stayed) const;
  // At the end of a collection.
  void Begin(std::span<const AntTracksSpace> spaces);
  // At the begin of one: what it may move or free is listed at the return, or the sync point abandoned.
  void CollectionBegins(uint32_t gc_kind);
  // One was abandoned: another one is due, in the same file.
  bool due() const { return due_.load(); }

  // Before the VM's stop, in any thread: the first one is completed, another one stopped; none begins any more.
  void PrepareStop();
  // After it.
  void End();
  // Nobody is in the heap at the return. Needs no memory.
  void LeaveHeap() noexcept;
  // At a safepoint.
  void ForgetSiteClasses() { lister_.ForgetSiteClasses(); }
  // Any thread.
  Background& background() { return background_; }
  double EstimatedBytes() const { return lister_.EstimatedBytes(); }
  uint64_t objects() const { return objects_.value(); }
  uint64_t completed() const { return completed_.value(); }
  uint64_t abandoned() const { return abandoned_.value(); }
  // Of pauses, spent on sync points.
  uint64_t pause_ns() const { return pause_ns_.value(); }

 private:
  // What a collection waits for.
  enum class Hurry { kNot, kYoung, kAll };
  // Of the spaces: what a young collection may take, or the rest.
  enum class Part : bool { kYoung, kRest };
  // A walk beside the program keeps its pace, and can be stopped.
  enum class Where : bool { kInPause, kBesideProgram };

  bool Open(trace::SyncReason reason, std::span<const AntTracksSpace> spaces);
  void Complete();
  void Lose();
  void Abandon(std::string_view reason);
  void Stop(std::string_view reason);
  void FinishYoung();
  void Finish();
  void Pace();
  void ListInPause();
  void ListInBackground();
  bool ListSpaces(Part part, Where where);
  bool ListSpace(uint32_t space, Where where);

  const AntTracksVM& vm_;
  const Outlet outlet_;
  const Config config_;
  Background background_;

  // Belongs to the VM thread during a pause, then to the background thread until it is idle again; the atomics
  // are what the two say to each other.
  SpaceLister lister_;
  bool impatient_ = false;         // waits no more for a queue that is less full
  std::atomic<bool> stop_{false};  // the walk shall end
  std::atomic<Hurry> hurry_{Hurry::kNot};
  std::atomic<bool> young_done_{true};  // the young spaces are listed
  std::atomic<bool> open_{false};       // it was begun, and neither completed nor abandoned
  std::atomic<bool> due_{false};
  std::atomic<bool> first_{false};  // not of a rotation

  // Of the VM thread.
  bool in_pause_ = false;  // the next one is listed in the pause, as the last one was interrupted
  trace::SyncReason first_reason_ = trace::SyncReason::kStart;
  uint64_t first_begin_ns_ = 0;
  Counter objects_, completed_, abandoned_, pause_ns_;
};

}  // namespace anttracks::core
