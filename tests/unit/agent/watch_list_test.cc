// SPDX-License-Identifier: Apache-2.0
// Who looks at which weak references, and when.
#include "agent/sample/watch_list.h"

#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <thread>

namespace anttracks::core {
namespace {

using namespace std::chrono_literals;
using Watched = WatchList::Watched;

// Objects that may die; a sample's number is the reference, too.
struct World {
  explicit World(uint64_t count) {
    for (uint64_t i = 1; i <= count; i++) Make(i);
  }
  void Make(uint64_t number) { list.Add({number, reinterpret_cast<void*>(number)}); }
  auto MarkIfDead() {
    return [this](const Watched& watched) {
      CHECK(reinterpret_cast<uint64_t>(watched.reference) == watched.number);
      looked++;
      if (!dead.contains(watched.number)) return false;
      CHECK(told.insert(watched.number).second);
      return true;
    };
  }
  size_t Look(size_t most) {
    looked = 0;
    list.Look(most, MarkIfDead());
    return looked;
  }

  WatchList list;
  std::set<uint64_t> dead, told;
  size_t looked = 0;
};

TEST_CASE("Nobody looks at samples before a collection has ended") {
  World world(10);
  world.dead = {1, 2, 3};
  CHECK(world.Look(100) == 0);
  world.list.CollectionEnded();
  CHECK(world.Look(100) == 10);
  CHECK(world.told == world.dead);
  CHECK(world.Look(100) == 0);
}

TEST_CASE("Each look is a short one, and all of them together find every death once") {
  World world(1000);
  for (uint64_t i = 1; i <= 1000; i += 3) world.dead.insert(i);
  world.list.CollectionEnded();
  for (int i = 0; i < 10; i++) CHECK(world.Look(100) == 100);
  CHECK(world.Look(100) == 0);
  CHECK(world.told == world.dead);
}

TEST_CASE("A collection during a round makes another one due, which begins when that is over") {
  World world(100);
  world.list.CollectionEnded();
  CHECK(world.Look(60) == 60);
  world.dead = {1, 100};  // the first one was looked at
  world.list.CollectionEnded();
  CHECK(world.Look(60) == 40);
  CHECK(world.told == std::set<uint64_t>{100});
  world.Make(101);
  CHECK(world.Look(200) == 100);
  CHECK(world.told == world.dead);
  CHECK(world.Look(200) == 0);
}

TEST_CASE("The last look is at all samples, whatever was looked at") {
  World world(100);
  world.list.CollectionEnded();
  CHECK(world.Look(50) == 50);
  world.dead = {3, 70};
  world.looked = 0;
  world.list.LookAtAll(10min, world.MarkIfDead());
  CHECK(world.looked == 100);
  CHECK(world.told == world.dead);
  CHECK(world.list.TakeAll().size() == 98);
  CHECK(world.list.TakeAll().empty());
}

TEST_CASE("Nobody waits for a thread that looks and stands still") {
  World world(10);
  world.list.CollectionEnded();
  std::atomic<bool> inside{false}, go_on{false};
  std::thread slow([&] {
    world.list.Look(1, [&](const Watched&) {
      inside = true;
      while (!go_on) std::this_thread::yield();
      return false;
    });
  });
  while (!inside) std::this_thread::yield();
  world.Make(11);
  CHECK(world.Look(100) == 0);
  world.list.CollectionEnded();
  world.list.LookAtAll(1ms, world.MarkIfDead());
  CHECK(world.looked == 0);
  go_on = true;
  slow.join();
  CHECK(world.Look(100) == 9);
  CHECK(world.Look(100) == 11);
}

}  // namespace
}  // namespace anttracks::core
