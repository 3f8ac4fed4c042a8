// SPDX-License-Identifier: Apache-2.0
// TLABs that the agent's own threads read instead of those that filled them.
#include "agent/full/walkers.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <optional>
#include <random>
#include <thread>

#include "agent/full/read_pace.h"
#include "agent/full/run_delay.h"
#include "tests/unit/agent/failing_memory.h"
#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

constexpr uint64_t kTlabBytes = 2048;

TEST_CASE("a few slow bytes do not make walkers take less, many do") {
  ReadPace pace;
  const uint64_t before = pace.BytesIn(1'000'000);
  pace.Add(500'000, 96);
  CHECK(pace.BytesIn(1'000'000) > before / 3);
  for (int i = 0; i < 100; i++) pace.Add(64'000, 64 << 10);
  const uint64_t slow = pace.BytesIn(1'000'000);
  CHECK(slow < before / 3);
  CHECK(slow > (1 << 20) * 9 / 10);
  for (int i = 0; i < 100; i++) pace.Add(6'400, 64 << 10);
  CHECK(pace.BytesIn(1'000'000) > before);
}

bool ByAddress(const ReadObject& a, const ReadObject& b) { return a.address < b.address; }

// A part of the heap that one thread fills, TLAB by TLAB.
struct Allocator {
  Allocator(FakeVm& fake, uintptr_t id, uint64_t start, uint64_t bytes)
      : vm(fake), thread(id), at(start), end(start + bytes) {}

  // Objects of a TLAB, every so often a locked one, one outside.
  void Run(Recording& recording) {
    for (uint32_t tlab = 0; at + 2 * kTlabBytes < end; tlab++) {
      const uint64_t start = at;
      while (at < start + kTlabBytes) {
        const uint32_t site = 16 + random() % 60;
        if (random() % 200 == 0) {
          Expect("Point", site, 0, false);
          at = vm.PutLocked(at, FakeVm::kPoint, site);
        } else if (random() % 4 == 0) {
          Expect("int[]", site, random() % 9, false);
          at = vm.Put(at, FakeVm::kInts, site, expected.back().length);
        } else {
          Expect("Point", site, 0, false);
          at = vm.Put(at, FakeVm::kPoint, site);
        }
      }
      recording.Tlab(thread, &slot, start, at);
      if (tlab % 5 != 0) continue;
      Expect("int[]", 17, 3, true);
      const uint64_t address = at;
      at = vm.Put(at, FakeVm::kInts, 17, 3);
      recording.callbacks().object(recording.context(), reinterpret_cast<void*>(thread), &slot, address);
    }
  }

  void Expect(const char* name, uint32_t site, uint32_t length, bool outside) {
    expected.push_back({0, at, name, site, length, outside});
  }

  FakeVm& vm;
  uintptr_t thread;
  uint64_t at, end;
  void* slot = nullptr;
  std::minstd_rand random{static_cast<unsigned>(thread)};
  std::vector<ReadObject> expected;
};

void CheckAll(std::vector<ReadObject> found, const std::vector<Allocator>& allocators) {
  std::vector<ReadObject> expected;
  for (const Allocator& allocator : allocators)
    expected.insert(expected.end(), allocator.expected.begin(), allocator.expected.end());
  for (ReadObject& object : found) object.stream = 0;
  std::sort(found.begin(), found.end(), ByAddress);
  std::sort(expected.begin(), expected.end(), ByAddress);
  REQUIRE(found.size() == expected.size());
  CHECK(found == expected);
}

std::vector<Allocator> FourParts(FakeVm& vm) {
  const uint64_t bytes = (vm.heap_end() - vm.heap()) / 4;
  std::vector<Allocator> allocators;
  for (uintptr_t i = 0; i < 4; i++) allocators.emplace_back(vm, i + 1, vm.heap() + i * bytes, bytes);
  return allocators;
}

TEST_CASE("where there is no memory for walkers none is left behind, nor a blocked signal") {
  Walkers walkers([](ThreadState&, const Batch&) { return true; }, [] { return true; }, &NeverWaited);
  bool thrown = false;
  {
    const FailingMemory none(0);
    try {
      walkers.Start(2);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
  }
  sigset_t blocked;
  REQUIRE(pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0);
  CHECK(thrown);
  CHECK_FALSE(walkers.any());
  CHECK(sigismember(&blocked, SIGTERM) == 0);
}

TEST_CASE("whoever reads what threads have allocated, every object is in the trace once") {
  for (const unsigned walkers : {1u, 3u}) {
    CAPTURE(walkers);
    FakeVm vm(true, 1 << 18);
    Recording recording(vm, {.walkers = walkers, .walker_waited = &NeverWaited});
    std::vector<Allocator> allocators = FourParts(vm);
    std::vector<std::thread> threads;
    for (Allocator& allocator : allocators) threads.emplace_back([&] { allocator.Run(recording); });
    for (std::thread& thread : threads) thread.join();
    // So that at least one batch is there for a reader that was slow to start.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (recording.session().mutators().walkers().batches_read() == 0 &&
           std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
    CHECK(recording.session().mutators().walkers().batches_read() > 0);
    const ReadTrace trace = recording.End();
    CHECK(trace.losses == 0);
    CheckAll(trace.objects, allocators);
  }
}

TEST_CASE("threads that end leave nothing behind for the walkers") {
  FakeVm vm(true, 1 << 18);
  Recording recording(vm, {.walkers = 2, .walker_waited = &NeverWaited});
  std::vector<Allocator> allocators = FourParts(vm);
  std::vector<std::thread> threads;
  for (Allocator& allocator : allocators) {
    threads.emplace_back([&] {
      allocator.Run(recording);
      recording.callbacks().thread_exit(recording.context(), reinterpret_cast<void*>(allocator.thread),
                                        &allocator.slot);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CheckAll(recording.End().objects, allocators);
}

TEST_CASE("a collection finds everything read that was reported before") {
  FakeVm vm(true, 1 << 18);
  Recording recording(vm, {.walkers = 1, .walker_waited = &NeverWaited});
  std::vector<Allocator> allocators = FourParts(vm);
  for (Allocator& allocator : allocators) allocator.Run(recording);
  AntTracksGC gc{};
  gc.cause = "test";
  recording.callbacks().gc_begin(recording.context(), &gc);
  recording.callbacks().gc_end(recording.context(), &gc);
  const ReadTrace trace = recording.End();
  const auto begin = std::find_if(trace.segments.begin(), trace.segments.end(), [](const ReadSegment& segment) {
    return segment.kind == trace::SegmentKind::kGcBegin;
  });
  REQUIRE(begin != trace.segments.end());
  CHECK(std::none_of(begin, trace.segments.end(),
                     [](const ReadSegment& segment) { return segment.kind == trace::SegmentKind::kAlloc; }));
  CheckAll(trace.objects, allocators);
}

TEST_CASE("walkers stay out for a while when threads have to wait for a processor, and nothing is lost") {
  FakeVm vm(true, 1 << 18);
  std::atomic<int> asked{0};
  Recording recording(vm, {.walkers = 1, .walker_waited = [&asked](ThreadState&) {
                             asked++;
                             return 0.5;
                           }});
  std::vector<Allocator> allocators = FourParts(vm);
  for (Allocator& allocator : allocators) allocator.Run(recording);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (recording.session().mutators().walkers().rests() == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  CHECK(recording.session().mutators().walkers().rests() != 0);
  CHECK(recording.session().mutators().walkers().batches_read() +
            recording.session().mutators().walkers().batches_refused() >=
        16);  // between two looks
  CHECK(asked >= 1);
  const ReadTrace trace = recording.End();
  CHECK(trace.losses == 0);
  CheckAll(trace.objects, allocators);
}

TEST_CASE("a thread's delay is the part of its time in which it waited for a processor") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE; i++) {
    if (CPU_COUNT(&one) == 0 && CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  std::atomic<bool> stop{false};
  // Two threads that never sleep, on one processor.
  std::atomic<pid_t> measured{0};
  const auto spin = [&] {
    sched_setaffinity(0, sizeof one, &one);
    measured = gettid();
    while (!stop) {
    }
  };
  std::thread first(spin), second(spin);
  while (measured == 0) std::this_thread::yield();
  RunDelay delay, fresh;
  (void)delay.Share(measured);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto asked = std::chrono::steady_clock::now();
  const std::optional<double> share = delay.Share(measured);
  REQUIRE(share.has_value());
  CHECK(*share > 0.1);
  CHECK(*share <= 1);
  const std::optional<double> again = delay.Share(measured);
  // Too short a time, unless this thread had to wait between the two.
  const bool soon = std::chrono::steady_clock::now() - asked < std::chrono::nanoseconds(RunDelay::kLeastNs);
  CHECK((!soon || !again));
  CHECK(fresh.Share(measured).value_or(0) > 0.1);
  stop = true;
  first.join();
  second.join();
  // The thread is gone; it may be listed a moment longer.
  for (int i = 0; i < 5000 && fresh.Share(measured) != 0.0; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(fresh.Share(measured) == 0.0);
  CHECK(fresh.Share(0) == 0.0);
}

// Whether a thread other than this one asks the VM about a class. One at a time.
class Asked {
 public:
  explicit Asked(FakeVm& vm) {
    owner_ = std::this_thread::get_id();
    by_other_ = false;
    describe_ = vm.vm().describe_class;
    vm.vm().describe_class = [](uint64_t klass, AntTracksClass* out, char* text, size_t bytes) {
      if (std::this_thread::get_id() != owner_) by_other_ = true;
      return describe_(klass, out, text, bytes);
    };
  }
  bool by_other() const { return by_other_; }

 private:
  static inline std::thread::id owner_;
  static inline std::atomic<bool> by_other_{false};
  static inline int32_t (*describe_)(uint64_t, AntTracksClass*, char*, size_t) = nullptr;
};

// Until walkers have done something with a batch; the caller's checks fail if they never do.
void AwaitBatch(const Walkers& walkers) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (walkers.batches_read() + walkers.batches_refused() == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
}

TEST_CASE("walkers ask the VM for nothing: what is new stays with its thread") {
  FakeVm vm(true, 1 << 18);
  const Asked asked(vm);
  Recording recording(vm, {.walkers = 2, .walker_waited = &NeverWaited});
  // One batch, of site-class pairs that nobody has seen.
  uint64_t at = vm.heap();
  void* slot = nullptr;
  for (uint32_t i = 0; i < kLanes; i++) {
    const uint64_t start = at;
    at = vm.Put(at, FakeVm::kPoint, 30 + i);
    recording.Tlab(1, &slot, start, at);
  }
  const Walkers& walkers = recording.session().mutators().walkers();
  AwaitBatch(walkers);
  CHECK(walkers.batches_refused() == 1);
  CHECK(walkers.batches_read() == 0);
  CHECK(recording.End().objects.size() == kLanes);
  CHECK_FALSE(asked.by_other());
}

TEST_CASE("walkers leave a stretch that is longer than a run to its thread, and its objects are written once") {
  constexpr uint32_t kLongBytes = 5 << 20;
  FakeVm vm(true, (kLongBytes + (64 << 10)) / 8);
  const Asked asked(vm);
  Recording recording(vm, {.walkers = 1, .walker_waited = &NeverWaited});
  Walkers& walkers = recording.session().mutators().walkers();
  // Walkers take much from a program whose objects are read fast.
  for (int i = 0; i < 200; i++) walkers.pace().Add(1, 64 << 10);
  REQUIRE(walkers.pace().BytesIn(ReadPace::kMostGivenNs) > kLongBytes);
  uint64_t at = vm.heap();
  void* slot = nullptr;
  for (uint32_t i = 0; i < kLanes; i++) {
    const uint64_t start = at;
    at = vm.Put(at, FakeVm::kInts, 30 + i, i == 0 ? kLongBytes / 4 : 1);
    recording.Tlab(1, &slot, start, at);
  }
  AwaitBatch(walkers);
  CHECK(walkers.batches_refused() == 1);
  CHECK(walkers.batches_read() == 0);
  CHECK(recording.End().objects.size() == kLanes);
  CHECK_FALSE(asked.by_other());
}

}  // namespace
}  // namespace anttracks::core
