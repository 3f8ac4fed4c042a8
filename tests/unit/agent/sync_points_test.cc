// SPDX-License-Identifier: Apache-2.0
// Collections beside the walk of a sync point: who lists what, and who waits for whom.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

using std::chrono::milliseconds;
using trace::SegmentKind;

// Two blocks of the walk, and several. Regions of the old space begin at objects kTaken and kAfter.
constexpr uint32_t kYoung = 3000, kOld = 12'000, kTaken = 6000, kAfter = 9000;
constexpr uint64_t kBytes = 24;  // of an object

void Await(const std::function<bool()>& done) {
  for (int i = 0; i < 20'000 && !done(); i++) std::this_thread::sleep_for(milliseconds(1));
  REQUIRE(done());
}

// A survivor and an old space. Every 500th object is locked, so that the VM is asked for its site, and the test
// knows which thread has read it.
class Walked {
 public:
  Walked() {
    const std::lock_guard lock(mutex);
    readers.clear();
    real = vm.vm().object_site;
    vm.vm().object_site = [](uint64_t address) {
      {
        const std::lock_guard guard(mutex);
        readers[address] = std::this_thread::get_id();
      }
      return real(address);
    };
    old_ = Fill(young_, kYoung);
    Fill(old_, kOld);
  }
  ~Walked() { StopThread(); }

  uint64_t Young(uint32_t i) const { return young_ + i * kBytes; }
  uint64_t Old(uint32_t i) const { return old_ + i * kBytes; }
  Session& session() { return recording.session(); }
  Background& background() { return session().background(); }

  void StartThread() {
    thread_ = std::thread([this] {
      const KnownThread known;
      background().Loop(vm.vm());
    });
  }
  void StopThread() {
    background().Stop();
    if (thread_.joinable()) thread_.join();
  }
  // A mixed collection takes the second region of the old space.
  void Collect(uint32_t kind) {
    const bool mixed = kind == ANTTRACKS_GC_MIXED;
    const AntTracksSpace spaces[] = {
        {ANTTRACKS_SPACE_SURVIVOR, 0, Young(0), Young(kYoung), Young(kYoung)},
        {ANTTRACKS_SPACE_OLD, 0, Old(0), Old(kTaken), Old(kTaken)},
        {ANTTRACKS_SPACE_OLD, mixed ? 1u : 0u, Old(kTaken), Old(kAfter), Old(kAfter)},
        {ANTTRACKS_SPACE_OLD, 0, Old(kAfter), Old(kOld), Old(kOld)}};
    AntTracksGC gc{};
    gc.kind = kind;
    gc.cause = "test";
    gc.spaces = spaces;
    gc.nspaces = 4;
    recording.callbacks().gc_begin(recording.context(), &gc);
    in_pause();
    recording.callbacks().gc_end(recording.context(), &gc);
  }
  void BeginSyncPoint() {
    session().WantSyncPoint();
    Collect(ANTTRACKS_GC_YOUNG);
    REQUIRE(background().busy());
  }
  // Threads that the VM knows wait there until Unmark.
  void Mark(uint64_t object) { marked_[object] = FakeVm::SetMark(object, FakeVm::kMarked); }
  void Unmark(uint64_t object) { FakeVm::SetMark(object, marked_.at(object)); }
  bool WasRead(uint64_t object) const {
    const std::lock_guard lock(mutex);
    return readers.count(object) != 0;
  }
  // By this thread, which plays the VM's.
  bool WasReadHere(uint64_t object) const {
    const std::lock_guard lock(mutex);
    return readers.at(object) == std::this_thread::get_id();
  }
  ReadTrace End() {
    StopThread();
    return recording.End();
  }

  FakeVm vm;
  Recording recording{vm};
  std::function<void()> in_pause = [] {};

 private:
  uint64_t Fill(uint64_t at, uint32_t objects) {
    for (uint32_t i = 0; i < objects; i++) {
      const uint32_t site = 16 + i % 60;
      at = i % 500 == 499 ? vm.PutLocked(at, FakeVm::kPoint, site) : vm.Put(at, FakeVm::kPoint, site);
    }
    return at;
  }

  static inline std::mutex mutex;
  static inline std::map<uint64_t, std::thread::id> readers;
  static inline uint32_t (*real)(uint64_t);

  const uint64_t young_ = vm.heap();
  uint64_t old_ = 0;
  std::map<uint64_t, uint64_t> marked_;
  std::thread thread_;
};

// The walk's thread is at work on the object until some time later, when a collection has begun to wait for it.
std::thread HoldUp(Walked& walked, uint64_t object) {
  walked.Mark(object);
  walked.StartThread();
  Await([&] { return walked.WasRead(object); });
  return std::thread([&walked, object] {
    std::this_thread::sleep_for(milliseconds(300));
    walked.Unmark(object);
  });
}

size_t CountIn(const std::set<uint64_t>& addresses, uint64_t start, uint64_t top) {
  return static_cast<size_t>(std::distance(addresses.lower_bound(start), addresses.lower_bound(top)));
}

TEST_CASE("a collection lists itself what the walk has not, the walk goes on with the rest") {
  for (const uint32_t kind : {ANTTRACKS_GC_YOUNG, ANTTRACKS_GC_MIXED, ANTTRACKS_GC_REMARK}) {
    for (const bool begun : {false, true}) {
      CAPTURE(kind);
      CAPTURE(begun);
      Walked walked;
      walked.BeginSyncPoint();
      std::thread unmark;
      if (begun) unmark = HoldUp(walked, walked.Young(10));
      walked.Collect(kind);
      begun ? unmark.join() : walked.StartThread();
      walked.background().WaitIdle();
      CHECK(walked.WasReadHere(walked.Young(499)) == !begun);
      CHECK(walked.WasReadHere(walked.Young(kYoung - 1)));  // of the second block
      CHECK(walked.WasReadHere(walked.Old(kTaken + 499)) == (kind == ANTTRACKS_GC_MIXED));
      CHECK_FALSE(walked.WasReadHere(walked.Old(499)));
      CHECK_FALSE(walked.WasReadHere(walked.Old(kOld - 1)));
      const uint64_t young = walked.Young(0), old = walked.Old(0), taken = walked.Old(kTaken);
      const ReadTrace trace = walked.End();
      CHECK(trace.Count(SegmentKind::kSyncEnd) == 1);
      CHECK(ListedBefore(trace, 3).size() == kYoung + kOld);
      const std::set<uint64_t> before = ListedBefore(trace, 2);
      CHECK(CountIn(before, young, old) == kYoung);
      // Beside a young or mixed collection a walk that has begun goes on, and may be faster than it.
      if (begun && kind != ANTTRACKS_GC_REMARK) continue;
      CHECK(CountIn(before, old, taken) == 0);
      CHECK(CountIn(before, taken, old + kOld * kBytes) == (kind == ANTTRACKS_GC_MIXED ? kAfter - kTaken : 0));
    }
  }
}

TEST_CASE("a walk does nothing during a remark, and goes on at its end") {
  for (const bool begun : {false, true}) {
    CAPTURE(begun);
    Walked walked;
    walked.BeginSyncPoint();
    std::thread unmark;
    if (begun) unmark = HoldUp(walked, walked.Old(10));
    walked.in_pause = [&] {
      if (!begun) walked.StartThread();
      std::this_thread::sleep_for(milliseconds(20));
      CHECK(walked.background().busy());
      CHECK_FALSE(walked.WasRead(walked.Old(kOld - 1)));
    };
    walked.Collect(ANTTRACKS_GC_REMARK);
    if (begun) unmark.join();
    walked.background().WaitIdle();
    CHECK(ListedBefore(walked.End(), 3).size() == kYoung + kOld);
  }
}

// Of dead objects of the old space, as G1 knows them: during the remark by its bitmap, which leads from any of
// them to the next living one; as soon as the program runs they are one filler.
struct Scrubbed {
  static inline uint64_t start, top;
  static inline std::atomic<bool> known, read_inside;
  static inline std::thread::id vm_thread;
  static uint64_t NextObjects(uint64_t* from, uint64_t end) {
    if (!known || *from >= top || end <= start) return end;
    if (*from < start) return start;
    if (*from > start && std::this_thread::get_id() != vm_thread) read_inside = true;
    *from = top;
    return end;
  }
};

TEST_CASE("a walk that stands among objects which a remark finds dead goes on behind them") {
  Walked walked;
  // The first block of the old space ends with object 2730.
  constexpr uint32_t kDead = 2700, kLive = 2800, kStands = 2731;
  Scrubbed::start = walked.Old(kDead);
  Scrubbed::top = walked.Old(kLive);
  Scrubbed::known = Scrubbed::read_inside = false;
  Scrubbed::vm_thread = std::this_thread::get_id();
  walked.vm.vm().next_objects = Scrubbed::NextObjects;
  walked.BeginSyncPoint();
  std::thread unmark = HoldUp(walked, walked.Old(10));
  walked.in_pause = [] { Scrubbed::known = true; };
  walked.Collect(ANTTRACKS_GC_REMARK);
  unmark.join();
  walked.background().WaitIdle();
  CHECK_FALSE(Scrubbed::read_inside);
  const uint64_t stands = walked.Old(kStands), live = walked.Old(kLive);
  const ReadTrace trace = walked.End();
  CHECK(trace.Count(SegmentKind::kSyncEnd) == 1);
  const std::set<uint64_t> listed = ListedBefore(trace, 3);
  CHECK(CountIn(listed, stands, live) == 0);
  CHECK(listed.size() == kYoung + kOld - (kLive - kStands));
}

// Asks until it may return.
struct Asking {
  static inline std::atomic<bool> asks, returns;
  static int32_t Collect() {
    asks = true;
    while (!returns) std::this_thread::sleep_for(milliseconds(1));
    return 0;
  }
};

TEST_CASE("no collection waits for a walk whose thread waits for a collection itself") {
  for (const uint32_t kind : {ANTTRACKS_GC_YOUNG, ANTTRACKS_GC_MIXED, ANTTRACKS_GC_REMARK, ANTTRACKS_GC_FULL}) {
    CAPTURE(kind);
    Walked walked;
    Asking::asks = Asking::returns = false;
    walked.vm.vm().collect = Asking::Collect;
    walked.background().RequestCollection();
    walked.StartThread();
    Await([] { return Asking::asks.load(); });
    walked.BeginSyncPoint();
    walked.Collect(kind);
    const bool full = kind == ANTTRACKS_GC_FULL;
    CHECK(walked.background().busy() == !full);
    Asking::returns = true;
    walked.background().WaitIdle();
    const ReadTrace trace = walked.End();
    CHECK(trace.Count(SegmentKind::kSyncEnd) == 1);
    CHECK(trace.Count(SegmentKind::kSyncAbandoned) == (full ? 1 : 0));
  }
}

TEST_CASE("the end of tracing ends a walk that the VM thread has, who lists on without it") {
  for (const bool begun : {false, true}) {
    CAPTURE(begun);
    Walked walked;
    const uint64_t in_pause = walked.Old(kTaken + 10);
    walked.BeginSyncPoint();
    walked.Mark(in_pause);
    std::thread unmark;
    if (begun) unmark = HoldUp(walked, walked.Young(10));
    std::thread collection([&] {
      const KnownThread known;
      walked.Collect(ANTTRACKS_GC_MIXED);
    });
    Await([&] { return walked.WasRead(in_pause); });
    walked.session().PrepareStop();
    CHECK_FALSE(walked.background().busy());
    walked.Unmark(in_pause);
    collection.join();
    if (begun) unmark.join();
    walked.Collect(ANTTRACKS_GC_YOUNG);
    const uint64_t taken = walked.Old(kTaken), after = walked.Old(kAfter);
    const ReadTrace trace = walked.End();
    CHECK(trace.Count(SegmentKind::kSyncEnd) == 0);
    CHECK(trace.Count(SegmentKind::kSyncAbandoned) == 1);
    const std::set<uint64_t> before = ListedBefore(trace, 2);
    CHECK(before.size() == kYoung + kAfter - kTaken);
    CHECK(CountIn(before, taken, after) == kAfter - kTaken);
    CHECK(trace.sync_objects.size() == before.size());
  }
}

TEST_CASE("a task that is held does nothing, before it begins and after, and ends when it is cancelled") {
  FakeVm vm;
  Background background;
  std::atomic<int> passes{0};
  CHECK_FALSE(background.Hold());
  REQUIRE(background.Start([&] {
    while (background.Pass()) {
      passes++;
      std::this_thread::yield();
    }
  }));
  CHECK(background.Hold());
  std::thread thread([&] { background.Loop(vm.vm()); });
  const auto stands = [&] {
    const int before = passes;
    std::this_thread::sleep_for(milliseconds(20));
    return passes == before && background.busy();
  };
  CHECK(stands());
  CHECK(passes == 0);
  background.Release();
  Await([&] { return passes > 0; });
  CHECK(background.Hold());
  CHECK(stands());
  background.Release();
  const int before = passes;
  Await([&] { return passes > before; });
  CHECK(background.Hold());
  background.Cancel();
  CHECK_FALSE(background.busy());
  CHECK_FALSE(background.Hold());
  background.Release();
  background.Close();
  CHECK_FALSE(background.Start([] {}));
  background.Stop();
  thread.join();
}

TEST_CASE("a task that rests is held and cancelled at once") {
  FakeVm vm;
  Background background;
  const auto rests = [&] {
    while (background.Pass()) background.Rest(std::chrono::hours(1));
  };
  std::thread thread([&] { background.Loop(vm.vm()); });
  for (const bool held : {true, false}) {
    CAPTURE(held);
    REQUIRE(background.Start(rests));
    std::this_thread::sleep_for(milliseconds(20));
    if (held) {
      CHECK(background.Hold());
      background.Release();
    }
    background.Cancel();
    CHECK_FALSE(background.busy());
  }
  background.Stop();
  thread.join();
}

}  // namespace
}  // namespace anttracks::core
