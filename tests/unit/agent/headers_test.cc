// SPDX-License-Identifier: Apache-2.0
// Headers that other threads change while they are read: objects are locked, unlocked, inflated, deflated.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>

#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

template <class Done>
bool Await(Done&& done) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  return done();
}

TEST_CASE("the site of an object is found wherever its header is") {
  FakeVm vm;
  Recording recording(vm);
  FakeLock locks[4];
  uint64_t at[5];
  uint64_t end = vm.heap();
  for (uint32_t i = 0; i < 5; i++) {
    at[i] = end;
    end = vm.Put(end, FakeVm::kPoint, 30 + i);
  }
  REQUIRE(FakeVm::StackLock(at[1], &locks[0]));
  REQUIRE(FakeVm::Inflate(at[2], &locks[1]));
  REQUIRE(FakeVm::StackLock(at[3], &locks[2]));
  REQUIRE(FakeVm::Inflate(at[3], &locks[3]));
  CHECK_FALSE(FakeVm::StackLock(at[3], &locks[0]));
  REQUIRE(FakeVm::StackLock(at[4], &locks[2]));
  REQUIRE(FakeVm::StackUnlock(at[4], &locks[2]));
  void* slot = nullptr;
  recording.Tlab(1, &slot, vm.heap(), end, true);
  const ReadTrace trace = recording.End();
  REQUIRE(trace.objects.size() == 5);
  for (uint32_t i = 0; i < 5; i++) CHECK(trace.objects[i].site == 30 + i);
}

TEST_CASE("of an object whose header stays unreadable the class is known, the site is none") {
  FakeVm vm;
  vm.vm().object_site = [](uint64_t) { return ANTTRACKS_SITE_CANNOT_TELL; };
  Recording recording(vm);
  const uint64_t end = vm.PutLocked(vm.heap(), FakeVm::kPoint, 30);
  void* slot = nullptr;
  recording.Tlab(1, &slot, vm.heap(), end, true);
  const ReadTrace trace = recording.End();
  REQUIRE(trace.objects.size() == 1);
  CHECK(trace.objects[0].class_name == "Point");
  CHECK(trace.objects[0].site == ANTTRACKS_SITE_NONE);
}

// Stretches of one object each; the site of the first is 30.
struct Stretches {
  explicit Stretches(FakeVm& fake) : vm(fake), at(fake.heap()) {}
  uint64_t Report(Recording& recording, uint32_t count, bool at_safepoint = false, uint64_t mark = 1) {
    const uint64_t first = at;
    for (uint32_t i = 0; i < count; i++) {
      const uint64_t start = at;
      at = vm.Put(at, FakeVm::kPoint, 30 + i);
      if (i == 0 && mark != 1) before = FakeVm::SetMark(start, mark);
      recording.Tlab(1, &slot, start, at, at_safepoint);
    }
    return first;
  }
  FakeVm& vm;
  uint64_t at;
  void* slot = nullptr;
  uint64_t before = 0;
};

TEST_CASE("a reader that cannot tell an object's site leaves the batch to its thread, and nothing is lost") {
  for (const uint64_t mark : {FakeVm::kMarked, FakeVm::kBeingInflated}) {
    CAPTURE(mark);
    FakeVm vm;
    Recording recording(vm, {.walkers = 2, .walker_waited = &NeverWaited});
    const Session& session = recording.session();
    Stretches stretches(vm);
    stretches.Report(recording, kLanes, true);  // from now on its site-class pairs are known
    const uint64_t marked = stretches.Report(recording, kLanes, false, mark);
    REQUIRE(Await([&] {
      return session.mutators().walkers().batches_read() + session.mutators().walkers().batches_refused() != 0;
    }));
    CHECK(session.mutators().walkers().batches_refused() == 1);
    CHECK(session.mutators().walkers().batches_read() == 0);
    FakeVm::SetMark(marked, stretches.before);
    stretches.Report(recording, kLanes);  // the thread reads both
    const ReadTrace trace = recording.End();
    CHECK(trace.losses == 0);
    REQUIRE(trace.objects.size() == 3 * kLanes);
    for (size_t i = 0; i < trace.objects.size(); i++) {
      CHECK(trace.objects[i].address == vm.heap() + 24 * i);
      CHECK(trace.objects[i].site == 30 + i % kLanes);
    }
  }
}

