// SPDX-License-Identifier: Apache-2.0
// When objects move nobody of the agent is in the heap, whatever fails: each allocation in turn finds no
// memory.
#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/unit/agent/failing_memory.h"
#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

using std::chrono::milliseconds;

// A VM whose answers about locked objects take their time for all threads but this one: who asks is in the
// heap.
struct SlowVm {
  SlowVm() {
    owner = std::this_thread::get_id();
    inside = 0;
    entered = 0;
    real = fake.vm().object_site;
    fake.vm().object_site = [](uint64_t address) {
      if (std::this_thread::get_id() == owner) return real(address);
      inside++;
      entered++;
      std::this_thread::sleep_for(milliseconds(100));
      inside--;
      return real(address);
    };
  }
  void AwaitEntered() const {
    for (int i = 0; i < 20'000 && entered == 0; i++) std::this_thread::sleep_for(milliseconds(1));
    REQUIRE(entered != 0);
  }
  FakeVm fake;
  FakeLock monitor;
  static inline std::thread::id owner;
  static inline std::atomic<int> inside, entered;
  static inline uint32_t (*real)(uint64_t);
};

// A thread whose objects a reader is reading, one of them locked.
void GiveToWalker(SlowVm& vm, Recording& recording, void** slot) {
  const uint64_t known = vm.fake.heap();
  uint64_t at = vm.fake.Put(known, FakeVm::kPoint, 16);
  recording.Tlab(1, slot, known, at, true);
  for (unsigned i = 0; i < kLanes; i++) {
    const uint64_t start = at;
    at = i == 0 ? vm.fake.PutLocked(at, FakeVm::kPoint, 16) : vm.fake.Put(at, FakeVm::kPoint, 16);
    if (i == 0)
      REQUIRE(FakeVm::Inflate(start, &vm.monitor));  // walkers leave other locked objects to their thread
    recording.Tlab(1, slot, start, at);
  }
  vm.AwaitEntered();
}

AntTracksGC Gc(uint32_t kind) {
  AntTracksGC gc{};
  gc.cause = "a cause that does not fit into a string without memory of its own";
  gc.kind = kind;
  return gc;
}

// Runs it with memory for no allocation, for one, for two... until none fails. It calls what it is given with
// what is to have no more memory than that, once; that tells whether an allocation failed.
template <typename Run>
void WithEachAllocationFailing(const Run& run) {
  bool failed = true;
  for (size_t good = 0; failed; good++) {
    CAPTURE(good);
    REQUIRE(good < 1000);
    run([&](const auto& callback) {
      const FailingMemory memory(good);
      callback();
      return failed = memory.failed();
    });
  }
}

// The same where a reader is in the heap, which the callback makes it leave, with or without memory; then looks
// at the rest.
template <typename Callback, typename Rest>
void ReaderLeaves(const Callback& callback, const Rest& rest) {
  WithEachAllocationFailing([&](const auto& scarce) {
    SlowVm vm;
    Recording recording(vm.fake, {.walkers = 1, .walker_waited = &NeverWaited});
    void* slot = nullptr;
    GiveToWalker(vm, recording, &slot);
    const bool failed = scarce([&] { callback(recording, &slot); });
    CHECK(SlowVm::inside == 0);
    CHECK(recording.session().failure().active() == !failed);
    rest(recording, slot);
  });
}

void Begin(Recording& recording) {
  const AntTracksGC gc = Gc(ANTTRACKS_GC_YOUNG);
  recording.callbacks().gc_begin(recording.context(), &gc);
}

void End(Recording& recording) {
  const AntTracksGC gc = Gc(ANTTRACKS_GC_YOUNG);
  recording.callbacks().gc_end(recording.context(), &gc);
}

TEST_CASE("no reader is in the heap when objects move, whatever memory is missing") {
  ReaderLeaves([](Recording& recording, void**) { Begin(recording); },
               [](Recording& recording, void*) { End(recording); });
}

TEST_CASE("a thread that ends leaves nothing of itself behind, whatever memory is missing") {
  ReaderLeaves(
      [](Recording& recording, void** slot) {
        recording.callbacks().thread_exit(recording.context(), reinterpret_cast<void*>(1), slot);
      },
      [](Recording& recording, void* slot) {
        CHECK(slot == nullptr);
        Begin(recording);
        End(recording);
        CHECK(recording.session().CountersJson().find("\"tlabs\":5,") != std::string::npos);
      });
}

// A heap of old objects, one of them locked, that becomes a sync point, whose walk is in that object.
struct Walked {
  explicit Walked(SlowVm& vm) : recording(vm.fake) {
    const uint64_t start = vm.fake.heap();
    uint64_t at = vm.fake.Put(start, FakeVm::kPoint, 16);
    at = vm.fake.PutLocked(at, FakeVm::kPoint, 17);
    at = vm.fake.Put(at, FakeVm::kPoint, 18);
    space = {ANTTRACKS_SPACE_OLD, 0, start, at, at};
    recording.Tlab(1, &slot, start, start + 24, true);
    thread = std::thread([this, &vm] { recording.session().background().Loop(vm.fake.vm()); });
    recording.session().WantSyncPoint();
  }
  ~Walked() {
    recording.session().background().Stop();
    thread.join();
  }
  AntTracksGC Collection(uint32_t kind) const {
    AntTracksGC gc = Gc(kind);
    gc.spaces = &space;
    gc.nspaces = 1;
    return gc;
  }
  void Begin(const AntTracksGC& gc) { recording.callbacks().gc_begin(recording.context(), &gc); }
  void End(const AntTracksGC& gc) { recording.callbacks().gc_end(recording.context(), &gc); }

