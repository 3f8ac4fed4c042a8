// SPDX-License-Identifier: Apache-2.0
// Sites in marks, in each scheme of the VM.
#include "agent/heap/site_of_mark.h"

#include <doctest/doctest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

constexpr uint32_t kSchemes[] = {ANTTRACKS_SITES_MARK, ANTTRACKS_SITES_HASH, ANTTRACKS_SITES_ASH};
constexpr uint64_t kAge = 0x28;
constexpr uint32_t k17 = 8, k25 = 11;  // the VM's hash_shift

TEST_CASE("the site of a plain mark is found in each scheme, whatever its age and its random part") {
  constexpr SiteBits mark = SiteBitsOf(ANTTRACKS_SITES_MARK, k17);
  CHECK(mark.IsPlain(uint64_t{77} << 39 | 0x7FFFFFFF00 | kAge | 1));
  CHECK(mark.SiteOf(uint64_t{77} << 39 | 0x7FFFFFFF00 | kAge | 1) == 77);
  constexpr SiteBits hash = SiteBitsOf(ANTTRACKS_SITES_HASH, k17);
  CHECK(hash.IsPlain(uint64_t{0xFFFF} << 23 | 0x7FFF00 | 0x80 | kAge | 1));
  CHECK(hash.SiteOf(uint64_t{0xFFFF} << 23 | 0x7FFF00 | 0x80 | kAge | 1) == 0xFFFF);
  constexpr SiteBits ash = SiteBitsOf(ANTTRACKS_SITES_ASH, k17);
  CHECK(ash.IsPlain(uint64_t{0x1FFFFFF} << 8 | 0x80 | kAge | 1));
  CHECK(ash.SiteOf(uint64_t{0x1FFFFFF} << 8 | 0x80 | kAge | 1) == 0x1FFFFFF);
}

TEST_CASE("where the hash begins further to the left, so do sites") {
  constexpr SiteBits mark = SiteBitsOf(ANTTRACKS_SITES_MARK, k25);
  CHECK(mark.IsPlain(uint64_t{77} << 42 | 0x3FFFFFFF800 | kAge | 1));
  CHECK(mark.SiteOf(uint64_t{77} << 42 | 0x3FFFFFFF800 | kAge | 1) == 77);
  constexpr SiteBits hash = SiteBitsOf(ANTTRACKS_SITES_HASH, k25);
  CHECK(hash.IsPlain(uint64_t{0xFFFF} << 26 | 0x3FFF800 | 0x80 | kAge | 1));
  CHECK(hash.SiteOf(uint64_t{0xFFFF} << 26 | 0x3FFF800 | 0x80 | kAge | 1) == 0xFFFF);
  constexpr SiteBits ash = SiteBitsOf(ANTTRACKS_SITES_ASH, k25);
  CHECK(ash.IsPlain(uint64_t{0x1FFFFFF} << 11 | 0x80 | kAge | 1));
  CHECK(ash.SiteOf(uint64_t{0x1FFFFFF} << 11 | 0x80 | kAge | 1) == 0x1FFFFFF);
  CHECK_FALSE(ash.IsPlain(uint64_t{1} << 41 | 0x80 | 1));
}

TEST_CASE("a mark that is locked, or whose hash holds no site or an id, is not plain") {
  for (const uint32_t scheme : kSchemes) {
    for (const uint64_t lock_bits : {0, 2, 3}) {
      CHECK_FALSE(SiteBitsOf(scheme, k17).IsPlain(uint64_t{77} << 23 | 0x80 | lock_bits));
    }
  }
  // As an archived object has it: a hash, and no site.
  CHECK_FALSE(SiteBitsOf(ANTTRACKS_SITES_HASH, k17).IsPlain(0x7FFFFFFF00 | 1));
  CHECK_FALSE(SiteBitsOf(ANTTRACKS_SITES_ASH, k17).IsPlain(0x3FFFFFFF00 | 1));
  CHECK_FALSE(SiteBitsOf(ANTTRACKS_SITES_ASH, k17).IsPlain(ANTTRACKS_ASH_FILLED | 0x80 | 1));
}

