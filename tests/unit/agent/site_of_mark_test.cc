// SPDX-License-Identifier: Apache-2.0
// Sites in marks, in each scheme of the VM.
#include "agent/heap/site_of_mark.h"

#include <doctest/doctest.h>

#include <string_view>
#include <utility>

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
        FakeVm::SetMark(at[1], vm.HashedMark(31));
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

TEST_CASE("schemes have the names that the flag has") {
  CHECK(std::string_view(SchemeName(ANTTRACKS_SITES_MARK)) == "mark");
  CHECK(std::string_view(SchemeName(ANTTRACKS_SITES_HASH)) == "hash");
  CHECK(std::string_view(SchemeName(ANTTRACKS_SITES_ASH)) == "ash");
}

}  // namespace
}  // namespace anttracks::core
