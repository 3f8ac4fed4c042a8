// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/phases.h"

#include <doctest/doctest.h>

#include <functional>

namespace anttracks::testing {
namespace {

using analyzer::LongestDroppedRise;

// A point for each 10 of the clock.
uint64_t Longest(uint32_t points, const std::function<uint64_t(uint32_t)>& live, uint64_t least = 50) {
  std::vector<uint64_t> clock, series;
  for (uint32_t i = 0; i < points; i++) {
    clock.push_back(uint64_t{10} * i);
    series.push_back(live(i));
  }
  return LongestDroppedRise(clock, series, std::vector<uint64_t>(points, least));
}

TEST_CASE("a phase lasts from a tenth of its growth to nine tenths") {
  CHECK(Longest(100, [](uint32_t i) { return i % 21 * 10; }) == 160);
  CHECK(Longest(100, [](uint32_t i) { return i >= 30 && i < 60 ? 1000 : 0; }) == 10);
  // It stays for long before it is dropped, or more of it comes then, of which nothing is dropped.
  CHECK(Longest(100, [](uint32_t i) { return i < 20 ? 10 * i : i < 80 ? 200 : 0; }) == 160);
  CHECK(Longest(100, [](uint32_t i) { return i < 20 ? 10 * i : i < 80 ? 200 + i / 20 : 0; }) == 170);
}

TEST_CASE("the longest phase counts") {
  CHECK(Longest(100, [](uint32_t i) { return i < 50 ? 10 * i : i % 10 * 50; }) == 410);
}

TEST_CASE("what is not dropped, or only in part, is no phase") {
  CHECK(Longest(100, [](uint32_t i) { return 10 * i; }) == 0);
  CHECK(Longest(100, [](uint32_t i) { return i < 80 ? 10 * i : 500; }) == 0);
  CHECK(Longest(100, [](uint32_t i) { return 5000 - 10 * i; }) == 0);
  CHECK(Longest(100, [](uint32_t) { return 7; }) == 0);
  CHECK(Longest(0, [](uint32_t) { return 7; }) == 0);
}

TEST_CASE("growth that does not count is no phase") {
  CHECK(Longest(
            100, [](uint32_t i) { return 1000 + i % 20; }, 50) == 0);
  CHECK(Longest(
            100, [](uint32_t i) { return 1000 + i % 20; }, 10) != 0);
}

}  // namespace
}  // namespace anttracks::testing
