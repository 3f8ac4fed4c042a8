// SPDX-License-Identifier: Apache-2.0
#include "agent/core/buffer_queue.h"

#include <doctest/doctest.h>

#include <thread>

#include "trace/segment_writer.h"

namespace anttracks::core {
namespace {

using std::chrono::milliseconds;

struct Queue {
  Clock clock;
  BufferQueue queue{clock, 1024, 4096, milliseconds(30)};

  Buffer* Filled(uint64_t stream) {
    Buffer* buffer = queue.Acquire();
    buffer->kind = 1;
    buffer->stream = stream;
    buffer->used = 10;
    buffer->epoch = queue.epoch();
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
  const uint32_t epoch = q.queue.epoch();
  const uint64_t before = Clock::Monotonic();
  CHECK_FALSE(q.queue.Push(q.Filled(4), PushMode::kBounded));
  CHECK(Clock::Monotonic() - before >= 25'000'000);
  CHECK(q.queue.epoch() != epoch);
  CHECK_FALSE(q.queue.Push(q.Filled(5), PushMode::kBounded));  // at once: the queue is stalled
  CHECK(q.queue.Push(q.Filled(6), PushMode::kForce));
  CHECK(q.queue.lost_segments() == 2);
  CHECK(q.queue.lost_bytes() == 20);
  CHECK(q.PopAll() == std::vector<uint64_t>{0, 1, 2, 3, 999, 6});
  CHECK(q.queue.Push(q.Filled(7), PushMode::kBounded));
  CHECK(q.PopAll() == std::vector<uint64_t>{7});
}

TEST_CASE("a segment that continues a stream from before a loss is dropped") {
  Queue q;
  Buffer* continued = q.Filled(1);
  continued->resets = false;
  Buffer* fresh = q.Filled(2);
  q.queue.DropUnqueued(1, 0);
  CHECK_FALSE(q.queue.Push(continued, PushMode::kForce));
  CHECK(q.queue.Push(fresh, PushMode::kBounded));
  CHECK(q.PopAll() == std::vector<uint64_t>{999, 2});
}

TEST_CASE("a waiting thread goes on as soon as there is room") {
  Clock clock;
  BufferQueue queue(clock, 1024, 4096, std::chrono::seconds(20));
  for (int i = 0; i < 4; i++) CHECK(queue.Push(queue.Acquire(), PushMode::kBounded));
  bool queued = false;
  std::thread waiter([&] { queued = queue.Push(queue.Acquire(), PushMode::kBounded); });
  std::this_thread::sleep_for(milliseconds(20));
  queue.Recycle(queue.Pop(milliseconds(0)));
  waiter.join();
  CHECK(queued);
  CHECK(queue.blocked_ns() > 0);
  CHECK(queue.lost_segments() == 0);
}

TEST_CASE("a discarded queue takes everything, keeps nothing and lets waiters go") {
  Clock clock;
  BufferQueue queue(clock, 1024, 4096, std::chrono::seconds(20));
  for (int i = 0; i < 4; i++) CHECK(queue.Push(queue.Acquire(), PushMode::kBounded));
  bool queued = true;
  std::thread waiter([&] { queued = queue.Push(queue.Acquire(), PushMode::kBounded); });
  std::this_thread::sleep_for(milliseconds(20));
  queue.Discard();
  waiter.join();
  CHECK_FALSE(queued);
  CHECK(queue.Pop(milliseconds(0)) == nullptr);
  CHECK_FALSE(queue.Push(queue.Acquire(), PushMode::kForce));
  CHECK(queue.lost_segments() == 0);
}

TEST_CASE("the pool gives back what was recycled, clean") {
  Queue q;
  Buffer* first = q.Filled(3);
  first->resets = false;
  q.queue.Release(first);
  Buffer* second = q.queue.Acquire();
  CHECK(second == first);
  CHECK(second->stream == 0);
  CHECK(second->used == 0);
  CHECK(second->resets);
  CHECK(second->capacity == 1024);
  q.queue.Release(second);
}

}  // namespace
}  // namespace anttracks::core
