// SPDX-License-Identifier: Apache-2.0
#include "agent/heap/site_class_table.h"

#include <doctest/doctest.h>

#include <thread>

namespace anttracks::core {
namespace {

TEST_CASE("a site with many classes and many sites with one class are all found") {
  SiteClassTable table;
  uint32_t id = 0;
  for (uint32_t site = 0; site < 9000; site += 3) table.Insert(site, 100, {++id, ObjectLayout::Fixed(16)});
  for (uint64_t klass = 200; klass < 5200; klass++) table.Insert(0, klass, {++id, ObjectLayout::Fixed(24)});
  id = 0;
  for (uint32_t site = 0; site < 9000; site += 3) REQUIRE(table.Find(site, 100).id == ++id);
  for (uint64_t klass = 200; klass < 5200; klass++) REQUIRE(table.Find(0, klass).id == ++id);
  CHECK(table.Find(1, 100).id == 0);
  CHECK(table.Find(0, 5200).id == 0);
  CHECK(table.Find((1u << 25) - 1, 1).id == 0);
}

TEST_CASE("a removed pair is gone, others stay, and it can come back as another site-class pair") {
  SiteClassTable table;
  table.Insert(20, 1, {1, ObjectLayout::Fixed(16)});
  table.Insert(20, 2, {2, ObjectLayout::Fixed(16)});
  table.Insert(20, 3, {3, ObjectLayout::Fixed(16)});
  table.Remove(20, 1);
  table.Remove(20, 2);
  table.Remove(20, 99);
  CHECK(table.Find(20, 1).id == 0);
  CHECK(table.Find(20, 2).id == 0);
  CHECK(table.Find(20, 3).id == 3);
  table.Insert(20, 1, {4, ObjectLayout::Fixed(16)});
  table.Insert(20, 2, {5, ObjectLayout::Fixed(16)});
  CHECK(table.Find(20, 1).id == 4);
  CHECK(table.Find(20, 2).id == 5);
}

TEST_CASE("a pair can get another id, in its site's place and in the hash") {
  SiteClassTable table;
  table.Insert(20, 1, {1, ObjectLayout::Fixed(16)});
  table.Insert(20, 2, {2, ObjectLayout::Fixed(24)});
  table.Replace(20, 1, {11, ObjectLayout::Fixed(16)});
  table.Replace(20, 2, {12, ObjectLayout::Fixed(24)});
  table.Replace(20, 3, {13, ObjectLayout::Fixed(24)});
  CHECK(table.Find(20, 1).id == 11);
  CHECK(table.Find(20, 2).id == 12);
  CHECK(table.Find(20, 2).layout.fixed_words() == 3);
  CHECK(table.Find(20, 3).id == 0);
}

// Pairs come and go, the youngest kLive stay. Shrink where the agent has it: after some went.
size_t BytesAfterChurn(uint64_t pairs, uint32_t (*site_of)(uint64_t number)) {
  constexpr uint64_t kLive = 1000;
  SiteClassTable table;
  for (uint64_t n = 1; n <= pairs; n++) {
    table.Insert(site_of(n), n, {static_cast<uint32_t>(n), ObjectLayout::Fixed(16)});
    if (n > kLive) table.Remove(site_of(n - kLive), n - kLive);
    if (n % 100 == 0) table.Shrink();
  }
  for (uint64_t n = pairs - kLive + 1; n <= pairs; n++) {
    if (table.Find(site_of(n), n).id != n) return SIZE_MAX;
  }
  return table.MemoryBytes();
}

TEST_CASE("memory follows the pairs that are there, not those that ever were") {
  // One site, as of reflection: in the hash.
  CHECK(BytesAfterChurn(1'000'000, [](uint64_t) { return 0u; }) < (1 << 20));
  // Each class with a site of its own, as of code that is unloaded with it: in pages.
  CHECK(BytesAfterChurn(1'000'000, [](uint64_t n) { return static_cast<uint32_t>(n); }) < (1 << 20));
}

TEST_CASE("a table that was large becomes small when its pairs have gone, and large again") {
  SiteClassTable table;
  const size_t empty = table.MemoryBytes();
  for (int round = 0; round < 3; round++) {
    for (uint32_t n = 1; n <= 50'000; n++) table.Insert(n % 5000, n, {n, ObjectLayout::Fixed(16)});
    CHECK(table.MemoryBytes() > empty + uint64_t{50'000} * 20);
    for (uint32_t n = 1; n <= 50'000; n++) table.Remove(n % 5000, n);
    table.Shrink();
    CHECK(table.MemoryBytes() == empty);
    CHECK(table.Find(1, 1).id == 0);
  }
}

// Of `sites` times `classes` pairs in the hash; addresses of classes and numbers of sites lie as in a JVM.
size_t LongestSearchAmong(uint32_t sites, uint32_t classes) {
  SiteClassTable table;
  uint32_t id = 0;
  for (uint32_t site = 1; site <= sites; site++) {
    table.Insert(site, 8, {++id, ObjectLayout::Fixed(16)});  // the first one is in a page
    for (uint32_t n = 1; n <= classes; n++) {
      table.Insert(site, 0x800000 + n * 0x240, {++id, ObjectLayout::Fixed(16)});
    }
  }
  return table.LongestSearch();
}

TEST_CASE("a look-up reads few entries, whether many sites make one class or one site makes many") {
  CHECK(LongestSearchAmong(20'000, 1) <= 40);
  CHECK(LongestSearchAmong(1, 20'000) <= 40);
  CHECK(LongestSearchAmong(200, 100) <= 40);
}

TEST_CASE("sizes follow from the layout") {
  CHECK(ObjectLayout::Fixed(24).fixed_words() == 3);
  CHECK(ObjectLayout::Fixed(24).how() == ObjectLayout::kFixed);
  const ObjectLayout ints = ObjectLayout::Array(16, 2);
  CHECK(ints.how() == ObjectLayout::kArray);
  CHECK(ints.array_words(0, 8) == 2);
  CHECK(ints.array_words(1, 8) == 3);
  CHECK(ints.array_words(2, 8) == 3);
  CHECK(ints.array_words(1, 32) == 4);
  CHECK(ObjectLayout::Array(16, 3).array_words(0x7FFFFFFF, 8) == uint64_t{0x7FFFFFFF} + 2);
  CHECK(ObjectLayout::Variable().how() == ObjectLayout::kVariable);
}

TEST_CASE("walkers see a whole entry or none while a writer inserts") {
  SiteClassTable table;
  std::atomic<bool> wrong{false};
  std::atomic<uint64_t> last{0};
  std::thread reader([&] {
    while (last.load() < 20'000) {
      const uint64_t until = last.load();
      for (uint64_t klass = until > 50 ? until - 50 : 1; klass <= until + 50; klass++) {
        const SiteClass site_class = table.Find(17, klass);
        if (site_class.id == 0 ? klass <= until
                               : site_class.id != klass || site_class.layout.fixed_words() != klass)
          wrong = true;
      }
    }
  });
  for (uint64_t klass = 1; klass <= 20'000; klass++) {
    table.Insert(17, klass, {static_cast<uint32_t>(klass), ObjectLayout::Fixed(klass * 8)});
    last.store(klass);
  }
  reader.join();
  CHECK_FALSE(wrong.load());
}

}  // namespace
}  // namespace anttracks::core