TEST_CASE(
    "a reader leaves an object whose header is on the stack of a lock's owner to the thread that made it") {
  FakeVm vm;
  Recording recording(vm, {.walkers = 2, .walker_waited = &NeverWaited});
  const Session& session = recording.session();
  Stretches stretches(vm);
  stretches.Report(recording, kLanes, true);  // from now on its site-class pairs are known
  FakeLock lock;
  lock.header.store(uint64_t{31} << ANTTRACKS_SITE_SHIFT | 1);  // of another object by now, as known as its own
  const uint64_t locked = stretches.Report(recording, kLanes, false, reinterpret_cast<uint64_t>(&lock));
  REQUIRE(Await([&] {
    return session.mutators().walkers().batches_read() + session.mutators().walkers().batches_refused() != 0;
  }));
  CHECK(session.mutators().walkers().batches_refused() == 1);
  FakeVm::SetMark(locked, stretches.before);
  stretches.Report(recording, kLanes);
  const ReadTrace trace = recording.End();
  REQUIRE(trace.objects.size() == 3 * kLanes);
  for (size_t i = 0; i < trace.objects.size(); i++) CHECK(trace.objects[i].site == 30 + i % kLanes);
}

TEST_CASE("a walk of the heap waits for an object that a heap walk of JVM TI has marked") {
  FakeVm vm;
  Recording recording(vm);
  Background& background = recording.session().background();
  std::thread thread([&] {
    const KnownThread known;
    background.Loop(vm.vm());
  });
  uint64_t top = vm.heap();
  for (uint32_t i = 0; i < 50; i++) top = vm.Put(top, FakeVm::kPoint, 30 + i);
  const AntTracksSpace old{ANTTRACKS_SPACE_OLD, 0, vm.heap(), top, top};
  AntTracksGC gc{};
  gc.cause = "test";
  gc.spaces = &old;
  gc.nspaces = 1;
  const uint64_t marked = vm.heap() + uint64_t{10} * 24;
  const uint64_t before = FakeVm::SetMark(marked, FakeVm::kMarked);
  recording.session().WantSyncPoint();
  recording.callbacks().gc_begin(recording.context(), &gc);
  recording.callbacks().gc_end(recording.context(), &gc);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that it mostly gets there
  CHECK(background.busy());
  FakeVm::SetMark(marked, before);
  background.WaitIdle();
  background.Stop();
  thread.join();
  const ReadTrace trace = recording.End();
  REQUIRE(trace.sync_objects.size() == 50);
  for (uint32_t i = 0; i < 50; i++) CHECK(trace.sync_objects[i].site == 30 + i);
}

// An object that is there for others to lock. Who is in it has it alone: a lock's holder, or a heap walk.
struct Lockable {
  std::atomic<uint64_t> at{0};
  std::atomic_flag taken;
  FakeLock lock, monitor;
};

constexpr uint64_t kTlabBytes = 2048;
constexpr size_t kObjects = 4000;

// Fills a part of the heap, TLAB by TLAB.
struct Owner {
  Owner(FakeVm& fake, uintptr_t id, uint64_t start) : vm(fake), thread(id), at(start), objects(kObjects) {}

