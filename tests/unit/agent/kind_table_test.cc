// SPDX-License-Identifier: Apache-2.0
#include "agent/core/kind_table.h"

#include <doctest/doctest.h>

#include <thread>

namespace anttracks::core {
namespace {

TEST_CASE("a site with many classes and many sites with one class are all found") {
  KindTable table;
  uint32_t id = 0;
  for (uint32_t site = 0; site < 9000; site += 3) table.Insert(site, 100, {++id, Shape::Fixed(16)});
  for (uint64_t klass = 200; klass < 5200; klass++) table.Insert(0, klass, {++id, Shape::Fixed(24)});
  id = 0;
  for (uint32_t site = 0; site < 9000; site += 3) REQUIRE(table.Find(site, 100).id == ++id);
  for (uint64_t klass = 200; klass < 5200; klass++) REQUIRE(table.Find(0, klass).id == ++id);
  CHECK(table.Find(1, 100).id == 0);
  CHECK(table.Find(0, 5200).id == 0);
  CHECK(table.Find((1u << 25) - 1, 1).id == 0);
}

TEST_CASE("a removed pair is gone, others stay, and it can come back as another kind") {
  KindTable table;
  table.Insert(20, 1, {1, Shape::Fixed(16)});
  table.Insert(20, 2, {2, Shape::Fixed(16)});
  table.Insert(20, 3, {3, Shape::Fixed(16)});
  table.Remove(20, 1);
  table.Remove(20, 2);
  table.Remove(20, 99);
  CHECK(table.Find(20, 1).id == 0);
  CHECK(table.Find(20, 2).id == 0);
  CHECK(table.Find(20, 3).id == 3);
  table.Insert(20, 1, {4, Shape::Fixed(16)});
  table.Insert(20, 2, {5, Shape::Fixed(16)});
  CHECK(table.Find(20, 1).id == 4);
  CHECK(table.Find(20, 2).id == 5);
}

TEST_CASE("sizes follow from the shape") {
  CHECK(Shape::Fixed(24).fixed_words() == 3);
  CHECK(Shape::Fixed(24).how() == Shape::kFixed);
  const Shape ints = Shape::Array(16, 2);
  CHECK(ints.how() == Shape::kArray);
  CHECK(ints.array_words(0, 8) == 2);
  CHECK(ints.array_words(1, 8) == 3);
  CHECK(ints.array_words(2, 8) == 3);
  CHECK(ints.array_words(1, 32) == 4);
  CHECK(Shape::Array(16, 3).array_words(0x7FFFFFFF, 8) == uint64_t{0x7FFFFFFF} + 2);
  CHECK(Shape::Variable().how() == Shape::kVariable);
}

TEST_CASE("readers see a whole entry or none while a writer inserts") {
  KindTable table;
  std::atomic<bool> wrong{false};
  std::atomic<uint64_t> last{0};
  std::thread reader([&] {
    while (last.load() < 20'000) {
      const uint64_t until = last.load();
      for (uint64_t klass = until > 50 ? until - 50 : 1; klass <= until + 50; klass++) {
        const Kind kind = table.Find(17, klass);
        if (kind.id == 0 ? klass <= until : kind.id != klass || kind.shape.fixed_words() != klass) wrong = true;
      }
    }
  });
  for (uint64_t klass = 1; klass <= 20'000; klass++) {
    table.Insert(17, klass, {static_cast<uint32_t>(klass), Shape::Fixed(klass * 8)});
    last.store(klass);
  }
  reader.join();
  CHECK_FALSE(wrong.load());
}

}  // namespace
}  // namespace anttracks::core
