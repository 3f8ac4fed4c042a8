// SPDX-License-Identifier: Apache-2.0
// Histories of what is live, and what leaks and summary make of them.
#include "analyzer/passes/histories.h"

#include <doctest/doctest.h>

#include <random>

#include "analyzer/model/frames.h"
#include "tests/unit/analyzer/sampled_trace.h"
#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {
namespace {

using analyzer::ApplicationFrames;
using analyzer::Definitions;
using analyzer::GcKind;
using analyzer::HistoryPoint;
using analyzer::Level;
using analyzer::Levels;
using analyzer::OldSpaceCollections;
using analyzer::Problems;
using analyzer::ThinnedPoints;
using Is = OldSpaceCollections::Is;

HistoryPoint PointOf(uint64_t gc) {
  HistoryPoint point;
  point.gc = gc;
  return point;
}

TEST_CASE("a full collection looks into the old space, a young one does not") {
  OldSpaceCollections collections;
  CHECK(collections.Next(GcKind::kYoung) == Is::kNo);
  CHECK(collections.Next(GcKind::kFull) == Is::kYes);
  CHECK(collections.Next(GcKind::kFull) == Is::kYes);
  CHECK(collections.Next(GcKind::kYoung) == Is::kNo);
  CHECK(collections.Next(GcKind::kYoung) == Is::kNo);
}

TEST_CASE("with G1 the last mixed collection of a marking cycle has looked into the old space") {
  OldSpaceCollections collections;
  CHECK(collections.Next(GcKind::kRemark) == Is::kNo);
  CHECK(collections.Next(GcKind::kYoung) == Is::kNo);
  CHECK(collections.Next(GcKind::kMixed) == Is::kYes);
  CHECK(collections.Next(GcKind::kMixed) == Is::kInsteadOfLast);
  CHECK(collections.Next(GcKind::kMixed) == Is::kInsteadOfLast);
  CHECK(collections.Next(GcKind::kYoung) == Is::kNo);
  CHECK(collections.Next(GcKind::kYoung) == Is::kNo);
  CHECK(collections.Next(GcKind::kRemark) == Is::kNo);
  CHECK(collections.Next(GcKind::kMixed) == Is::kYes);
}

TEST_CASE("with G1 what is evacuated late, outside of a marking cycle, is no look into the old space") {
  OldSpaceCollections collections;
  CHECK(collections.Next(GcKind::kMixed) == Is::kNo);
  CHECK(collections.Next(GcKind::kRemark) == Is::kNo);
  CHECK(collections.Next(GcKind::kMixed) == Is::kYes);
  CHECK(collections.Next(GcKind::kYoung) == Is::kNo);
  CHECK(collections.Next(GcKind::kMixed) == Is::kInsteadOfLast);
  CHECK(collections.Next(GcKind::kYoung) == Is::kNo);
  CHECK(collections.Next(GcKind::kYoung) == Is::kNo);
  CHECK(collections.Next(GcKind::kMixed) == Is::kNo);
}

TEST_CASE("with G1 marking that finds nothing to collect has looked into the old space") {
  OldSpaceCollections collections;
  CHECK(collections.Next(GcKind::kRemark) == Is::kNo);
  CHECK(collections.Next(GcKind::kYoung) == Is::kNo);
  CHECK(collections.Next(GcKind::kYoung) == Is::kYes);
  CHECK(collections.Next(GcKind::kYoung) == Is::kNo);
}

TEST_CASE("a long history keeps its newest points and thins out the older ones evenly") {
  ThinnedPoints history(4, 16);
  for (uint64_t gc = 0; gc < 1000; gc++) {
    history.Add(PointOf(gc));
    const std::vector<HistoryPoint>& points = history.points();
    REQUIRE(points.size() <= 16);
    REQUIRE(points.front().gc == 0);
    for (uint64_t i = 0; i < std::min<uint64_t>(4, gc + 1); i++) {
      REQUIRE(points[points.size() - 1 - i].gc == gc - i);
    }
  }
  uint64_t last = 0;
  for (const HistoryPoint& point : history.points()) {
    CHECK(point.gc - last <= 256);
    last = point.gc;
  }
  CHECK(history.points().size() > 8);
}

TEST_CASE("packed levels are what was added, in order and one by one") {
  std::vector<Level> added;
  Levels levels;
  for (uint32_t i = 0; i < 1000; i++) {
    const uint32_t id = i == 999 ? UINT32_MAX : 3 * i + i % 2;
    added.push_back({id, i + uint64_t{1}, uint64_t{1} << i % 64, i == 7 ? UINT64_MAX : i % 5});
    levels.Add(added.back());
  }
  levels.ShrinkToFit();
  REQUIRE(levels.size() == added.size());
  size_t i = 0;
  for (const Level& level : levels) {
    CHECK(level.site_class == added[i].site_class);
    CHECK(level.objects == added[i].objects);
    CHECK(level.words == added[i].words);
    CHECK(level.survived == added[i].survived);
    i++;
  }
  CHECK(i == added.size());
  for (const Level& level : added) CHECK(levels.Find(level.site_class).objects == level.objects);
  for (const uint32_t none : {1u, 95u, 2997u, UINT32_MAX - 1}) CHECK(levels.Find(none).objects == 0);
}

TEST_CASE("no levels are found among none") {
  const Levels none;
  CHECK(none.empty());
  CHECK(none.begin() == none.end());
  CHECK(none.Find(0).objects == 0);
  CHECK(none.Find(7).objects == 0);
}

TEST_CASE("the histories of the small trace have what lived after each collection") {
  TempFile file(SmallTrace().file());
  std::ostringstream out, err;
  analyzer::Session session{.out = out, .err = err, .files = {file.path()}};
  REQUIRE(session.Open());
  Problems problems;
  Definitions definitions(problems);
  analyzer::Histories histories(definitions, problems, {});
  session.Run(definitions, problems, histories);
  REQUIRE(histories.others().size() == 1);
  REQUIRE(histories.old_space().size() == 1);
  CHECK(histories.old_space_collections() == 1);
  const HistoryPoint& young = histories.others()[0];
  CHECK(young.gc == 0);
  CHECK(young.live.objects == 5);  // without the filler
  const HistoryPoint& full = histories.old_space()[0];
  CHECK(full.gc == 1);
  CHECK(full.live.objects == 5);
  CHECK(full.live.bytes() == 240);
  CHECK(histories.last() == &full);
  // Nodes: two of 24 bytes of epoch 1, one of epoch 0.
  REQUIRE(!histories.cohorts().empty());
  CHECK(histories.cohorts()[0].site_class == 1);
  CHECK(histories.cohorts()[0].epoch == 0);
  CHECK(histories.cohorts()[0].objects == 1);
  CHECK(histories.cohorts()[1].epoch == 1);
  CHECK(histories.cohorts()[1].objects == 2);
  CHECK(histories.cohorts().back().before);  // the mirror, which the sync point found
  CHECK(histories.allocated_at() == std::vector<uint64_t>{23, 35});
}

// Objects of a program that allocates, keeps and drops at random: in TLABs in eden, outside them in an old
// space or in a region of its own, kRegion, which a remark frees. Young collections copy, leave in place and
// promote; full ones slide.
class RandomTrace {
 public:
  explicit RandomTrace(unsigned seed) : random_(seed), b_(SmallStart()) {
    live_ = {{kOld, 3, 14, 14}, {kOld + 14, 1, 3, 3}};
    for (uint64_t gc = 0; gc < kGcs; gc++) {
      Allocate(gc);
      const unsigned kind = Chance(8) ? 1 : Chance(6) ? 3 : 0;
      b_.Gc(SegmentKind::kGcBegin, gc, kind, "x", 10'000 * gc + 5000, SpacesOf(kind, false));
      if (kind == 0) Young();
      if (kind == 1) Full();
      if (kind == 3) std::erase_if(live_, [](const Object& object) { return object.word >= kRegion; });
      if (kind == 3) region_ = kRegion;
      b_.Gc(SegmentKind::kGcEnd, gc, kind, "x", 10'000 * gc + 9000, SpacesOf(kind, true));
      b_.Flush();
    }
    b_.End(10'000 * kGcs, "VM death", "{}");
    b_.Flush();
  }
  std::string file() const { return b_.file(); }
  static constexpr uint64_t kGcs = 40;

 private:
  static constexpr uint64_t kRegion = kOld + 400'000;
  struct Object {
    uint64_t word, kind, words, length;
    bool InEden() const { return word < kFrom; }
    bool InSurvivor() const { return word >= kFrom && word < kOld; }
  };
  bool Chance(unsigned one_in) { return random_() % one_in == 0; }
  // kind: of the collection; at_end: of its end.
  std::vector<TestSpace> SpacesOf(unsigned kind, bool at_end) const {
    const unsigned young = kind != 3, full = kind == 1, region = kind == 3 ? 2 : full;
    const uint64_t from = to_ == kTo ? survivor_ - kFrom : 0, to = to_ == kTo ? 0 : survivor_ - kTo;
    return {{0, young, kEden, eden_, kFrom},
            {1, young, kFrom, kFrom + from, kTo},
            {1, young, kTo, kTo + to, kOld},
            {2, full, kOld, old_, kRegion},
            {2, at_end && kind != 3 ? 0 : region, kRegion, region_, kHeapEnd}};
  }
  void Put(Objects* objects, uint64_t* top) {
    static constexpr uint64_t kKinds[] = {1, 5, 6, 2};
    const uint64_t kind = kKinds[random_() % 4], length = kind == 2 ? random_() % 600 : 0;
    const uint64_t words = kind == 6 ? 2 : kind == 2 ? 2 + (length + 1) / 2 : 3;
    if (kind == 2) {
      objects->WithLength(2, length);
    } else {
      objects->Fixed(kind);
    }
    live_.push_back({*top, kind, words, length});
    *top += words;
  }
  void Allocate(uint64_t gc) {
    Objects in_tlab;
    in_tlab.Head(10'000 * gc + 2000).Tlab(static_cast<int64_t>(eden_));
    for (unsigned count = random_() % 900; count != 0; count--) Put(&in_tlab, &eden_);
    b_.Segment(SegmentKind::kAlloc, 1, in_tlab);
    for (uint64_t* const top : {&old_, &region_, &eden_}) {
      if (Chance(3)) continue;
      Objects outside;
      outside.Head(10'000 * gc + 3000).Outside(static_cast<int64_t>(*top));
      for (unsigned count = 1 + random_() % 5; count != 0; count--) Put(&outside, top);
      b_.Segment(SegmentKind::kAlloc, 2, outside);
    }
  }
  void Young() {
    uint64_t to = to_, eden = kEden;
    std::vector<TestMove> moves;
    std::vector<Object> kept;
    for (Object object : live_) {
      if (object.word >= kOld) {
        kept.push_back(object);
      } else if (object.InSurvivor() ? !Chance(2) : Chance(5)) {
        if (object.word < kEden + 20'000 && Chance(20)) {
          b_.Segment(SegmentKind::kSlides, 0, Slide(1, object.word, object.word));
          eden = std::max(eden, object.word + object.words);
        } else {
          uint64_t* const top = Chance(4) ? &old_ : &to;
          moves.push_back({object.word, *top, top == &old_, object.words});
          object.word = *top;
          *top += object.words;
        }
        kept.push_back(object);
      }
    }
    b_.Segment(SegmentKind::kMoves, 0, Moves(moves));
    if (Chance(2)) {
      b_.Segment(SegmentKind::kFillers, 1, Filler(to, 4, 4));
      to += 4;
    }
    live_ = kept;
    eden_ = eden;
    survivor_ = to;
    to_ = to_ == kTo ? kFrom : kTo;
  }
  void Full() {
    uint64_t top = kOld;
    std::vector<Object> kept;
    std::sort(live_.begin(), live_.end(), [](const Object& a, const Object& b) { return a.word < b.word; });
    // The old space first: it slides into itself.
    std::stable_partition(live_.begin(), live_.end(), [](const Object& object) { return object.word >= kOld; });
    for (Object object : live_) {
      if (Chance(2)) continue;
      b_.Segment(SegmentKind::kSlides, 0, Slide(1, object.word, top));
      object.word = top;
      top += object.words;
      kept.push_back(object);
    }
    live_ = kept;
    eden_ = kEden;
    old_ = top;
    region_ = kRegion;
    survivor_ = to_ == kTo ? kFrom : kTo;
  }

  std::mt19937 random_;
  TraceBuilder b_;
  std::vector<Object> live_;
  // Tops; the survivor space that a young collection copies into.
  uint64_t eden_ = kEden, old_ = kOld + 17, region_ = kRegion, survivor_ = kFrom, to_ = kTo;
};

std::vector<Level> LevelsOf(const HistoryPoint* point) {
  std::vector<Level> levels;
  for (const Level& level : point->levels) levels.push_back(level);
  return levels;
}

TEST_CASE("what is counted along is what a walk finds after each collection") {
  for (unsigned seed = 0; seed < 5; seed++) {
    TempFile file(RandomTrace(seed).file());
    std::ostringstream out, err;
    const auto read = [&](const analyzer::Histories::Wanted& wanted, const auto& look) {
      analyzer::Session session{.out = out, .err = err, .files = {file.path()}};
      REQUIRE(session.Open());
      Problems problems;
      Definitions definitions(problems);
      analyzer::Histories histories(definitions, problems, wanted);
      session.Run(definitions, problems, histories);
      CHECK(problems.total() == 0);
      histories.Finish();
      look(histories);
    };
    read({.every = true}, [&](const analyzer::Histories& every) {
      CHECK(every.walks() <= 1);
      std::vector<const HistoryPoint*> points;
      for (const HistoryPoint& point : every.others()) points.push_back(&point);
      for (const HistoryPoint& point : every.old_space()) points.push_back(&point);
      REQUIRE(points.size() > RandomTrace::kGcs / 2);
      for (const HistoryPoint* const point : points) {
        read({.last = point->gc}, [&](const analyzer::Histories& one) {
          REQUIRE(one.last() != nullptr);
          REQUIRE(one.last()->gc == point->gc);
          CHECK(one.last()->live.objects == point->live.objects);
          const std::vector<Level> walked = LevelsOf(one.last()), counted = LevelsOf(point);
          REQUIRE(walked.size() == counted.size());
          for (size_t i = 0; i < walked.size(); i++) {
            CHECK(walked[i].site_class == counted[i].site_class);
            CHECK(walked[i].objects == counted[i].objects);
            CHECK(walked[i].words == counted[i].words);
          }
        });
      }
    });
  }
}

TEST_CASE("after very many objects outside TLABs the heap is walked") {
  constexpr uint64_t kMany = 70'000;
  TraceBuilder b = SmallStart();
  const auto young = [&](uint64_t gc, uint64_t old) {
    b.Gc(SegmentKind::kGcBegin, gc, 0, "x", 10'000 * gc + 5000, Spaces(0, 0, 0, old));
    b.Gc(SegmentKind::kGcEnd, gc, 0, "x", 10'000 * gc + 9000, Spaces(0, 0, 0, old));
  };
  young(0, 17);
  Objects objects;
  objects.Head(12'000).Outside(kOld + 17);
  for (uint64_t i = 0; i < kMany; i++) objects.Fixed(1);
  b.Segment(SegmentKind::kAlloc, 1, objects);
  young(1, 17 + 3 * kMany);
  young(2, 17 + 3 * kMany);
  b.End(30'000, "VM death", "{}");
  TempFile file(b.Flush().file());
  std::ostringstream out, err;
  analyzer::Session session{.out = out, .err = err, .files = {file.path()}};
  REQUIRE(session.Open());
  Problems problems;
  Definitions definitions(problems);
  analyzer::Histories histories(definitions, problems, {.every = true});
  session.Run(definitions, problems, histories);
  CHECK(problems.total() == 0);
  REQUIRE(histories.others().size() == 3);
  CHECK(histories.others()[1].live.objects == kMany + 2);
  CHECK(histories.others()[2].live.objects == kMany + 2);
  CHECK(histories.walks() == 2);
}

TEST_CASE("the first application frame is the site, or a caller that it was inlined into") {
  Problems problems;
  Definitions definitions(problems);
  DefinitionsBuilder s;
  s.Method(1, "java.util.HashMap", "newNode", "HashMap.java")
      .Method(2, "java.util.HashMap", "put", "HashMap.java");
  s.Method(3, "app.Main", "run", "Main.java").Method(4, "lib.Pool", "take", "Pool.java");
  s.Site(16, 3, 1, 30, 0, 2).Site(17, 4, 1, 9, 16, 2).Site(18, 2, 1, 8, 17, 2).Site(19, 1, 1, 7, 18, 2);
  s.Site(20, 1, 1, 7, 0, 0);
  definitions.Read(s.bytes().span(), {});
  CHECK(ApplicationFrames().First(definitions, 16) == 16);
  CHECK(ApplicationFrames().First(definitions, 19) == 17);
  CHECK(ApplicationFrames({}, {"lib."}).First(definitions, 19) == 16);
  CHECK(ApplicationFrames({"app."}).First(definitions, 19) == 16);
  CHECK(ApplicationFrames({"java.util.HashMap"}).First(definitions, 19) == 19);
  CHECK(!ApplicationFrames().First(definitions, 20));
  CHECK(!ApplicationFrames().IsApplication("com.sun.tools.javac.Main"));
  CHECK(ApplicationFrames({"com.sun.tools."}).IsApplication("com.sun.tools.javac.Main"));
}

// Twelve full collections. Before each, app.List.add makes 160 Nodes, of which 80 stay.
TraceBuilder LeakTrace() {
  TraceBuilder b = SmallStart();
  constexpr uint64_t kEach = 80, kWords = kEach * 3, kKept = 17;
  uint64_t old = kKept;
  for (uint64_t gc = 0; gc < 12; gc++) {
    Objects objects;
    objects.Head(10'000 * gc + 2000).Tlab(kEden);
    for (uint64_t i = 0; i < 2 * kEach; i++) objects.Fixed(1);
    b.Segment(SegmentKind::kAlloc, 1, objects);
    b.Gc(SegmentKind::kGcBegin, gc, 1, "System.gc()", 10'000 * gc + 5000, Spaces(2 * kWords, 0, 0, old, true));
    b.Segment(SegmentKind::kSlides, 0, Slide(2, kOld, kOld));
    for (uint64_t at = kKept; at < old; at += kWords) {
      b.Segment(SegmentKind::kSlides, 0, Slide(kEach, kOld + at, kOld + at));
    }
    b.Segment(SegmentKind::kSlides, 1, Slide(kEach, kEden, kOld + old));
    old += kWords;
    b.Gc(SegmentKind::kGcEnd, gc, 1, "System.gc()", 10'000 * gc + 9000, Spaces(0, 0, 0, old));
    b.Flush();
  }
  b.End(150'000, "VM death", "{\"dropped\":0}");
  b.Flush();
  return b;
}

TEST_CASE("leaks shows what piles up, since when and how fast") {
  const CommandResult result = Anttracks(LeakTrace().file(), {"leaks"});
  CHECK(result.err == "");
  CHECK(result.code == 0);
  const std::string expected = R"out(
1 site piles up what is never freed, judged by 12 old-space collections, the last one GC 11 (full) at 119.0 us

  Bytes then  Bytes now  Objects now    Per GC  Per minute        Oldest  Of growth  Since GC  Class     Site
          24     23,064          961  1.88 KiB    11.2 GiB  before trace    100.0 %         0  app.Node  app.List.add(List.java:12)
)out";
  CHECK(result.out == expected.substr(1));
}

TEST_CASE("leaks --gc judges as if the trace ended there") {
  const CommandResult early = Anttracks(LeakTrace().file(), {"leaks", "--gc", "3"});
  CHECK(early.code == 0);
  CHECK(early.out.find("no verdict: the old space was collected only 4 times, and it takes 5") == 0);
  CHECK(Anttracks(LeakTrace().file(), {"leaks", "--gc", "99"}).code == 2);
}

TEST_CASE("leaks --history has what was live after each collection") {
  const CommandResult result = Anttracks(LeakTrace().file(), {"leaks", "--history", "--csv"});
  CHECK(result.code == 0);
  CHECK(result.out.find("gc,kind,time_ns,old_space,objects,bytes,class,site\n"
                        "0,full,9000,true,81,1944,app.Node,app.List.add(List.java:12)\n") == 0);
  CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 13);
}

TEST_CASE("leaks says so when the old space was not collected often enough") {
  const CommandResult result = Anttracks(SmallTrace().file(), {"leaks"});
  CHECK(result.code == 0);
  CHECK(result.out ==
        "no verdict: the old space was collected only 1 time, and it takes 5 collections of it to tell what "
        "piles "
        "up from what was not collected yet. 'jcmd PID GC.run' makes one\n");
  CHECK(Anttracks(SmallTrace().file(), {"leaks", "--json"}).out.find("\"known\": false") != std::string::npos);
}

TEST_CASE("the first finding of summary names the line that leaks, and the next command shows it") {
  const CommandResult result = Anttracks(LeakTrace().file(), {"summary"});
  CHECK(result.code == 0);
  const std::string expected = R"out(
Main 1: 150.0 us of 17.0.19

What allocates: 1,920 objects, 45.0 KiB
  Objects    Share   Bytes    Share  Class     Site
    1,920  100.0 %  46,080  100.0 %  app.Node  app.List.add(List.java:12)

What stays: 962 objects, 22.6 KiB after GC 11 at 119.0 us
  Objects   Share   Bytes   Share  Class            Site
      961  99.9 %  23,064  99.5 %  app.Node         app.List.add(List.java:12)
        1   0.1 %     112   0.5 %  java.lang.Class  <unknown>
                                                      <- no application frame is known

Collections: 12 collections, 48.0 us of pauses, 32.0 % of the time; the longest 4.0 us (GC 11);
  22.5 KiB copied, 50.0 % of what was allocated

Findings:
  1. leak: app.List.add(List.java:12) piles up app.Node:
     24 B before GC 0, 22.5 KiB in 961 objects now, the oldest from before the trace;
     1.88 KiB per GC, 11.2 GiB per minute, 100.0 % of the growth

Next: anttracks leaks TRACE
)out";
  CHECK(result.out == expected.substr(1));
}

TEST_CASE("summary of samples says what are estimates, and that it cannot tell leaks") {
  const CommandResult result = Anttracks(SampledTrace().file(), {"summary"});
  CHECK(result.code == 0);
  CHECK(result.out.find("estimates from ") != std::string::npos);
  CHECK(result.out.find("leaks: samples do not tell") != std::string::npos);
}

TEST_CASE("a path that a shell would take apart is quoted in the next command") {
  TempFile file(SmallTrace().file(), "a trace's name");
  std::ostringstream out, err;
  CHECK(analyzer::Main({"summary", file.path()}, out, err, false, "my tools/anttracks") == 0);
  CHECK(out.str().find("\nNext: 'my tools/anttracks' sites '" + Replace(file.path(), "'", "'\\''") +
                       "' --live --top 10\n") != std::string::npos);
}

}  // namespace
}  // namespace anttracks::testing
