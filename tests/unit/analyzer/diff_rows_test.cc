// SPDX-License-Identifier: Apache-2.0
// Which rows of two traces belong together, and which of their differences are above noise.
#include "analyzer/cli/diff_rows.h"

#include <doctest/doctest.h>

#include "analyzer/model/labels.h"

namespace anttracks::testing {
namespace {

using namespace analyzer;

Place At(int line, const char* class_name = "app.Node") {
  return {"app.List.add", "List.java", class_name, line};
}

Amount Kilobytes(uint64_t kilobytes) { return Amount(HeapTotals{kilobytes, kilobytes * 128}); }

// Allocated, and what of it is by C2's code, and live.
Side Allocating(uint64_t kilobytes, uint64_t optimized = 0, uint64_t live = 0) {
  return {Kilobytes(kilobytes), Kilobytes(live), Kilobytes(optimized)};
}

// "12>13" lines that were paired, "12>-" gone, "->13" new; by line.
std::string Pairs(const Sides& a, const Sides& b) {
  std::string text;
  for (const DiffRow& row : MatchRows(a, b)) {
    text += text.empty() ? "" : " ";
    text += (row.in_a ? std::to_string(row.line_in_a) : "-") + ">" +
            (row.in_b ? std::to_string(row.place.line) : "-");
  }
  return text;
}

constexpr uint64_t kAll = 100 << 10;  // KB: 1 % is 1 MiB, 0.01 % less than the least that counts

const NoiseRule kRule = NoiseRule::Of({kAll * 1024.0, 0, 0, 0}, {kAll * 1024.0, 0, 0, 0});

Difference Judged(const Side& a, const Side& b, const NoiseRule& rule = kRule) {
  DiffRow row;
  row.in_a = row.in_b = true;
  row.a = a;
  row.b = b;
  return Judge(row, rule);
}

TEST_CASE("names that the JVM numbers anew in each run are the same") {
  CHECK(StableName("app.Main$$Lambda$14/0x00007f73f811aa78") == "app.Main$$Lambda");
  CHECK(StableName("app.Main$$Lambda$150/0x1[]") == "app.Main$$Lambda[]");
  CHECK(StableName("jdk.internal.reflect.GeneratedMethodAccessor3") ==
        "jdk.internal.reflect.GeneratedMethodAccessor");
  CHECK(StableName("com.sun.proxy.$Proxy12") == "com.sun.proxy.$Proxy");
  CHECK(StableName("java.lang.invoke.LambdaForm$DMH/0x0000000800c00000") == "java.lang.invoke.LambdaForm$DMH");
  CHECK(StableName("app.Utf8") == "app.Utf8");
}

TEST_CASE("sites are matched by method, line and class") {
  const Sides a{{At(12), Allocating(5)}, {At(12, "int[]"), Allocating(6)}, {At(30), Allocating(7)}};
  CHECK(Pairs(a, a) == "12>12 30>30 12>12");
  for (const DiffRow& row : MatchRows(a, a)) CHECK(row.Allocated() == 0);
}

TEST_CASE("a site that vanished and one that is new keep their rows") {
  CHECK(Pairs({{At(12), Allocating(5)}}, {}) == "12>-");
  CHECK(Pairs({}, {{At(12), Allocating(5)}}) == "->12");
  CHECK(Pairs({{At(12), Allocating(5)}}, {{At(12, "int[]"), Allocating(5)}}) == "12>- ->12");
  CHECK(Pairs({{At(12), Allocating(5)}}, {{At(12), Allocating(5)}, {At(20), Allocating(1)}}) == "12>12 ->20");
}

TEST_CASE("sites below a line that was inserted are matched in their order") {
  const Sides a{{At(30), Allocating(1000)}, {At(31), Allocating(5)}, {At(40), Allocating(300)}};
  const Sides b{{At(31), Allocating(1000)}, {At(32), Allocating(5)}, {At(41), Allocating(300)}};
  CHECK(Pairs(a, b) == "30>31 31>32 40>41");
  const Sides inserted{
      {At(30), Allocating(70)}, {At(31), Allocating(1000)}, {At(32), Allocating(5)}, {At(41), Allocating(300)}};
  CHECK(Pairs(a, inserted) == "->30 30>31 31>32 40>41");
  CHECK(Pairs(inserted, a) == "30>- 31>30 32>31 41>40");
}

TEST_CASE("sites of the same line stay together where another one is missing") {
  const Sides a{{At(10), Allocating(5)}, {At(20), Allocating(2)}};
  CHECK(Pairs(a, {{At(20), Allocating(3)}}) == "10>- 20>20");
}

TEST_CASE("every row of both sides is in one row of the result") {
  Sides a, b;
  for (int line = 0; line < 1500; line++) {
    a[At(line)] = Allocating(static_cast<uint64_t>(line % 7));
    b[At(line + 3)] = Allocating(static_cast<uint64_t>(line % 5));
  }
  double sum_a = 0, sum_b = 0;
  size_t in_a = 0, in_b = 0;
  for (const DiffRow& row : MatchRows(a, b)) {
    sum_a += row.a.allocated.bytes().value;
    sum_b += row.b.allocated.bytes().value;
    in_a += row.in_a;
    in_b += row.in_b;
  }
  CHECK(in_a == 1500);
  CHECK(in_b == 1500);
  Side all_a, all_b;
  for (const auto& [place, side] : a) all_a.Add(side);
  for (const auto& [place, side] : b) all_b.Add(side);
  CHECK(sum_a == all_a.allocated.bytes().value);
  CHECK(sum_b == all_b.allocated.bytes().value);
}

TEST_CASE("a difference counts from one percent of all bytes and five of the row on") {
  CHECK(Judged(Allocating(5000), Allocating(5000)) == Difference::kNone);
  CHECK(Judged(Allocating(5000), Allocating(6000)) == Difference::kNone);  // 1000 KB are less than 1 %
  CHECK(Judged(Allocating(5000), Allocating(6100)) == Difference::kAllocated);
  CHECK(Judged(Allocating(6100), Allocating(5000)) == Difference::kAllocated);
  CHECK(Judged(Allocating(50000), Allocating(52000)) == Difference::kNone);  // less than 5 % of the row
}

TEST_CASE("what C2 allocates less and other code of the class more is noise, whatever the sites") {
  const auto judged = [](const Sides& a, const Sides& b) {
    std::vector<DiffRow> rows = MatchRows(a, b);
    AddShifts(&rows);
    std::string text;
    for (const DiffRow& row : rows) text += Judge(row, kRule) == Difference::kNone ? "-" : "+";
    return text;
  };
  const Sides before{{At(10), Allocating(36000, 36000)}, {At(20), Allocating(400)}};
  const auto after = [](const char* class_name, uint64_t other, uint64_t other_by_c2 = 0) {
    return Sides{{At(10), Allocating(34000, 34000)}, {At(20, class_name), Allocating(other, other_by_c2)}};
  };
  CHECK(judged(before, after("app.Node", 2400)) == "--");
  CHECK(judged(after("app.Node", 2400), before) == "--");
  CHECK(judged(before, after("app.Node", 2500)) == "--");  // but for 100 KB
  CHECK(judged(before, after("app.Node", 6000)) == "-+");  // but for 3600 KB
  Sides with_another = before, after_another = after("app.Node", 2400);
  with_another[At(30)] = Allocating(9000, 1000);  // C2 compiled this one sooner
  after_another[At(30)] = Allocating(9000, 8000);
  CHECK(judged(with_another, after_another) == "---");
  after_another[At(40)] = Allocating(3000, 3000);  // and does not make up for this one
  CHECK(judged(with_another, after_another) == "---+");
  CHECK(judged(before, after("app.Node", 2400, 2400)) == "++");  // both by C2: the source moved it
  CHECK(judged(before, after("int[]", 2400)) == "+++");          // of another class
}

TEST_CASE("what C2 leaves out in both runs is allocated longer where C2 compiled later") {
  const auto judged = [](uint64_t left_out_a, uint64_t left_out_b, uint64_t by_c2 = 0) {
    const Sides a{{At(10), Allocating(36000, 34000)}, {At(20, "int[]"), Allocating(left_out_a)}};
    const Sides b{{At(10), Allocating(36000, 29000)}, {At(20, "int[]"), Allocating(left_out_b, by_c2)}};
    std::vector<DiffRow> rows = MatchRows(a, b);
    AddShifts(&rows);
    return Judge(rows[1], kRule);
  };
  CHECK(judged(500, 2500) == Difference::kOptimized);
  CHECK(judged(500, 5500) == Difference::kOptimized);
  CHECK(judged(500, 5501) == Difference::kAllocated);        // more than other sites were later
  CHECK(judged(2500, 500) == Difference::kAllocated);        // less, though later
  CHECK(judged(500, 2500, 2000) == Difference::kOptimized);  // C2 left it out in the first only
  CHECK(judged(500, 2500, 500) == Difference::kAllocated);   // and other code allocated more
  CHECK(judged(0, 2500) == Difference::kAllocated);
}

TEST_CASE("of samples, what other sites of the class make up for is told apart") {
  const auto judged = [](const Sides& a, const Sides& b) {
    std::vector<DiffRow> rows = MatchRows(a, b);
    AddMadeUp(&rows);
    std::string text;
    for (const DiffRow& row : rows) {
      const Difference difference = Judge(row, kRule);
      text += difference == Difference::kNone ? "-" : difference == Difference::kOptimized ? "o" : "+";
    }
    return text;
  };
  const Sides before{{At(10), Allocating(6000)}, {At(20), Allocating(8000)}};
  CHECK(judged(before, {{At(10), Allocating(1000)}, {At(20), Allocating(13000)}}) == "oo");
  CHECK(judged(before, {{At(10), Allocating(1000)}, {At(20), Allocating(12100)}}) == "oo");  // but for 900 KB
  CHECK(judged(before, {{At(10), Allocating(1000)}, {At(20), Allocating(11000)}}) == "+o");  // but for 2000 KB
  CHECK(judged(before, {{At(10), Allocating(1000)}, {At(20), Allocating(8000)}}) == "+-");
  CHECK(judged(before, {{At(10), Allocating(9000)}, {At(20), Allocating(11000)}}) == "++");
  CHECK(judged(before,
               {{At(10), Allocating(1000)}, {At(20), Allocating(8000)}, {At(20, "int[]"), Allocating(5000)}}) ==
        "+-+");  // of another class
}

TEST_CASE("a row that one side does not have counts from 64 KB on") {
  CHECK(Judged({}, Allocating(63)) == Difference::kNone);
  CHECK(Judged({}, Allocating(64)) == Difference::kAllocated);
  CHECK(Judged(Allocating(64), {}) == Difference::kAllocated);
  // Only C2's code: it allocates itself what a method of the JDK allocated in the other run.
  CHECK(Judged({}, Allocating(64, 64)) == Difference::kNone);
  CHECK(Judged({}, Allocating(2000, 2000)) == Difference::kAllocated);
}

TEST_CASE("what C2 left out in one run only is told apart") {
  CHECK(Judged(Allocating(200), Allocating(24000, 23800)) == Difference::kOptimized);
  CHECK(Judged(Allocating(24000, 23800), Allocating(210, 1)) == Difference::kOptimized);
  // More often than before: C2's code allocates in both runs.
  CHECK(Judged(Allocating(2500, 2300), Allocating(24000, 23800)) == Difference::kAllocated);
  // Other code allocates more, too.
  CHECK(Judged(Allocating(200), Allocating(24000, 20000)) == Difference::kAllocated);
}

TEST_CASE("a row of several sites is noise but for what C2 left out at some of them") {
  DiffRow row;
  row.in_a = row.in_b = true;
  row.a = Allocating(40'000, 39'000);
  row.b = Allocating(60'000, 59'000);
  CHECK(Judge(row, kRule) == Difference::kAllocated);
  row.optimized = 19'500 * 1024.0;
  CHECK(Judge(row, kRule) == Difference::kOptimized);
  row.optimized = 10'000 * 1024.0;
  CHECK(Judge(row, kRule) == Difference::kAllocated);
}

TEST_CASE("live objects count where they are twice as many and beyond what the heap itself varies") {
  const NoiseRule rule = NoiseRule::Of({1e6, 1024.0 * 10'000, 1024.0 * 3000, 0}, {1e6, 0, 1024.0 * 8000, 0});
  CHECK(rule.live_bytes == 1024.0 * 3000);
  CHECK(Judged(Allocating(0, 0, 1000), Allocating(0, 0, 3900), rule) == Difference::kNone);
  CHECK(Judged(Allocating(0, 0, 1000), Allocating(0, 0, 4000), rule) == Difference::kLive);
  CHECK(Judged(Allocating(0, 0, 9000), Allocating(0, 0, 13000), rule) == Difference::kNone);
}

TEST_CASE("estimates whose intervals overlap do not differ") {
  const auto sampled = [](uint64_t count) {
    Estimate estimate;
    for (uint64_t i = 0; i < count; i++) estimate.Add(EstimateOf(24, 512 << 10));
    Side side;
    side.allocated = Amount(estimate);
    return side;
  };
  NoiseRule rule = kRule;
  CHECK(Judged(sampled(10), sampled(16), rule) == Difference::kNone);
  CHECK(Judged(sampled(10), sampled(60), rule) == Difference::kAllocated);
  // 95 % intervals are apart, which one of 200 pairs of equal rows has.
  CHECK(Judged(sampled(2450), sampled(2240), rule) == Difference::kNone);
  CHECK(Judged(sampled(2450), sampled(2100), rule) == Difference::kAllocated);
  CHECK(Judged({}, sampled(4), rule) == Difference::kNone);
  CHECK(Judged({}, sampled(6), rule) == Difference::kAllocated);
  rule.unseen_a = PoissonHigh(0) * (512 << 10);
  CHECK(Judged({}, sampled(12), rule) == Difference::kNone);
  CHECK(Judged({}, sampled(20), rule) == Difference::kAllocated);
}

TEST_CASE("what is above noise comes first, then what may be chance, then noise") {
  std::vector<DiffRow> rows =
      MatchRows({{At(1), Allocating(50'000)}, {At(2), Allocating(200)}, {At(4), Allocating(0, 0, 1)}},
                {{At(1), Allocating(51'000)},
                 {At(2), Allocating(40'000, 39'800)},
                 {At(3), Allocating(70)},
                 {At(4), Allocating(0, 0, 2000)}});
  SortRows(&rows, kRule);
  std::string lines;
  for (const DiffRow& row : rows) lines += std::to_string(row.place.line);
  CHECK(lines == "4321");
}

}  // namespace
}  // namespace anttracks::testing