  Recording recording;
  AntTracksSpace space{};
  void* slot = nullptr;
  std::thread thread;
};

TEST_CASE("no walk is in the heap when a collection begins that could not be told for want of memory") {
  for (const uint32_t kind : {ANTTRACKS_GC_YOUNG, ANTTRACKS_GC_FULL, ANTTRACKS_GC_MIXED}) {
    CAPTURE(kind);
    WithEachAllocationFailing([&](const auto& scarce) {
      SlowVm vm;
      Walked walked(vm);
      const AntTracksGC first = walked.Collection(ANTTRACKS_GC_YOUNG), gc = walked.Collection(kind);
      walked.Begin(first);
      walked.End(first);
      vm.AwaitEntered();
      const bool failed = scarce([&] { walked.Begin(gc); });
      CHECK((SlowVm::inside == 0 || !failed));
      CHECK(walked.recording.session().failure().active() == !failed);
      walked.End(gc);
    });
  }
}

TEST_CASE("a sync point that could not begin for want of memory leaves no walk behind") {
  WithEachAllocationFailing([](const auto& scarce) {
    SlowVm vm;
    Walked walked(vm);
    const AntTracksGC gc = walked.Collection(ANTTRACKS_GC_YOUNG);
    walked.Begin(gc);
    const bool failed = scarce([&] { walked.End(gc); });
    CHECK(walked.recording.session().failure().active() == !failed);
    if (failed) {
      walked.Begin(gc);
      CHECK_FALSE(walked.recording.session().background().busy());
      CHECK(SlowVm::inside == 0);
      walked.End(gc);
      CHECK_FALSE(walked.recording.session().background().busy());
    }
  });
}

TEST_CASE("a walk ends before objects move when tracing has failed") {
  SlowVm vm;
  Walked walked(vm);
  const AntTracksGC gc = walked.Collection(ANTTRACKS_GC_YOUNG);
  walked.Begin(gc);
  walked.End(gc);
  vm.AwaitEntered();
  walked.recording.session().failure().Fail("the disk is full");
  walked.Begin(gc);
  CHECK(SlowVm::inside == 0);
  CHECK_FALSE(walked.recording.session().background().busy());
}

TEST_CASE("a trace ends, whatever memory is missing") {
  WithEachAllocationFailing([](const auto& scarce) {
    FakeVm vm;
    Recording recording(vm);
    void* slot = nullptr;
    const uint64_t end = vm.Put(vm.heap(), FakeVm::kPoint, 16);
    recording.Tlab(1, &slot, vm.heap(), end, true);  // the kind is known now
    recording.Tlab(1, &slot, end, vm.Put(end, FakeVm::kPoint, 16));
    const std::string reason(100, 'x');
    const bool failed = scarce([&] { recording.session().Finish(reason); });
    CHECK(recording.session().queue().closed());
    const ReadTrace trace = recording.End();
    CHECK(trace.Count(trace::SegmentKind::kEnd) == 1);
    CHECK((failed || trace.objects.size() == 2));
    CHECK((trace.losses != 0) == failed);
  });
}

}  // namespace
}  // namespace anttracks::core
