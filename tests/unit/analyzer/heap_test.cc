// SPDX-License-Identifier: Apache-2.0
// The heap model against a plain map, and its edges.
#include "analyzer/model/heap.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace anttracks::analyzer {
namespace {

constexpr uint64_t kStart = 1000;  // not at a page's start
constexpr uint64_t kEnd = kStart + 40UL * kPageWords;

struct Reference {
  std::map<uint64_t, HeapObject> objects;

  bool Free(uint64_t word, uint64_t words, const ObjectShapes& shapes) const {
    auto next = objects.lower_bound(word);
    if (next != objects.end() && next->first < word + words) return false;
    if (next == objects.begin()) return true;
    --next;
    return next->first + shapes.words(next->second.shape) <= word;
  }
};

void CheckSame(const Heap& heap, const Reference& reference, const ObjectShapes& shapes) {
  auto expected = reference.objects.begin();
  uint64_t words = 0;
  heap.ForEach([&](const HeapObject& object, bool) {
    REQUIRE(expected != reference.objects.end());
    REQUIRE(object.word == expected->first);
    REQUIRE(object.shape == expected->second.shape);
    REQUIRE(object.provenance == expected->second.provenance);
    words += shapes.words(object.shape);
    ++expected;
  });
  REQUIRE(expected == reference.objects.end());
  REQUIRE(heap.totals().objects == reference.objects.size());
  REQUIRE(heap.totals().words == words);
}

TEST_CASE("the heap agrees with a plain map") {
  ObjectShapes shapes;
  for (uint32_t words : {2u, 3u, 4u, 7u, 40u, 512u, 513u, 1500u}) shapes.Add({1, words, words});
  std::mt19937 random(42);
  for (int round = 0; round < 30; round++) {
    Heap heap(shapes, kStart, kEnd);
    Reference reference;
    for (int i = 0; i < 2000; i++) {
      const uint64_t word = kStart - 2 + random() % (kEnd - kStart + 4);
      const uint32_t shape = random() % 4 != 0 ? random() % 5 : random() % shapes.size();
      const uint32_t words = shapes.words(shape);
      const uint32_t provenance = random() % 300;
      InsertResult expected = InsertResult::kOk;
      if (word < kStart || word + words > kEnd) {
        expected = InsertResult::kOutsideHeap;
      } else if (!reference.Free(word, words, shapes)) {
        expected = InsertResult::kOverlap;
      } else {
        reference.objects[word] = {word, shape, provenance};
      }
      REQUIRE(heap.Insert(word, shape, provenance) == expected);
      if (i % 500 != 499) continue;
      CheckSame(heap, reference, shapes);
      for (int change = 0; change < 50; change++) {
        const auto at = reference.objects.lower_bound(kStart + random() % (kEnd - kStart));
        if (at == reference.objects.end()) continue;
        at->second.provenance = random() % 300;
        heap.SetProvenance(at->first, at->second.provenance);
      }
      heap.SetProvenance(kEnd - 1, 7);  // nothing starts there
      CheckSame(heap, reference, shapes);
      // Ranges of whole objects, as spaces are.
      auto first = reference.objects.lower_bound(kStart + random() % (kEnd - kStart));
      auto last = reference.objects.lower_bound(kStart + random() % (kEnd - kStart));
      if (first == reference.objects.end() || last == reference.objects.end() || last->first < first->first)
        continue;
      const uint64_t bottom = first->first, top = last->first;
      HeapTotals untaken;
      for (auto at = first; at != last; ++at) {
        HeapObject object;
        if (random() % 2 == 0) {
          REQUIRE(heap.Take(at->first, &object) == MoveResult::kOk);
          REQUIRE(object.provenance == at->second.provenance);
          REQUIRE(heap.Take(at->first, &object) == MoveResult::kMovedTwice);
        } else {
          untaken.Add({1, shapes.words(at->second.shape)});
        }
      }
      const HeapTotals dropped = heap.Drop(bottom, top);
      REQUIRE(dropped.objects == untaken.objects);
      REQUIRE(dropped.words == untaken.words);
      reference.objects.erase(first, last);
      CheckSame(heap, reference, shapes);
    }
  }
}

// Inserts the run as Rebuild does; the words of those that were refused.
std::vector<uint64_t> InsertAll(Heap& heap, uint64_t word, std::span<const uint32_t> shapes,
                                std::span<const uint32_t> words, uint32_t provenance) {
  std::vector<uint64_t> refused;
  while (!shapes.empty()) {
    const size_t count = heap.InsertRun(word, shapes, words, provenance);
    for (const uint32_t one : words.first(count)) word += one;
    if (count == shapes.size()) break;
    refused.push_back(word);
    word += words[count];
    shapes = shapes.subspan(count + 1);
    words = words.subspan(count + 1);
  }
  return refused;
}

TEST_CASE("a run is inserted as its objects are one by one") {
  constexpr uint32_t kShapes = 0xFE00 + 200;  // some do not fit into a page's array
  ObjectShapes shapes;
  for (uint32_t i = 0; i < kShapes; i++) shapes.Add({i, 0, i % 97 == 5 ? 400 + i % 1500 : 2 + i % 9});
  std::mt19937 random(7);
  uint64_t in_all = 0, refused_in_all = 0;
  for (int round = 0; round < 60; round++) {
    Heap by_runs(shapes, kStart, kEnd), one_by_one(shapes, kStart, kEnd);
    uint64_t next = kStart;
    for (int i = 0; i < 60; i++) {
      const bool anywhere = random() % 4 == 0;
      uint64_t word = anywhere ? kStart - 20 + random() % (kEnd - kStart + 20) : next + random() % 2 * 3;
      std::vector<uint32_t> run, words;
      for (uint32_t count = random() % 300 + 1; count > 0; count--) {
        run.push_back(random() % 50 != 0 ? random() % 90 : random() % kShapes);
        words.push_back(shapes.words(run.back()));
      }
      const uint32_t provenance = random() % 3;
      const std::vector<uint64_t> refused = InsertAll(by_runs, word, run, words, provenance);
      std::vector<uint64_t> expected;
      for (const uint32_t shape : run) {
        if (one_by_one.Insert(word, shape, provenance) != InsertResult::kOk) expected.push_back(word);
        word += shapes.words(shape);
      }
      REQUIRE(refused == expected);
      in_all += run.size();
      refused_in_all += refused.size();
      next = word < kEnd ? word : kStart;
      if (random() % 8 != 0) continue;
      const uint64_t bottom = kStart + random() % (kEnd - kStart), top = bottom + random() % (kEnd - bottom);
      const HeapTotals dropped = by_runs.Drop(bottom, top), expected_dropped = one_by_one.Drop(bottom, top);
      REQUIRE(dropped.objects == expected_dropped.objects);
      REQUIRE(dropped.words == expected_dropped.words);
    }
    Reference reference;
    one_by_one.ForEach([&](const HeapObject& object, bool) { reference.objects[object.word] = object; });
    CheckSame(by_runs, reference, shapes);
  }
  CHECK(refused_in_all > 1000);
  CHECK(refused_in_all < in_all - 100000);
}

TEST_CASE("the heap refuses an object within a large one") {
  ObjectShapes shapes;
  const uint32_t large = shapes.Add({1, 1, 5 * kPageWords});
  const uint32_t small = shapes.Add({2, 0, 2});
  Heap heap(shapes, 0, 100UL * kPageWords);
  REQUIRE(heap.Insert(100, large, 0) == InsertResult::kOk);
  CHECK(heap.Insert(100 + 3 * kPageWords, small, 0) == InsertResult::kOverlap);
  CHECK(heap.Insert(100 + 5 * kPageWords - 1, small, 0) == InsertResult::kOverlap);
  CHECK(heap.Insert(100 + 5 * kPageWords, small, 0) == InsertResult::kOk);
  CHECK(heap.Insert(99, small, 0) == InsertResult::kOverlap);
  CHECK(heap.Insert(98, small, 0) == InsertResult::kOk);
}

TEST_CASE("what was moved is no loss when its space goes piece by piece") {
  ObjectShapes shapes;
  const uint32_t small = shapes.Add({2, 0, 2});
  Heap heap(shapes, 0, kPageWords);
  for (uint64_t word = 0; word < 12; word += 2) REQUIRE(heap.Insert(word, small, 0) == InsertResult::kOk);
  HeapObject object;
  for (const uint64_t word : {2, 8}) REQUIRE(heap.Take(word, &object) == MoveResult::kOk);
  CHECK(heap.Drop(6, 12).objects == 2);
  CHECK(heap.Take(2, &object) == MoveResult::kMovedTwice);
  CHECK(heap.Drop(0, 6).objects == 2);
  CHECK(heap.totals().objects == 0);
}

TEST_CASE("a page holds as many of the smallest objects as fit, each with its own provenance") {
  ObjectShapes shapes;
  const uint32_t small = shapes.Add({2, 0, 2});
  Heap heap(shapes, 0, kPageWords);
  for (uint32_t i = 0; i < 256; i++)
    REQUIRE(heap.Insert(2UL * ((i * 37) % 256), small, 1000 + i) == InsertResult::kOk);
  uint32_t count = 0;
  heap.ForEach([&](const HeapObject& object, bool) {
    CHECK((object.provenance - 1000) * 37 % 256 == object.word / 2);
    count++;
  });
  CHECK(count == 256);
  for (uint32_t i = 0; i < 256; i++) heap.SetProvenance(2UL * i, 5000 + i);
  heap.ForEach([&](const HeapObject& object, bool) { CHECK(object.provenance == 5000 + object.word / 2); });
}

TEST_CASE("a page of objects of one word holds a provenance for each, also when they come in any order") {
  ObjectShapes shapes;
  uint32_t first = 0;  // of shapes
  SUBCASE("of few shapes") {}
  SUBCASE("of shapes that do not fit into a page's array") { first = 66'000; }
  for (uint32_t i = 0; i < first + kPageWords; i++) shapes.Add({i, 0, 1});
  const auto shape_of = [=](uint64_t word) { return first + static_cast<uint32_t>(word * 7 % kPageWords); };
  Heap heap(shapes, 0, 2UL * kPageWords);
  constexpr uint32_t kStep = 37;
  for (uint32_t i = 0; i < kPageWords; i++) {
    const uint64_t word = i * kStep % kPageWords;
    REQUIRE(heap.Insert(word, shape_of(word), static_cast<uint32_t>(1000 + word)) == InsertResult::kOk);
  }
  heap.ForEach([&](const HeapObject& each, bool) {
    CHECK(each.shape == shape_of(each.word));
    CHECK(each.provenance == 1000 + each.word);
  });
  HeapObject object;
  for (uint32_t i = 0; i < kPageWords; i += 3) REQUIRE(heap.Take(i, &object) == MoveResult::kOk);
  uint32_t untaken = 0;
  heap.ForEachRun(0, kPageWords, [&](std::span<const uint32_t> run, uint32_t provenance) {
    CHECK(run.size() == 1);
    CHECK((provenance - 1000) % 3 != 0);
    CHECK(run[0] == shape_of(provenance - 1000));
    untaken++;
  });
  CHECK(untaken == kPageWords - (kPageWords + 2) / 3);
  for (uint32_t i = 0; i < kPageWords; i++) heap.SetProvenance(i, 5000 + i);
  heap.ForEach([&](const HeapObject& each, bool) { CHECK(each.provenance == 5000 + each.word); });
  // A page that is filled in order is made with room for all.
  for (uint32_t i = 0; i < kPageWords; i++)
    REQUIRE(heap.Insert(kPageWords + i, shape_of(i), 7000 + i) == InsertResult::kOk);
  CHECK(heap.totals().objects == 2UL * kPageWords);
  heap.ForEach(kPageWords, 2UL * kPageWords, [&](const HeapObject& each, bool) {
    CHECK(each.shape == shape_of(each.word - kPageWords));
    CHECK(each.provenance == 7000 + each.word - kPageWords);
  });
  CHECK(heap.Drop(0, kPageWords).objects == untaken);
}

TEST_CASE(
    "pages that are filled in turn hold what was put into them, and keep little room that they do not need") {
  ObjectShapes shapes;
  std::mt19937 random(5);
  for (uint32_t words : {2u, 3u, 4u, 5u}) shapes.Add({1, words, words});
  Heap heap(shapes, kStart, kEnd);
  Reference reference;
  uint64_t tops[] = {kStart, kStart + 10UL * kPageWords, kStart + 20UL * kPageWords};
  const uint64_t begins[] = {tops[0], tops[1], tops[2]};
  for (int run = 0; run < 400; run++) {
    const size_t area = random() % 3;
    for (uint64_t left = random() % 40; left > 0; left--) {
      const auto shape = static_cast<uint32_t>(random() % 4);
      const uint32_t words = shapes.words(shape), provenance = random() % 8 == 0 ? 1 + random() % 3 : 0;
      if (tops[area] + words > begins[area] + 10UL * kPageWords) break;
      REQUIRE(heap.Insert(tops[area], shape, provenance) == InsertResult::kOk);
      reference.objects[tops[area]] = {tops[area], shape, provenance};
      tops[area] += words;
    }
    if (run % 100 != 99) continue;
    heap.Drop(begins[area], tops[area]);  // the page that has most room may be among them
    std::erase_if(reference.objects,
                  [&](const auto& o) { return o.first >= begins[area] && o.first < tops[area]; });
    tops[area] = begins[area];
  }
  CheckSame(heap, reference, shapes);
  uint64_t pages = 0;
  for (size_t area = 0; area < 3; area++) pages += (tops[area] - begins[area]) / kPageWords + 1;
  // Three bytes an object, room for seven more a page, a palette; and the tree and one page that has all the
  // room there is.
  const uint64_t needed = reference.objects.size() * 3 + pages * (sizeof(Page) + 8UL * 3 + 64);
  CHECK(heap.MemoryBytes() < needed + 3000);
}

// Every object that was not taken is in one run, with its shape and provenance.
void CheckRuns(const Heap& heap, const Reference& reference, const std::set<uint64_t>& taken, uint64_t bottom,
               uint64_t top) {
  std::vector<std::pair<uint32_t, uint32_t>> expected, found;
  for (const auto& [word, object] : reference.objects) {
    if (word >= bottom && word < top && taken.count(word) == 0)
      expected.emplace_back(object.shape, object.provenance);
  }
  heap.ForEachRun(bottom, top, [&](std::span<const uint32_t> shapes, uint32_t provenance) {
    for (const uint32_t shape : shapes) found.emplace_back(shape, provenance);
  });
  REQUIRE(found == expected);
}

TEST_CASE("objects keep their shapes, however many shapes there are") {
  ObjectShapes shapes;
  for (uint32_t i = 0; i < 66'000; i++) shapes.Add({i, 0, 2 + i % 5});
  std::mt19937 random(6);
  for (int round = 0; round < 40; round++) {
    Heap heap(shapes, kStart, kEnd);
    Reference reference;
    std::set<uint64_t> taken;
    const uint32_t provenances = round % 2 == 0 ? 1 : 3;
    for (int i = 0; i < 1500; i++) {
      const uint64_t word = kStart + random() % (kEnd - kStart - 6);
      // Around the first number that is not its own code, and those of no object that was there before.
      const auto shape = static_cast<uint32_t>(random() % 3 == 0 ? 64'900 + random() % 1000 : random() % 100);
      if (!reference.Free(word, shapes.words(shape), shapes)) continue;
      const auto provenance = static_cast<uint32_t>(random() % provenances);
      reference.objects[word] = {word, shape, provenance};
      REQUIRE(heap.Insert(word, shape, provenance) == InsertResult::kOk);
    }
    CheckSame(heap, reference, shapes);
    CheckRuns(heap, reference, taken, kStart, kEnd);
    for (const auto& [word, object] : reference.objects) {
      HeapObject out;
      if (random() % 3 != 0) continue;
      REQUIRE(heap.Take(word, &out) == MoveResult::kOk);
      REQUIRE(out.shape == object.shape);
      taken.insert(word);
    }
    CheckRuns(heap, reference, taken, kStart, kEnd);
    CheckRuns(heap, reference, taken, kStart + 700, kEnd - 900);
  }
}

TEST_CASE("memory of pages goes back to the system when no heap needs it") {
  PageMemory::Trim();
  const size_t before = PageMemory::SlabBytes();
  ObjectShapes shapes;
  shapes.Add({1, 0, 2});
  {
    Heap heap(shapes, 0, uint64_t{1} << 20), other(shapes, 0, uint64_t{1} << 20);
    for (uint64_t word = 0; word < uint64_t{1} << 20; word += 2) heap.Insert(word, 0, 0);
    other.Insert(0, 0, 0);
    const size_t most = PageMemory::SlabBytes();
    heap.FreeMemory();
    CHECK(PageMemory::SlabBytes() == most);  // other has a page yet
    CHECK(heap.totals().objects == 0);
    CHECK(heap.Insert(8, 0, 0) == InsertResult::kOk);
    heap.FreeMemory();
    other.FreeMemory();
    CHECK(PageMemory::SlabBytes() == before);
    CHECK(other.Insert(8, 0, 0) == InsertResult::kOk);
  }
  CHECK(PageMemory::SlabBytes() == before);
}

TEST_CASE("memory of pages is given out again, to one at a time") {
  std::mt19937 random(3);
  struct Block {
    uint8_t* memory;
    size_t bytes;
    uint8_t mark;
  };
  std::vector<Block> blocks;
  for (int i = 0; i < 20'000; i++) {
    if (blocks.size() < 100 || (blocks.size() < 1000 && random() % 2 == 0)) {
      const size_t bytes = 1 + random() % PageMemory::kMostBytes;
      auto* const memory = static_cast<uint8_t*>(PageMemory::Take(bytes));
      REQUIRE(reinterpret_cast<uintptr_t>(memory) % 16 == 0);
      const auto mark = static_cast<uint8_t>(random());
      std::fill_n(memory, bytes, mark);
      blocks.push_back({memory, bytes, mark});
    } else {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      const Block block = blocks.back();
      blocks.pop_back();
      REQUIRE(std::all_of(block.memory, block.memory + block.bytes,
                          [&](uint8_t byte) { return byte == block.mark; }));
      PageMemory::Give(block.memory, block.bytes);
    }
  }
  for (const Block& block : blocks) PageMemory::Give(block.memory, block.bytes);
  PageMemory::Give(nullptr, 16);
}

}  // namespace
}  // namespace anttracks::analyzer
