// SPDX-License-Identifier: Apache-2.0
// Many threads at once, with collections between, as a JVM would: at a safepoint no thread is in a callback.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <shared_mutex>
#include <thread>

#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

constexpr int kThreads = 8;
constexpr int kRounds = 60;
constexpr uint32_t kObjects = 400;

constexpr uint64_t kPart = 65536 / 8 * 8, kStretches = kLanes + 1;

// One thread's life: its own part of the heap, over and over. A stretch is read when kLanes are pending: then
// its memory may be used again.
void Mutate(FakeVm& vm, Recording& recording, std::shared_mutex& safepoint, uintptr_t id) {
  const uint64_t part = vm.heap() + id * kPart;
  void* slot = nullptr;
  for (int round = 0; round < kRounds; round++) {
    const std::shared_lock in_vm(safepoint);
    const uint64_t start = part + static_cast<uint64_t>(round) % kStretches * (kPart / kStretches / 8 * 8);
    uint64_t at = start;
    for (uint32_t i = 0; i < kObjects; i++) {
      at = vm.Put(at, i % 3 == 0 ? FakeVm::kInts : FakeVm::kPoint,
                  static_cast<uint32_t>(16 + (i * 31 + id * 7 + static_cast<uint32_t>(round)) % 80), i % 4);
    }
    recording.Tlab(id + 1, &slot, start, at);
  }
  const std::shared_lock in_vm(safepoint);
  recording.callbacks().thread_exit(recording.context(), reinterpret_cast<void*>(id + 1), &slot);
}

void Collect(Recording& recording, std::shared_mutex& safepoint, uint32_t id) {
  const std::unique_lock stopped(safepoint);
  AntTracksGC gc{};
  gc.size = sizeof gc;
  gc.id = id;
  gc.cause = "test";
  recording.callbacks().gc_begin(recording.context(), &gc);
  std::vector<std::thread> workers;
  for (uint32_t worker = 0; worker < 2; worker++) {
    workers.emplace_back([&recording, worker] {
      const AntTracksMove move{64 * (worker + 1), 128, 2};
      recording.callbacks().moves(recording.context(), worker, &move, 1);
    });
  }
  for (std::thread& worker : workers) worker.join();
  recording.callbacks().gc_end(recording.context(), &gc);
}

TEST_CASE("what many threads have not read yet is bounded over all of them, as the next pause has to read it") {
  constexpr uint64_t kStretch = 60'000, kMany = 400;
  FakeVm vm;
  Recording recording(vm, {.queue_bytes = 64 << 20});
  uint64_t top = vm.heap();
  while (top - vm.heap() < kStretch) top = vm.Put(top, FakeVm::kPoint, 16);
  std::vector<void*> slots(kMany);
  for (uint64_t i = 0; i < kMany; i++) recording.Tlab(i + 1, &slots[i], vm.heap(), top);
  const auto counters = nlohmann::json::parse(recording.session().CountersJson());
  const uint64_t bytes = kMany * (top - vm.heap());
  CHECK(counters["bytes"].get<uint64_t>() + (9 << 20) > bytes);
  CHECK(recording.End().objects.size() == bytes / 24);
}

TEST_CASE("a thread's stretches wait for each other, four at most") {
  FakeVm vm;
  Recording recording(vm);
  const uint64_t top = vm.Put(vm.heap(), FakeVm::kPoint, 16);
  void* slot = nullptr;
  const auto objects = [&] {
    return nlohmann::json::parse(recording.session().CountersJson())["objects"].get<int>();
  };
  for (int i = 1; i < 4; i++) recording.Tlab(1, &slot, vm.heap(), top);
  CHECK(objects() == 0);
  recording.Tlab(1, &slot, vm.heap(), top);
  CHECK(objects() == 4);
}

TEST_CASE("no object of any thread is lost or doubled between collections") {
  FakeVm vm(true, kThreads * kPart / 8);
  Recording recording(vm, {.buffer_bytes = 1024, .queue_bytes = 64 << 10});
  std::shared_mutex safepoint;
  std::vector<std::thread> threads;
  for (uintptr_t id = 0; id < kThreads; id++) {
    threads.emplace_back([&, id] { Mutate(vm, recording, safepoint, id); });
  }
  for (uint32_t id = 0; id < 20; id++) Collect(recording, safepoint, id);
  for (std::thread& thread : threads) thread.join();
  const ReadTrace trace = recording.End();
  CHECK(trace.losses == 0);
  CHECK(trace.Count(trace::SegmentKind::kThreadEnd) == kThreads);
  CHECK(trace.Count(trace::SegmentKind::kMoves) == 40);
  REQUIRE(trace.objects.size() == size_t{kThreads} * kRounds * kObjects);
  std::map<uint64_t, uint32_t> seen;  // by stream
  for (const ReadObject& object : trace.objects) {
    const uint32_t i = seen[object.stream]++;
    const uintptr_t thread = std::stoul(trace.threads.at(static_cast<uint32_t>(object.stream)).substr(7)) - 1;
    REQUIRE(object.site == 16 + (i % kObjects * 31 + thread * 7 + i / kObjects) % 80);
    REQUIRE(object.class_name == (i % kObjects % 3 == 0 ? "int[]" : "Point"));
  }
}

}  // namespace
}  // namespace anttracks::core
