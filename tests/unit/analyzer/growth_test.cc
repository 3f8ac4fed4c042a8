// SPDX-License-Identifier: Apache-2.0
// The test for growth, on histories of programs that are made up: how many objects are born in each epoch, and
// when they die.
#include "analyzer/passes/growth.h"

#include <doctest/doctest.h>

#include <functional>
#include <iterator>
#include <random>

namespace anttracks::testing {
namespace {

using analyzer::Growth;
using analyzer::GrowthTimeline;
using analyzer::JudgeGrowth;
using analyzer::LiveCount;
using analyzer::Population;
using analyzer::PopulationOfCounts;
using analyzer::Verdict;

constexpr uint32_t kForEver = UINT32_MAX;

// A program of so many epochs, each of which allocates as much as the others. Every few collections, one is of
// the old space.
struct Program {
  uint32_t epochs = 100, old_space_every = 5;
  // Objects that are born in an epoch and survive its collection, and the epoch in which they die.
  std::function<uint64_t(uint32_t)> born;
  std::function<uint32_t(uint32_t)> dies = [](uint32_t) { return kForEver; };
  uint64_t before = 0;  // objects that are older than the trace and live for ever
  uint32_t first_epoch = 0;
  uint32_t longest_phase = 0;  // of what grew and was dropped, in epochs
  std::function<uint64_t(uint32_t)> live = [](uint32_t) { return 100'000; };  // words, of all populations
};

GrowthTimeline TimelineOf(const Program& program) {
  GrowthTimeline timeline;
  timeline.first_epoch = program.first_epoch;
  timeline.longest_phase_words = program.longest_phase * uint64_t{100'000};
  uint32_t before = 0;
  for (uint32_t epoch = 0; epoch < program.epochs; epoch++) {
    timeline.allocated_words.push_back((epoch + 1) * uint64_t{100'000});
    const uint32_t after = epoch + 1;
    if (after % program.old_space_every != 0 || after <= program.first_epoch) continue;
    timeline.old_space.push_back({after, before, program.live(after)});
    before = after;
  }
  return timeline;
}

Growth Judged(const Program& program) {
  const GrowthTimeline timeline = TimelineOf(program);
  Population population;
  population.before = {0, program.before, program.before * 4};
  const uint32_t last = timeline.old_space.empty() ? 0 : timeline.old_space.back().epoch;
  for (uint32_t epoch = program.first_epoch; epoch < last; epoch++) {
    if (program.dies(epoch) < last) continue;
    population.births.push_back({epoch, program.born(epoch), program.born(epoch) * 4});
  }
  for (const GrowthTimeline::OldSpace& old_space : timeline.old_space) {
    uint64_t survived = program.before;
    for (uint32_t epoch = program.first_epoch; epoch < old_space.epoch_before; epoch++) {
      if (program.dies(epoch) >= old_space.epoch) survived += program.born(epoch);
    }
    population.survived.push_back(survived);
  }
  return JudgeGrowth(timeline, population);
}

TEST_CASE("what grows by the same from the start is a leak") {
  const Growth growth = Judged({.born = [](uint32_t) { return 10; }, .before = 500});
  CHECK(growth.verdict == Verdict::kLeak);
  CHECK(growth.onset <= 1);
  CHECK(growth.end == 95);
  CHECK(growth.objects == (growth.end - growth.onset) * 10);
  CHECK(growth.words == growth.objects * 4);
  CHECK(growth.freed == 0);
  CHECK(growth.collections == 20);
}

TEST_CASE("a leak that begins late is found where it begins") {
  for (const uint32_t begin : {10u, 25u, 33u, 48u}) {
    CAPTURE(begin);
    const Growth growth =
        Judged({.born = [=](uint32_t epoch) { return epoch < begin ? 0 : 20; }, .before = 3000});
    CHECK(growth.verdict == Verdict::kLeak);
    CHECK(growth.onset + 1 >= begin);
    CHECK(growth.onset <= begin + 1);
  }
}

TEST_CASE("a leak among objects that stay from start-up is found where it begins") {
  const Growth growth = Judged({.born = [](uint32_t epoch) { return epoch < 4 ? 2000 : epoch < 40 ? 0 : 50; }});
  CHECK(growth.verdict == Verdict::kLeak);
  CHECK(growth.onset >= 35);
  CHECK(growth.onset <= 42);
}

TEST_CASE("a leak under noise is a leak") {
  std::mt19937 random(7);
  std::vector<uint64_t> born;
  for (int i = 0; i < 100; i++) born.push_back(random() % 40);
  CHECK(Judged({.born = [&](uint32_t epoch) { return born[epoch]; }}).verdict == Verdict::kLeak);
}

TEST_CASE("a leak that becomes faster is a leak") {
  CHECK(Judged({.born = [](uint32_t epoch) { return 10 + epoch / 4; }}).verdict == Verdict::kLeak);
}

TEST_CASE("a leak in the twenty collections that there are is found") {
  CHECK(Judged({.epochs = 20, .old_space_every = 2, .born = [](uint32_t) { return 30; }}).verdict ==
        Verdict::kLeak);
}

TEST_CASE("what the trace knows only from an epoch on is judged from there") {
  const Growth growth = Judged({.born = [](uint32_t) { return 10; }, .before = 4000, .first_epoch = 40});
  CHECK(growth.verdict == Verdict::kLeak);
  CHECK(growth.onset == 40);
}

TEST_CASE("fewer than five old-space collections are too few for a verdict") {
  CHECK(Judged({.epochs = 24, .born = [](uint32_t) { return 10; }}).verdict == Verdict::kTooFew);
  CHECK(Judged({.epochs = 25, .born = [](uint32_t) { return 10; }}).verdict == Verdict::kLeak);
}

TEST_CASE("start-up is no leak") {
  CHECK(Judged({.born = [](uint32_t epoch) { return epoch < 15 ? 1000 : 0; }}).verdict != Verdict::kLeak);
  // Ever fewer, as classes that are loaded when they are first used.
  CHECK(Judged({.born = [](uint32_t epoch) { return 2000 / (epoch + 1); }}).verdict == Verdict::kStopped);
}

TEST_CASE("a cache that fills and stops is no leak, wherever the trace ends") {
  for (uint32_t epochs = 60; epochs <= 200; epochs += 5) {
    CAPTURE(epochs);
    const auto born = [](uint32_t epoch) { return epoch < 50 ? 40 : 0; };
    CHECK(Judged({.epochs = epochs, .born = born}).verdict != Verdict::kLeak);
  }
}

TEST_CASE("a cache of which ever less is missing is no leak") {
  double left = 100'000;
  std::vector<uint64_t> born;
  for (int i = 0; i < 100; i++) {
    born.push_back(static_cast<uint64_t>(left / 50));
    left -= left / 50;
  }
  CHECK(Judged({.born = [&](uint32_t epoch) { return born[epoch]; }}).verdict == Verdict::kStopped);
}

TEST_CASE("a step is no leak") {
  CHECK(Judged({.born = [](uint32_t epoch) { return epoch == 50 ? 5000 : 0; }}).verdict != Verdict::kLeak);
  CHECK(Judged({.born = [](uint32_t epoch) { return epoch % 33 == 10 ? 5000 : 0; }}).verdict != Verdict::kLeak);
}

TEST_CASE("the saw-tooth of what builds up and is dropped is no leak, wherever the trace ends") {
  for (uint32_t epochs = 60; epochs <= 160; epochs += 5) {
    CAPTURE(epochs);
    const auto dies = [](uint32_t epoch) { return (epoch / 40 + 1) * 40; };
    CHECK(Judged({.epochs = epochs, .born = [](uint32_t) { return 100; }, .dies = dies}).verdict !=
          Verdict::kLeak);
  }
}

TEST_CASE("a cache that replaces the eldest is no leak, however young the trace") {
  for (uint32_t epochs = 60; epochs <= 160; epochs += 5) {
    CAPTURE(epochs);
    const auto dies = [](uint32_t epoch) { return epoch + 30; };
    CHECK(Judged({.epochs = epochs, .born = [](uint32_t) { return 100; }, .dies = dies}).verdict !=
          Verdict::kLeak);
  }
}

TEST_CASE("what was seen to be freed is a leak only when it is four times as much") {
  // 1,000 objects of start-up that are freed at epoch 50, and an even growth.
  const auto growth = [](uint64_t each) {
    return Judged({.born = [=](uint32_t epoch) { return epoch == 0 ? 1000 : each; },
                   .dies = [](uint32_t epoch) { return epoch == 0 ? 50 : kForEver; }});
  };
  CHECK(growth(20).freed == 1000);
  CHECK(growth(20).verdict == Verdict::kFreed);
  CHECK(growth(60).verdict == Verdict::kLeak);
}

// Under noise, after start-up and in a population that is there already.
Growth LeakFrom(uint32_t begin, uint32_t epochs) {
  std::mt19937 random(begin);
  std::vector<uint64_t> born;
  for (uint32_t epoch = 0; epoch < epochs; epoch++) {
    born.push_back(epoch < 4 ? 5000 : epoch < begin ? 0 : 10 + random() % 20);
  }
  return Judged({.epochs = epochs, .born = [&](uint32_t epoch) { return born[epoch]; }, .before = 3000});
}

TEST_CASE("a leak that begins in the second half is found where it begins") {
  for (const uint32_t begin : {105u, 112u, 120u, 126u, 133u}) {
    CAPTURE(begin);
    const Growth growth = LeakFrom(begin, 200);
    CHECK(growth.verdict == Verdict::kLeak);
    CHECK(growth.late);
    CHECK(growth.onset + 2 >= begin);
    CHECK(growth.onset <= begin + 2);
  }
}

TEST_CASE("a leak that begins in the last third grows of late, and is told where it begins") {
  for (const uint32_t begin : {140u, 150u, 155u, 165u}) {
    CAPTURE(begin);
    const Growth growth = LeakFrom(begin, 200);
    CHECK(growth.verdict == Verdict::kRecent);
    CHECK(growth.onset + 2 >= begin);
    CHECK(growth.onset <= begin + 2);
    // And it becomes a leak as it goes on.
    CHECK(LeakFrom(begin, begin * 8 / 5).verdict == Verdict::kLeak);
  }
}

TEST_CASE("growth of late is no leak yet: too few collections, too little of the time, or a phase") {
  const auto late = [](uint32_t epochs, uint32_t begin, uint32_t longest_phase = 0) {
    return Judged({.epochs = epochs,
                   .born = [=](uint32_t epoch) { return epoch < begin ? 0 : 20; },
                   .longest_phase = longest_phase});
  };
  const Growth few = late(90, 55);
  CHECK(few.verdict == Verdict::kRecent);
  CHECK(few.collections == 7);
  CHECK(late(100, 60).verdict == Verdict::kLeak);
  CHECK(late(400, 240).verdict == Verdict::kLeak);
  CHECK(late(400, 300).verdict == Verdict::kRecent);
  CHECK(late(400, 240, 60).verdict == Verdict::kLeak);
  CHECK(late(400, 240, 90).verdict == Verdict::kRecent);
  CHECK(late(100, 85).verdict == Verdict::kTooFew);
}

TEST_CASE("growth of late is no leak yet where all of the heap grows") {
  const auto born = [](uint32_t epoch) { return epoch < 120 ? 0 : 20; };
  const auto verdict = [&](const std::function<uint64_t(uint32_t)>& live) {
    return Judged({.epochs = 200, .born = born, .live = live}).verdict;
  };
  std::mt19937 random(2);
  CHECK(verdict([&](uint32_t) { return 90'000 + random() % 20'000; }) == Verdict::kLeak);
  CHECK(verdict([](uint32_t epoch) { return epoch < 120 ? 90'000 : 1000 * epoch; }) == Verdict::kLeak);
  CHECK(verdict([](uint32_t epoch) { return 1000 * epoch; }) == Verdict::kRecent);
  // Start-up is long ago.
  CHECK(verdict([](uint32_t epoch) { return epoch < 30 ? 1000 * epoch : 30'000; }) == Verdict::kLeak);
}

TEST_CASE("a cache that is used late, and of which ever less is missing, is no leak, wherever the trace ends") {
  for (uint32_t epochs = 70; epochs <= 300; epochs += 5) {
    CAPTURE(epochs);
    double left = 100'000;
    std::vector<uint64_t> born(60);
    for (uint32_t i = 60; i < epochs; i++) {
      born.push_back(static_cast<uint64_t>(left / 12));
      left -= left / 12;
    }
    const auto verdict =
        Judged({.epochs = epochs, .born = [&](uint32_t epoch) { return born[epoch]; }}).verdict;
    CHECK(verdict != Verdict::kLeak);
    CHECK(verdict != Verdict::kRecent);
  }
}

TEST_CASE("a late phase that ends is no leak, wherever the trace ends") {
  for (uint32_t epochs = 110; epochs <= 300; epochs += 5) {
    CAPTURE(epochs);
    const auto born = [](uint32_t epoch) { return epoch >= 100 && epoch < 120 ? 100 : 0; };
    CHECK(Judged({.epochs = epochs, .born = born}).verdict != Verdict::kLeak);
  }
}

TEST_CASE("a late jump is no leak, nor if it takes a few collections, wherever the trace ends") {
  for (uint32_t epochs = 70; epochs <= 200; epochs += 5) {
    for (const uint32_t width : {1u, 2u, 5u, 8u}) {
      CAPTURE(epochs);
      CAPTURE(width);
      const auto born = [=](uint32_t epoch) { return epoch >= 60 && epoch < 60 + width ? 5000 : 0; };
      const Verdict verdict = Judged({.epochs = epochs, .born = born, .before = 1000}).verdict;
      CHECK(verdict != Verdict::kLeak);
      CHECK(verdict != Verdict::kRecent);
    }
  }
}

TEST_CASE("of a thousand populations that are used by chance hardly one grows of late") {
  std::mt19937 random(5);
  int leaks = 0, recent = 0;
  for (int population = 0; population < 1000; population++) {
    const uint32_t epochs = 60 + random() % 200;
    std::vector<uint64_t> born;
    // Some epochs have many, most have none: what stays is a walk of leaps.
    for (uint32_t i = 0; i < epochs; i++) born.push_back(random() % 20 == 0 ? random() % 500 : 0);
    // Of this, objects die at any time.
    std::vector<uint32_t> dies;
    for (uint32_t i = 0; i < epochs; i++) dies.push_back(random() % 3 == 0 ? kForEver : i + random() % 100);
    const Growth growth = Judged({.epochs = epochs,
                                  .born = [&](uint32_t epoch) { return born[epoch]; },
                                  .dies = [&](uint32_t epoch) { return dies[epoch]; }});
    leaks += growth.verdict == Verdict::kLeak && growth.late;
    recent += growth.verdict == Verdict::kRecent;
  }
  CHECK(leaks == 0);
  MESSAGE("of a thousand " << recent << " are said to grow of late");
  CHECK(recent < 10);
}

TEST_CASE("work that is under way is no leak: it does not outlive two old-space collections") {
  const auto dies = [](uint32_t epoch) { return epoch + 6; };
  CHECK(Judged({.born = [](uint32_t) { return 1000; }, .dies = dies}).verdict != Verdict::kLeak);
}

TEST_CASE("what grows in every second interval between old-space collections for long is no leak") {
  const auto born = [](uint32_t epoch) { return epoch >= 80 || epoch / 5 % 2 == 0 ? 20 : 0; };
  CHECK(Judged({.born = born}).verdict == Verdict::kUneven);
}

TEST_CASE("hardly anything is no leak") {
  CHECK(Judged({.born = [](uint32_t epoch) { return epoch % 10 == 0 ? 1 : 0; }}).verdict == Verdict::kNone);
  CHECK(Judged({.born = [](uint32_t) { return 0; }, .before = 100'000}).verdict == Verdict::kNone);
}

// Of a population only the counts are known, one for each census.
Growth JudgedByCounts(const std::vector<uint64_t>& counts) {
  GrowthTimeline timeline;
  timeline.counted = true;
  timeline.first_epoch = 1;
  std::vector<LiveCount> live;
  for (uint32_t i = 0; i < counts.size(); i++) {
    timeline.allocated_words.push_back((i + 1) * uint64_t{100'000});
    timeline.old_space.push_back({i + 1, i + 1, 100'000});
    live.push_back({i + 1, counts[i], counts[i] * 4});
  }
  return JudgeGrowth(timeline, PopulationOfCounts(live));
}

std::vector<uint64_t> CountsOf(uint32_t censuses, const std::function<double(uint32_t)>& count) {
  std::vector<uint64_t> counts;
  for (uint32_t i = 0; i < censuses; i++) counts.push_back(static_cast<uint64_t>(count(i)));
  return counts;
}

TEST_CASE("what was not freed is the least that was live later") {
  const Population population = PopulationOfCounts({{1, 50, 100}, {2, 30, 60}, {3, 70, 90}, {4, 60, 120}});
  CHECK(population.before.objects == 30);
  CHECK(population.before.words == 60);
  REQUIRE(population.births.size() == 2);
  CHECK(population.births[0].epoch == 2);  // after two censuses
  CHECK(population.births[0].objects == 30);
  CHECK(population.births[0].words == 30);
  CHECK((population.births[1].epoch == 3 && population.births[1].objects == 0));  // they are larger
}

TEST_CASE("by counts: what grows by the same is a leak, and eight censuses say so") {
  for (const uint32_t censuses : {8u, 20u, 100u}) {
    CAPTURE(censuses);
    const Growth growth = JudgedByCounts(CountsOf(censuses, [](uint32_t i) { return 500 + 20 * i; }));
    CHECK(growth.verdict == Verdict::kLeak);
    CHECK(growth.onset == 1);
    CHECK(growth.freed == 0);
  }
  CHECK(JudgedByCounts(CountsOf(7, [](uint32_t i) { return 500 + 20 * i; })).verdict == Verdict::kTooFew);
}

TEST_CASE("by counts: a leak is found within two censuses of its begin, under noise, after start-up") {
  std::mt19937 random(11);
  for (const uint32_t begin : {4u, 10u, 18u}) {
    CAPTURE(begin);
    const Growth growth = JudgedByCounts(CountsOf(40, [&](uint32_t i) {
      const double start_up = i < 2 ? 5000 : 300;
      return start_up + random() % 20 + (i < begin ? 0 : 40.0 * (i - begin));
    }));
    CHECK(growth.verdict == Verdict::kLeak);
    CHECK(growth.onset + 2 >= begin + 1);
    CHECK(growth.onset <= begin + 1 + 2);
  }
}

TEST_CASE("by counts: a leak that begins in the second half takes sixteen censuses") {
  std::mt19937 random(13);
  const auto from = [&](uint32_t begin, uint32_t censuses) {
    return JudgedByCounts(CountsOf(
        censuses, [&](uint32_t i) { return 3000.0 + random() % 20 + (i < begin ? 0 : 40.0 * (i - begin)); }));
  };
  for (const uint32_t begin : {33u, 36u, 39u}) {
    CAPTURE(begin);
    const Growth growth = from(begin, 60);
    CHECK(growth.verdict == Verdict::kLeak);
    CHECK(growth.late);
    CHECK(growth.onset + 2 >= begin + 1);
    CHECK(growth.onset <= begin + 1 + 2);
  }
  CHECK(from(18, 30).verdict == Verdict::kRecent);
  CHECK(from(45, 60).verdict == Verdict::kRecent);
}

TEST_CASE("by counts: what stays, fills, swings, or is built and dropped is no leak") {
  const std::function<double(uint32_t)> programs[] = {
      [](uint32_t) { return 5000; },
      [](uint32_t i) { return i < 15 ? 100.0 * i : 1500; },
      [](uint32_t i) { return 3000 - 3000.0 / (i + 1); },
      [](uint32_t i) { return 100.0 * (i % 10); },
      [](uint32_t i) { return 1000 + 100.0 * (i % 3); },
      [](uint32_t i) { return i < 5 ? 1000.0 * i : 5000 - 50.0 * i; },
      [](uint32_t i) { return i < 20 ? 0 : 4000; },
      [](uint32_t i) { return i < 33 ? 1000 : 1000 + 300.0 * (i - 33); },
  };
  for (size_t program = 0; program < std::size(programs); program++) {
    for (const uint32_t censuses : {9u, 20u, 40u}) {
      CAPTURE(program);
      CAPTURE(censuses);
      if (program == 1 && censuses == 9) continue;  // it has not filled yet
      if (program == 3 && censuses == 9) continue;  // nothing was dropped yet
      CHECK(JudgedByCounts(CountsOf(censuses, programs[program])).verdict != Verdict::kLeak);
    }
  }
}

TEST_CASE("by counts: of a thousand populations that only swing hardly one is called a leak") {
  std::mt19937 random(3);
  int leaks = 0;
  for (int population = 0; population < 1000; population++) {
    const uint32_t censuses = 8 + random() % 40;
    leaks += JudgedByCounts(CountsOf(censuses, [&](uint32_t) { return 1000 + random() % 500; })).verdict ==
             Verdict::kLeak;
  }
  CHECK(leaks == 0);
  int walks = 0;
  for (int population = 0; population < 1000; population++) {
    double at = 5000;
    walks += JudgedByCounts(CountsOf(30, [&](uint32_t) {
               at += static_cast<double>(random() % 201) - 100;
               return at;
             })).verdict == Verdict::kLeak;
  }
  MESSAGE("of a thousand random walks " << walks << " are called leaks");
  CHECK(walks < 10);
}

}  // namespace
}  // namespace anttracks::testing
