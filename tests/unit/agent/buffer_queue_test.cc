// SPDX-License-Identifier: Apache-2.0
#include "agent/stream/buffer_queue.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/agent/failing_memory.h"
#include "trace/events.h"

namespace anttracks::core {
namespace {

using std::chrono::milliseconds;

constexpr size_t kBuffer = 1024;
constexpr size_t kMemory = kBuffer + sizeof(Buffer);

// Four buffers.
constexpr QueueConfig kSmall{
    .buffer_bytes = kBuffer, .bound_bytes = 4 * kMemory, .wait_limit = milliseconds(30)};

QueueConfig WaitingLong() {
  QueueConfig config = kSmall;
  config.wait_limit = std::chrono::seconds(20);
  return config;
}

// Until a thread waits for room; the caller's checks fail if none ever does.
void AwaitWaiter(const BufferQueue& queue) {
  for (int i = 0; i < 5000 && queue.waits() == 0; i++) std::this_thread::sleep_for(milliseconds(1));
}

struct Queue {
  explicit Queue(const QueueConfig& config = kSmall) : queue(clock, config) {}
  Clock clock;
  BufferQueue queue;

  Buffer* Filled(uint64_t stream) {
    Buffer* buffer = queue.Acquire();
    buffer->kind = 1;
    buffer->stream = stream;
    buffer->used = 10;
    return buffer;
  }
  // Streams in order, LOSS as 999; everything is recycled.
  std::vector<uint64_t> PopAll() {
    std::vector<uint64_t> streams;
    while (Buffer* list = queue.Pop(milliseconds(0))) {
      for (Buffer* b = list; b != nullptr; b = b->next) {
        const bool loss = b->kind == 0 && b->used != 0 && b->data()[0] == 13;
        streams.push_back(loss ? 999 : b->stream);
      }
      queue.Recycle(list);
    }
    return streams;
  }
};

TEST_CASE("buffers come out in the order in which they went in") {
  Queue q;
  for (uint64_t i = 0; i < 4; i++) CHECK(q.queue.Push(q.Filled(i), PushMode::kBounded));
  CHECK(q.PopAll() == std::vector<uint64_t>{0, 1, 2, 3});
  CHECK(q.queue.Pop(milliseconds(1)) == nullptr);
}

TEST_CASE("a full queue drops after the time, says so where it was, and goes on") {
  Queue q;
  for (uint64_t i = 0; i < 4; i++) CHECK(q.queue.Push(q.Filled(i), PushMode::kBounded));
  const uint64_t before = Clock::Monotonic();
  CHECK_FALSE(q.queue.Push(q.Filled(4), PushMode::kBounded));
  CHECK(Clock::Monotonic() - before >= 25'000'000);
  CHECK_FALSE(q.queue.Push(q.Filled(5), PushMode::kBounded));  // at once: the queue is stalled
  CHECK(q.queue.Push(q.Filled(6), PushMode::kForce));
  CHECK(q.queue.lost_segments() == 2);
  CHECK(q.queue.lost_bytes() == 20);
  CHECK(q.PopAll() == std::vector<uint64_t>{0, 1, 2, 3, 999, 6});
  CHECK(q.queue.Push(q.Filled(7), PushMode::kBounded));
  CHECK(q.PopAll() == std::vector<uint64_t>{7});
}

TEST_CASE("frames go in beyond the bound, until the queue overflows") {
  Queue q;
  constexpr size_t kMegabyte = 1 << 20;
  const std::vector<uint8_t> frame(kMegabyte);
  size_t pushed = 0;
  while (pushed < 100 && q.queue.PushSegments(frame, PushMode::kForce)) pushed++;
  CHECK(pushed == 64);  // more than four times this queue's bound
  CHECK(q.queue.overflows());
  CHECK_FALSE(q.queue.PushMark(core::kNextFile));
  q.PopAll();
  CHECK_FALSE(q.queue.overflows());
  CHECK(q.queue.PushSegments(frame, PushMode::kForce));
}

TEST_CASE("a stall that lasts over a sync point is told before it and after it") {
  Queue q;
  for (uint64_t i = 0; i < 4; i++) CHECK(q.queue.Push(q.Filled(i), PushMode::kBounded));
  CHECK_FALSE(q.queue.Push(q.Filled(4), PushMode::kBounded));
  CHECK(q.queue.TellLoss());
  CHECK(q.queue.Push(q.Filled(5), PushMode::kForce));  // the sync point
  CHECK_FALSE(q.queue.Push(q.Filled(6), PushMode::kBounded));
  CHECK(q.PopAll() == std::vector<uint64_t>{0, 1, 2, 3, 999, 5, 999});
  CHECK(q.queue.TellLoss());
  CHECK(q.PopAll().empty());
}

TEST_CASE("a LOSS for which there is no memory does not stop the writer, and follows later") {
  Queue q;
  for (uint64_t i = 0; i < 4; i++) REQUIRE(q.queue.Push(q.Filled(i), PushMode::kBounded));
  CHECK_FALSE(q.queue.Push(q.Filled(4), PushMode::kBounded));
  Buffer* first = nullptr;
  bool told = true, failed = false;
  {
    const FailingMemory none(0);
    first = q.queue.Pop(milliseconds(0));
    told = q.queue.TellLoss();
    failed = none.failed();
  }
  CHECK(failed);
  CHECK_FALSE(told);
  REQUIRE(first != nullptr);
  CHECK(first->stream == 0);
  q.queue.Recycle(first);
  CHECK(q.PopAll() == std::vector<uint64_t>{1, 2, 3, 999});
}

TEST_CASE("a waiting thread goes on as soon as there is room") {
  Clock clock;
  BufferQueue queue(clock, WaitingLong());
  for (int i = 0; i < 4; i++) CHECK(queue.Push(queue.Acquire(), PushMode::kBounded));
  bool queued = false;
  std::thread waiter([&] { queued = queue.Push(queue.Acquire(), PushMode::kBounded); });
  AwaitWaiter(queue);
  queue.Recycle(queue.Pop(milliseconds(0)));
  waiter.join();
  CHECK(queued);
  CHECK(queue.blocked_ns() > 0);
  CHECK(queue.lost_segments() == 0);
}

TEST_CASE("when the end comes everything is let in, and who waits goes on") {
  Queue q(WaitingLong());
  for (uint64_t i = 0; i < 4; i++) REQUIRE(q.queue.Push(q.Filled(i), PushMode::kBounded));
  bool queued = false;
  std::thread waiting([&] { queued = q.queue.Push(q.Filled(4), PushMode::kBounded); });
  AwaitWaiter(q.queue);
  const auto begin = std::chrono::steady_clock::now();
  q.queue.AdmitAll();
  waiting.join();
  CHECK(queued);
  for (uint64_t i = 5; i < 12; i++)
    CHECK(q.queue.Push(q.Filled(i), i % 2 == 0 ? PushMode::kTry : PushMode::kBounded));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(15));  // less than one wait
  CHECK(q.PopAll() == std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(q.queue.lost_segments() == 0);
}

TEST_CASE("what was dropped before the end was let in is told at its place") {
  Queue q;
  for (uint64_t i = 0; i < 4; i++) REQUIRE(q.queue.Push(q.Filled(i), PushMode::kBounded));
  CHECK_FALSE(q.queue.Push(q.Filled(4), PushMode::kBounded));
  q.queue.AdmitAll();
  CHECK(q.queue.Push(q.Filled(5), PushMode::kBounded));
  CHECK(q.PopAll() == std::vector<uint64_t>{0, 1, 2, 3, 999, 5});
}

TEST_CASE("a discarded queue takes everything, keeps nothing and lets waiters go") {
  Clock clock;
  BufferQueue queue(clock, WaitingLong());
  for (int i = 0; i < 4; i++) CHECK(queue.Push(queue.Acquire(), PushMode::kBounded));
  bool queued = true;
  std::thread waiter([&] { queued = queue.Push(queue.Acquire(), PushMode::kBounded); });
  AwaitWaiter(queue);
  queue.Discard();
  waiter.join();
  CHECK_FALSE(queued);
  CHECK(queue.waits() == 1);
  CHECK(queue.Pop(milliseconds(0)) == nullptr);
  CHECK_FALSE(queue.Push(queue.Acquire(), PushMode::kForce));
  CHECK(queue.lost_segments() == 0);
}

TEST_CASE("the pool gives back what was recycled, clean") {
  Queue q;
  Buffer* first = q.Filled(3);
  q.queue.Release(first);
  Buffer* second = q.queue.Acquire();
  CHECK(second == first);
  CHECK(second->stream == 0);
  CHECK(second->used == 0);
  CHECK(second->size == kBuffer);
  CHECK(q.queue.allocated_buffers() == 1);
  q.queue.Release(second);
}

TEST_CASE("buffers vary in capacity by the fuzz and no more, the same way in every queue") {
  QueueConfig config = kSmall;
  config.fuzz = 0.25;
  Queue q(config), same(config);
  std::set<uint32_t> capacities;
  for (int i = 0; i < 500; i++) {
    Buffer* buffer = q.queue.Acquire();
    Buffer* twin = same.queue.Acquire();
    CHECK(buffer->capacity >= 768);
    CHECK(buffer->capacity <= 1024);
    CHECK(buffer->capacity == twin->capacity);
    CHECK(buffer->size == kBuffer);
    capacities.insert(buffer->capacity);
    q.queue.Release(buffer);  // the next one is the same memory
    same.queue.Release(twin);
  }
  CHECK(capacities.size() > 150);
  CHECK(*capacities.begin() < 784);
  CHECK(*capacities.rbegin() > 1008);
  CHECK(q.queue.allocated_buffers() == 1);
}

TEST_CASE("without fuzz all buffers have one capacity") {
  QueueConfig config = kSmall;
  config.fuzz = 0;
  Queue q(config);
  for (int i = 0; i < 50; i++) {
    Buffer* buffer = q.queue.Acquire();
    CHECK(buffer->capacity == kBuffer);
    q.queue.Release(buffer);
  }
}

TEST_CASE("on-overflow=drop does not wait; the first sync point may use twice the bound then") {
  QueueConfig config = WaitingLong();
  config.when_full = WhenFull::kDrop;
  Queue q(config);
  for (uint64_t i = 0; i < 4; i++) CHECK(q.queue.Push(q.Filled(i), PushMode::kBounded));
  const uint64_t before = Clock::Monotonic();
  CHECK_FALSE(q.queue.Push(q.Filled(4), PushMode::kBounded));
  CHECK(q.queue.lost_segments() == 1);
  CHECK(q.PopAll() == std::vector<uint64_t>{0, 1, 2, 3, 999});

  for (uint64_t i = 0; i < 8; i++) CHECK(q.queue.Push(q.Filled(i), PushMode::kWait));
  CHECK_FALSE(q.queue.Push(q.Filled(8), PushMode::kWait));
  CHECK(Clock::Monotonic() - before < 10'000'000'000);
  CHECK(q.queue.waits() == 0);
  CHECK(q.queue.lost_segments() == 1);
  CHECK(q.PopAll() == std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("who has used up his budget goes in without waiting, up to twice the bound") {
  Queue q(WaitingLong());
  WaitBudget budget(milliseconds(20));
  const uint64_t before = Clock::Monotonic();
  for (uint64_t i = 0; i < 8; i++) CHECK(q.queue.Push(q.Filled(i), PushMode::kBounded, &budget));
  CHECK_FALSE(q.queue.Push(q.Filled(8), PushMode::kBounded, &budget));
  CHECK_FALSE(q.queue.Push(q.Filled(9), PushMode::kBounded));  // at once: the queue is stalled
  CHECK(Clock::Monotonic() - before >= 15'000'000);
  CHECK(Clock::Monotonic() - before < 10'000'000'000);
  CHECK(q.queue.waits() == 1);
  CHECK(q.PopAll() == std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 999});
}

TEST_CASE(
    "when threads have waited and the writer took nothing for the limit nobody waits or goes in beyond the "
    "bound") {
  Queue q;  // 30 ms
  WaitBudget budget(std::chrono::seconds(20));
  for (uint64_t i = 0; i < 4; i++) CHECK(q.queue.Push(q.Filled(i), PushMode::kBounded, &budget));
  const uint64_t before = Clock::Monotonic();
  CHECK_FALSE(q.queue.Push(q.Filled(4), PushMode::kBounded, &budget));
  CHECK(Clock::Monotonic() - before < 10'000'000'000);
  CHECK_FALSE(q.queue.Push(q.Filled(5), PushMode::kBounded, &budget));
  CHECK(q.queue.waits() == 1);
  CHECK(q.PopAll() == std::vector<uint64_t>{0, 1, 2, 3, 999});
  for (uint64_t i = 0; i < 4; i++) CHECK(q.queue.Push(q.Filled(i), PushMode::kBounded, &budget));
  CHECK_FALSE(q.queue.Push(q.Filled(4), PushMode::kBounded, &budget));
  CHECK(q.queue.waits() == 2);  // it had gone on
}

// A writer that sleeps until it is woken.
struct Sleeper {
  explicit Sleeper(Queue& q) : queue(q.queue), thread([this] { Sleep(); }) {
    for (int i = 0; i < 5000 && !sleeps(); i++) std::this_thread::sleep_for(milliseconds(1));
  }
  ~Sleeper() { queue.Recycle(taken); }
  void Sleep() {
    id = gettid();
    taken = queue.Pop(std::chrono::seconds(20));
  }
  // By the kernel's word for it, the third of the line.
  bool sleeps() const {
    std::ifstream stat("/proc/self/task/" + std::to_string(id) + "/stat");
    std::string number, name, state;
    stat >> number >> name >> state;
    return state == "S";
  }
  BufferQueue& queue;
  std::atomic<Buffer*> taken{nullptr};
  std::atomic<pid_t> id{0};
  std::thread thread;
};

TEST_CASE("what is pushed in a pause wakes the writer only when the queue fills; else the next thread does") {
  QueueConfig config = kSmall;
  config.bound_bytes = 16 * kMemory;
  Queue q(config);
  for (const PushMode third : {PushMode::kBounded, PushMode::kNoWait, PushMode::kTry}) {
    const bool fills = third == PushMode::kTry;
    Sleeper writer(q);
    Buffer* const frame = q.Filled(0);
    frame->flush = true;
    CHECK(q.queue.Push(frame, PushMode::kForce));
    CHECK(q.queue.Push(q.Filled(1), PushMode::kTry));
    std::this_thread::sleep_for(milliseconds(50));
    CHECK(writer.taken == nullptr);
    CHECK(q.queue.Push(q.Filled(2), third));
    if (fills) CHECK(q.queue.Push(q.Filled(3), PushMode::kTry));  // a quarter of the bound
    const auto begin = std::chrono::steady_clock::now();
    writer.thread.join();
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
    REQUIRE(writer.taken != nullptr);
    CHECK(writer.taken.load()->flush);
    q.queue.Recycle(writer.taken.exchange(nullptr));
    q.PopAll();
  }
}

TEST_CASE("threads can be made to wait before the bound; what is handed over at a safepoint has all of it") {
  QueueConfig config = kSmall;
  config.wait_bytes = 2 * kMemory;
  Queue q(config);
  for (uint64_t i = 0; i < 2; i++) CHECK(q.queue.Push(q.Filled(i), PushMode::kBounded));
  CHECK(q.queue.fill() == doctest::Approx(1));
  for (uint64_t i = 2; i < 6; i++) CHECK(q.queue.Push(q.Filled(i), PushMode::kTry));
  CHECK(q.queue.waits() == 0);
  CHECK_FALSE(q.queue.Push(q.Filled(6), PushMode::kBounded));
  CHECK(q.queue.waits() == 1);
  CHECK(q.PopAll() == std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 999});
}

TEST_CASE("a sync point that finds no room is refused without a loss, and nothing else suffers from it") {
  Queue q;
  for (uint64_t i = 0; i < 8; i++)
    REQUIRE(q.queue.Push(q.Filled(i), i % 2 == 0 ? PushMode::kGiveUp : PushMode::kTry));
  CHECK_FALSE(q.queue.Push(q.Filled(8), PushMode::kGiveUp));
  CHECK(q.queue.lost_segments() == 0);
  CHECK(q.queue.Push(q.Filled(9), PushMode::kForce));
  CHECK(q.PopAll() == std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 9});
}

TEST_CASE("a loss that is told from outside has its place in the queue") {
  Queue q;
  CHECK(q.queue.Push(q.Filled(0), PushMode::kForce));
  trace::ByteBuffer loss;
  trace::AppendLoss(&loss, 1, 2, 3, "test");
  CHECK(q.queue.PushLoss(loss.span()));
  CHECK(q.queue.Push(q.Filled(1), PushMode::kForce));
  CHECK(q.queue.lost_segments() == 0);
  CHECK(q.PopAll() == std::vector<uint64_t>{0, 999, 1});
}

TEST_CASE("what the writer has taken counts against the bound until it is given back") {
  Queue q;
  for (uint64_t i = 0; i < 4; i++) CHECK(q.queue.Push(q.Filled(i), PushMode::kBounded));
  Buffer* taken = q.queue.Pop(milliseconds(0));
  REQUIRE(taken != nullptr);
  CHECK(taken->next == nullptr);  // no more than a quarter of the bound
  CHECK_FALSE(q.queue.Push(q.Filled(4), PushMode::kBounded));
  q.queue.Recycle(taken);
  CHECK(q.queue.Push(q.Filled(5), PushMode::kBounded));
}

TEST_CASE("pool and queue stay within the bound together") {
  Queue q;
  std::vector<Buffer*> buffers;
  for (uint64_t i = 0; i < 8; i++) buffers.push_back(q.queue.Acquire());
  CHECK(q.queue.allocated_buffers() == 8);
  for (Buffer* buffer : buffers) q.queue.Release(buffer);  // the pool keeps four
  for (Buffer*& buffer : buffers) buffer = q.queue.Acquire();
  CHECK(q.queue.allocated_buffers() == 12);
  for (Buffer* buffer : buffers) q.queue.Release(buffer);

  // Three buffers' worth goes past the pool, which has room for one from then on.
  const std::vector<uint8_t> segments(3 * kMemory - sizeof(Buffer), 0);
  CHECK(q.queue.PushSegments(segments, PushMode::kBounded));
  CHECK(q.queue.allocated_buffers() == 13);
  buffers = {q.queue.Acquire(), q.queue.Acquire()};
  CHECK(q.queue.allocated_buffers() == 14);
  for (Buffer* buffer : buffers) q.queue.Release(buffer);
}

TEST_CASE("a push that is larger than the bound goes in alone") {
  Queue q;
  const std::vector<uint8_t> segments(5 * kMemory, 0);
  CHECK(q.queue.PushSegments(segments, PushMode::kBounded));
  CHECK_FALSE(q.queue.Push(q.Filled(1), PushMode::kBounded));
}

TEST_CASE("the queue tells how full it is and was") {
  Queue q;
  CHECK(q.queue.fill() == 0);
  CHECK(q.queue.Push(q.Filled(1), PushMode::kBounded));
  CHECK(q.queue.fill() == 0.25);
  for (uint64_t i = 0; i < 5; i++) CHECK(q.queue.Push(q.Filled(i), PushMode::kForce));
  CHECK(q.queue.fill() == 1.5);
  q.PopAll();
  CHECK(q.queue.fill() == 0);
  CHECK(q.queue.high_water_bytes() == 6 * kMemory);
}

}  // namespace
}  // namespace anttracks::core