TEST_CASE("in each scheme a stretch has the sites of new, hashed, locked and siteless objects") {
  for (const auto& [narrow, hash_shift] : {std::pair(true, k17), {false, k17}, {true, k25}}) {
    for (const uint32_t scheme : kSchemes) {
      CAPTURE(narrow);
      CAPTURE(hash_shift);
      CAPTURE(scheme);
      FakeVm vm(narrow);
      vm.UseScheme(scheme);
      vm.UseHashShift(hash_shift);
      Recording recording(vm);
      FakeLock locks[2];
      uint64_t end = vm.heap();
      void* slot = nullptr;
      for (uint32_t round = 0; round < 3; round++) {  // from the second on the tables know all
        const uint64_t start = end;
        uint64_t at[5];
        for (uint32_t i = 0; i < 5; i++) {
          at[i] = end;
          end = vm.Put(end, FakeVm::kPoint, 30 + i);
        }
        FakeVm::SetMark(at[0], vm.HashedMark(30));  // whose neighbour is in the table, too
        REQUIRE(FakeVm::StackLock(at[2], &locks[0]));
        FakeVm::SetMark(at[3], vm.HashedMark(33));
        REQUIRE(FakeVm::Inflate(at[3], &locks[1]));
        FakeVm::SetMark(at[4], 1);
        recording.Tlab(1, &slot, start, end, true);
      }
      const ReadTrace trace = recording.End();
      REQUIRE(trace.objects.size() == 15);
      for (uint32_t i = 0; i < 15; i++) {
        CHECK(trace.objects[i].site == (i % 5 == 4 ? uint32_t{ANTTRACKS_SITE_NONE} : 30 + i % 5));
      }
    }
  }
}

TEST_CASE("with compact headers the class lies above the site, and an object may end with its mark") {
  constexpr SiteBits ash = SiteBitsOf(ANTTRACKS_SITES_ASH, k25, 42);
  constexpr uint64_t kMark = uint64_t{0x3FFFFF} << 42 | uint64_t{0x1FFFFFF} << 11 | 0x80 | kAge | 1;
  CHECK(ash.IsPlain(kMark));
  CHECK(ash.SiteOf(kMark) == 0x1FFFFFF);
  CHECK(ash.KlassOf(kMark) == 0x3FFFFF);
  // Behind the end of the smaller one is memory of others, which AddressSanitizer knows.
  for (const size_t heap_words : {1 << 16, 30}) {
    FakeVm vm(true, heap_words);
    vm.UseCompactHeaders();
    Recording recording(vm);
    uint64_t end = vm.heap();
    void* slot = nullptr;
    struct Expected {
      uint64_t address;
      const char* name;
      uint32_t site, length;
    };
    std::vector<Expected> expected;
    const auto put = [&](uint64_t klass, const char* name, uint32_t site, uint32_t length = 0) {
      expected.push_back({end, name, site, length});
      end = vm.Put(end, klass, site, length);
      return expected.back().address;
    };
    for (uint32_t round = 0; round < 3; round++) {  // from the second on the tables know all
      const uint64_t start = end;
      put(FakeVm::kObject, "java.lang.Object", 30);
      put(FakeVm::kInts, "int[]", 31, 2);  // 8 bytes beside the length: a word is not enough for 3
      vm.SetHashed(put(FakeVm::kObject, "java.lang.Object", 32), 32);
      FakeVm::LockInPlace(put(FakeVm::kObject, "java.lang.Object", 33));
      put(FakeVm::kInts, "int[]", 34, 1);
      put(FakeVm::kObject, "java.lang.Object", 30);
      if (round == 2 && heap_words == 30) {
        while (end < vm.heap_end()) put(FakeVm::kObject, "java.lang.Object", 30);
      }
      recording.Tlab(1, &slot, start, end, true);
    }
    const ReadTrace trace = recording.End();
    REQUIRE(trace.objects.size() == expected.size());
    for (size_t i = 0; i < expected.size(); i++) {
      CAPTURE(i);
      CHECK(trace.objects[i].address == expected[i].address);
      CHECK(trace.objects[i].class_name == expected[i].name);
      CHECK(trace.objects[i].site == expected[i].site);
      CHECK(trace.objects[i].length == expected[i].length);
    }
  }
}

TEST_CASE("with compact headers a long stretch is read in blocks that end behind the mark of an array") {
  constexpr uint64_t kBlock = 64 << 10;  // blocks are multiples of it
  FakeVm vm(true, 1 << 20);
  vm.UseCompactHeaders();
  Recording recording(vm);
  void* slot = nullptr;
  const uint64_t start = vm.heap();
  uint64_t end = vm.Put(start, FakeVm::kInts, 31, 3);  // from now on the tables know the site
  size_t count = 1;
  for (; end < start + (7 << 20); count++) {
    const bool before_bound = (end - start) % kBlock == kBlock - 8;
    end = before_bound ? vm.Put(end, FakeVm::kInts, 31, 3) : vm.Put(end, FakeVm::kObject, 30);
  }
  recording.Tlab(1, &slot, start, end, true);
  const ReadTrace trace = recording.End();
  CHECK(trace.end_reason == "the end");
  CHECK(trace.objects.size() == count);
}

TEST_CASE("schemes have the names that the flag has") {
  CHECK(std::string_view(SchemeName(ANTTRACKS_SITES_MARK)) == "mark");
  CHECK(std::string_view(SchemeName(ANTTRACKS_SITES_HASH)) == "hash");
  CHECK(std::string_view(SchemeName(ANTTRACKS_SITES_ASH)) == "ash");
}

}  // namespace
}  // namespace anttracks::core