  void Run(Recording& recording) {
    const KnownThread known;
    std::minstd_rand random(static_cast<unsigned>(thread));
    for (size_t i = 0; i < kObjects;) {
      const uint64_t start = at;
      while (at < start + kTlabBytes && i < kObjects) {
        const uint32_t site = 16 + random() % 60;
        expected.push_back({0, at, "Point", site, 0, false});
        const uint64_t object = std::exchange(at, vm.Put(at, FakeVm::kPoint, site));
        objects[i++].at.store(object, std::memory_order_release);
      }
      recording.Tlab(thread, &slot, start, at);
      // Walkers stay out while no processor is idle. One of them is to read something, too.
      if (recording.session().mutators().walkers().batches_read() == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  FakeVm& vm;
  const uintptr_t thread;
  uint64_t at;
  void* slot = nullptr;
  std::vector<Lockable> objects;
  std::vector<ReadObject> expected;
};

// What becomes of a lock; ends as it began. False: somebody else was there.
bool Use(Lockable& object, uint64_t at, unsigned how) {
  const auto dwell = [how] {
    for (unsigned i = 0; i < how / 8 % 64; i++) std::atomic_signal_fence(std::memory_order_seq_cst);
  };
  if (how % 8 == 0) {
    const uint64_t before = FakeVm::SetMark(at, FakeVm::kMarked);
    dwell();
    return FakeVm::SetMark(at, before) == FakeVm::kMarked;
  }
  const bool locks = how % 8 < 5;
  if (locks && !FakeVm::StackLock(at, &object.lock)) return false;
  dwell();
  if (how % 8 < 3) return FakeVm::StackUnlock(at, &object.lock);
  const bool inflated = FakeVm::Inflate(at, &object.monitor);
  object.lock.header = 0;
  dwell();
  return inflated && FakeVm::Deflate(at, &object.monitor);
}

// How often it went wrong.
uint64_t LockAndUnlock(std::vector<std::unique_ptr<Owner>>& owners, unsigned seed,
                       const std::atomic<bool>& stop) {
  std::minstd_rand random(seed);
  uint64_t wrong = 0;
  while (!stop) {
    std::vector<Lockable>& objects = owners[random() % owners.size()]->objects;
    Lockable& object = objects[random() % objects.size()];
    const uint64_t at = object.at.load(std::memory_order_acquire);
    if (at == 0 || object.taken.test_and_set(std::memory_order_acquire)) continue;
    wrong += !Use(object, at, static_cast<unsigned>(random() >> 4));
    object.taken.clear(std::memory_order_release);
  }
  return wrong;
}

TEST_CASE("whatever locks do to headers meanwhile, every object comes out once, with its site") {
  const KnownThread known;
  FakeVm vm(true, 1 << 16);
  Recording recording(vm, {.walkers = 2, .walker_waited = &NeverWaited});
  std::vector<std::unique_ptr<Owner>> owners;
  for (uintptr_t i = 0; i < 2; i++)
    owners.push_back(std::make_unique<Owner>(vm, i + 1, vm.heap() + i * (256 << 10)));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> lockers, threads;
  for (unsigned i = 0; i < 2; i++)
    lockers.emplace_back([&, i] { wrong += LockAndUnlock(owners, i + 5, stop); });
  for (auto& owner : owners) threads.emplace_back([&] { owner->Run(recording); });
  for (std::thread& thread : threads) thread.join();
  const Walkers& walkers = recording.session().mutators().walkers();
  for (int i = 0; i < 20'000 && walkers.batches_read() == 0; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(walkers.batches_read() != 0);
  const uint64_t refused = recording.session().mutators().walkers().batches_refused();
  ReadTrace trace = recording.End();
  stop = true;
  for (std::thread& locker : lockers) locker.join();
  MESSAGE(recording.session().mutators().walkers().batches_read()
          << " batches read by walkers, " << refused << " refused");
  CHECK(wrong == 0);
  CHECK(trace.losses == 0);
  std::vector<ReadObject> expected;
  for (const auto& owner : owners)
    expected.insert(expected.end(), owner->expected.begin(), owner->expected.end());
  for (ReadObject& object : trace.objects) object.stream = 0;
  const auto by_address = [](const ReadObject& a, const ReadObject& b) { return a.address < b.address; };
  std::sort(trace.objects.begin(), trace.objects.end(), by_address);
  std::sort(expected.begin(), expected.end(), by_address);
  CHECK(trace.objects == expected);
}

}  // namespace
}  // namespace anttracks::core
