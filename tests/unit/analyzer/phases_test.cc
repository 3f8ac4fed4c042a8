// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/phases.h"

#include <doctest/doctest.h>

#include <functional>

#include "tests/unit/analyzer/trace_builder.h"

namespace anttracks::testing {
namespace {

using analyzer::Definitions;
using analyzer::HistoryPoint;
using analyzer::LongestDroppedRise;
using analyzer::Problems;

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

// What the first pair has grows for 20 points; then the second one takes its place, and all that is live goes
// on growing.
uint64_t LongestWhereOneTakesOver(const char* class_name, uint64_t kind) {
  Problems problems;
  Definitions definitions(problems);
  DefinitionsBuilder s;
  s.Class(1, class_name, kind, 0).Method(1, "java.util.Arrays", "copyOf", "Arrays.java");
  s.Site(16, 1, 1, 3509, 0, 0).Site(17, 1, 1, 3478, 0, 2).SiteClass(1, 16, 1).SiteClass(2, 17, 1);
  definitions.Read(s.bytes().span(), {});
  std::vector<HistoryPoint> points;
  for (uint64_t i = 0; i < 40; i++) {
    HistoryPoint& point = points.emplace_back();
    point.allocated_words = 1000 * i;
    point.live = {i, 10'000 * (i + 1)};
    const uint64_t words = 1000 * (i + 1), first = i < 20 ? words : i < 25 ? 20'000 - (i - 19) * 4000 : 0;
    if (first != 0) point.levels.Add({.site_class = 1, .objects = 1, .words = first});
    if (i >= 20) point.levels.Add({.site_class = 2, .objects = 1, .words = words - first});
  }
  return analyzer::LongestPhase(definitions, points);
}

TEST_CASE("arrays from two lines of a method that replace each other are no phase, other objects are") {
  CHECK(LongestWhereOneTakesOver("java.lang.Object[]", 9) == 0);
  CHECK(LongestWhereOneTakesOver("app.Node", 8) > 10'000);
}

}  // namespace
}  // namespace anttracks::testing
