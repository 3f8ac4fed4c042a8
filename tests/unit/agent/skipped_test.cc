// SPDX-License-Identifier: Apache-2.0
// Stretches that are not read: where they lie, what collections find in them, and how a budget decides how many
// they are.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "agent/full/budget.h"
#include "agent/full/skipped_map.h"
#include "tests/unit/agent/fake_vm.h"
#include "tests/unit/agent/recorded.h"
#include "trace/object_runs.h"

namespace anttracks::core {
namespace {

TEST_CASE("of any stretches side by side, the map holds the objects of those that are marked") {
  constexpr uint64_t kStart = 0x100000000, kEnd = kStart + (1 << 20);
  size_t least = 16;
  SUBCASE("of 16 bytes at least") {}
  SUBCASE("of 8 bytes at least") { least = 8; }
  SkippedMap map;
  REQUIRE(map.Make(kStart, kEnd, least));
  std::minstd_rand random(5);
  for (int round = 0; round < 20; round++) {
    std::vector<AddressRange> marked;
    std::set<uint64_t> in, out;
    for (uint64_t at = kStart; at < kEnd - 5000;) {
      const uint64_t begin = at;
      const bool mark = random() % 2 == 0;
      const bool grows = mark && random() % 2 == 0 && !marked.empty() && marked.back().top == begin;
      // Some are longer than the 64 KB of a word of the map of blocks.
      const uint64_t objects = (1 + random() % 40) * (random() % 8 == 0 ? 50 : 1);
      for (uint64_t i = 0; i < objects && at < kEnd - 5000; i++) {
        (mark ? in : out).insert(at);
        at += least + 8 * (random() % 12);
      }
      if (grows) {
        marked.back().top = at;
      } else if (mark) {
        marked.push_back({begin, at});
      }
      if (mark) map.Mark(marked.back(), begin);
    }
    CHECK(std::all_of(in.begin(), in.end(), [&](uint64_t at) { return map.Contains(at); }));
    CHECK(std::none_of(out.begin(), out.end(), [&](uint64_t at) { return map.Contains(at); }));
    for (const AddressRange& stretch : marked) map.Clear(stretch);
    CHECK(std::none_of(in.begin(), in.end(), [&](uint64_t at) { return map.Contains(at); }));
  }
  CHECK(!map.Contains(0));
  CHECK(!map.Contains(kStart - 16));
  CHECK(!map.Contains(kEnd + (1 << 20)));
}

// Eight stretches of twenty points and an array each, then a place to move to.
struct Allocated {
  explicit Allocated(FakeVm& vm) : to(vm.heap() + (256 << 10)) {
    uint64_t at = vm.heap();
    for (int i = 0; i < 8; i++) {
      const uint64_t begin = at;
      for (int k = 0; k < 20; k++) at = vm.Put(at, FakeVm::kPoint, 20);
      array.push_back(at);
      at = vm.Put(at, FakeVm::kInts, 30, 7);
      stretches.push_back({begin, at});
    }
  }
  uint64_t to;
  std::vector<uint64_t> array;
  std::vector<AddressRange> stretches;
};

constexpr uint64_t kArrayBytes = 48;  // of int[7]

AntTracksGC Gc(uint32_t kind) {
  AntTracksGC gc{};
  gc.kind = kind;
  gc.cause = "test";
  return gc;
}

// A thread has reported its stretches. With the smallest share nearly all are skipped; tests look at what was.
struct Reported {
  Reported() {
    for (const AddressRange& stretch : allocated.stretches)
      recording.Tlab(1, &slot, stretch.start, stretch.top);
  }
  void Begin(uint32_t kind) {
    gc = Gc(kind);
    recording.callbacks().gc_begin(recording.context(), &gc);
  }
  void End() { recording.callbacks().gc_end(recording.context(), &gc); }

  FakeVm vm;
  Allocated allocated{vm};
  Recording recording{vm, {.share = Budget::kLeastShare}};
  void* slot = nullptr;
  AntTracksGC gc{};
};

uint64_t BytesEach(const Allocated& allocated) {
  return allocated.stretches[0].top - allocated.stretches[0].start;
}

// All of them arrays of Allocated.
size_t CountFound(const ReadTrace& trace) {
  size_t found = 0;
  for (const ReadSegment& segment : trace.segments) {
    if (segment.kind != trace::SegmentKind::kFound) continue;
    for (trace::WireReader in(segment.payload); !in.AtEnd(); found++) {
      if ((in.Uv() & 2) != 0) in.Sv();
      CHECK(trace.site_classes.at(static_cast<uint32_t>(in.Uv())).site == 30);
      CHECK(in.Uv() == 7);
    }
  }
  return found;
}

uint64_t SkippedBytes(const ReadTrace& trace) {
  uint64_t sum = 0;
  for (const ReadSkipped& stretch : trace.skipped) sum += stretch.bytes;
  return sum;
}

TEST_CASE("a young collection describes what it moves out of skipped stretches, and nothing else") {
  Reported reported;
  reported.Begin(ANTTRACKS_GC_YOUNG);
  std::vector<AntTracksMove> moves;
  uint64_t to = reported.allocated.to;
  for (const uint64_t from : reported.allocated.array) {
    reported.vm.Put(to, FakeVm::kInts, 30, 7);
    moves.push_back({from, to, kArrayBytes / 8});
    to += kArrayBytes;
  }
  reported.recording.callbacks().moves(reported.recording.context(), 0, moves.data(),
                                       static_cast<uint32_t>(moves.size()));
  reported.End();
  // Nothing stands any more: a move from there is a plain one.
  reported.Begin(ANTTRACKS_GC_YOUNG);
  reported.recording.callbacks().moves(reported.recording.context(), 0, moves.data(), 1);
  reported.End();
  const ReadTrace trace = reported.recording.End();
  REQUIRE(!trace.skipped.empty());
  const uint64_t skipped = SkippedBytes(trace), each = BytesEach(reported.allocated);
  CHECK(skipped + trace.objects.size() / 21 * each == 8 * each);
  const size_t found = CountFound(trace);
  size_t moved = 0;
  for (const ReadSegment& segment : trace.segments) {
    if (segment.kind != trace::SegmentKind::kMoves) continue;
    for (trace::WireReader in(segment.payload); !in.AtEnd(); moved++) {
      if ((in.Uv() & 2) != 0) in.Sv();
    }
  }
  CHECK(found == skipped / each);
  CHECK(moved == 8 - found + 1);
}

// As G1's workers do while they share the work of a large array.
TEST_CASE("the length of an array that is found is that of the original, whatever the copy has") {
  Reported reported;
  reported.Begin(ANTTRACKS_GC_YOUNG);
  std::vector<AntTracksMove> moves;
  uint64_t to = reported.allocated.to;
  for (const uint64_t from : reported.allocated.array) {
    reported.vm.Put(to, FakeVm::kInts, 30, 3);
    moves.push_back({from, to, kArrayBytes / 8});
    to += kArrayBytes;
  }
  reported.recording.callbacks().moves(reported.recording.context(), 0, moves.data(),
                                       static_cast<uint32_t>(moves.size()));
  reported.End();
  const ReadTrace trace = reported.recording.End();
  CHECK(trace.losses == 0);
  REQUIRE(!trace.skipped.empty());
  CHECK(CountFound(trace) == SkippedBytes(trace) / BytesEach(reported.allocated));
}

TEST_CASE("a stretch is written with the share with which it was chosen, also when that has changed since") {
  FakeVm vm;
  const Allocated allocated(vm);
  Recording recording(vm);
  void* slot = nullptr;
  const auto report = [&](size_t i) {
    recording.Tlab(1, &slot, allocated.stretches[i].start, allocated.stretches[i].top);
  };
  for (size_t i = 0; i < 2; i++) report(i);
  REQUIRE(recording.session().cost().SetBudget(50));
  for (int round = 0; round < 5; round++) {
    for (size_t i = 2; i < allocated.stretches.size(); i++) report(i);
  }
  const ReadTrace trace = recording.End();
  size_t whole = 0;
  for (const ReadSegment& segment : trace.segments) {
    if (segment.kind != trace::SegmentKind::kAlloc) continue;
    trace::WireReader in(segment.payload);
    trace::AllocHead alloc;
    REQUIRE(trace::ReadAllocHead(in, &alloc));
    uint64_t word = 0;
    while (!in.AtEnd()) {
      trace::RunHead head;
      const uint8_t* columns = nullptr;
      REQUIRE(trace::ReadRun(in, &head, &columns));
      word += static_cast<uint64_t>(head.distance);
      const bool before = word * 8 < allocated.stretches[2].start;
      if (head.how == trace::How::kTlab) CHECK((alloc.share == trace::kWholeShare) == before);
      whole += head.how == trace::How::kTlab && before;
      trace::RunReader run(head, columns);
      for (trace::RunReader::Object object; head.how != trace::How::kSkipped && !run.AtEnd();) {
        REQUIRE(run.Next(&object));
        word += object.has_length ? kArrayBytes / 8 : 3;
      }
      if (head.how == trace::How::kSkipped) word += head.lengths;
    }
  }
  CHECK(whole == 2);
}

TEST_CASE("what stays where it is in a young collection is described when the collection has ended") {
  Reported reported;
  reported.Begin(ANTTRACKS_GC_YOUNG);
  std::vector<AntTracksSlide> stay;
  std::vector<uint64_t> marks;
  for (const uint64_t at : reported.allocated.array) {
    stay.push_back({at, at, kArrayBytes / 8});
    marks.push_back(FakeVm::SetMark(at, FakeVm::kMarked));
  }
  reported.recording.callbacks().slides(reported.recording.context(), 0, stay.data(),
                                        static_cast<uint32_t>(stay.size()));
  for (size_t i = 0; i < marks.size(); i++) FakeVm::SetMark(reported.allocated.array[i], marks[i]);
  reported.End();
  const ReadTrace trace = reported.recording.End();
  CHECK(trace.losses == 0);
  REQUIRE(!trace.skipped.empty());
  CHECK(CountFound(trace) == SkippedBytes(trace) / BytesEach(reported.allocated));
}

TEST_CASE("a full collection and a remark find everything read") {
  for (const uint32_t kind : {ANTTRACKS_GC_FULL, ANTTRACKS_GC_REMARK}) {
    Reported reported;
    reported.Begin(kind);
    reported.End();
    const ReadTrace trace = reported.recording.End();
    CHECK(trace.skipped.empty());
    CHECK(trace.counters.find("\"skipped_bytes\":0,") != std::string::npos);
    CHECK(trace.objects.size() == 8 * 21);
    CHECK(std::any_of(trace.objects.begin(), trace.objects.end(),
                      [](const ReadObject& object) { return object.late; }));
  }
}

TEST_CASE("what a thread skipped is settled after its end, too") {
  for (const uint32_t kind : {ANTTRACKS_GC_FULL, ANTTRACKS_GC_YOUNG}) {
    Reported reported;
    reported.recording.callbacks().thread_exit(reported.recording.context(), reinterpret_cast<void*>(1),
                                               &reported.slot);
    reported.Begin(kind);
    reported.End();
    const ReadTrace trace = reported.recording.End();
    CHECK(trace.losses == 0);
    CHECK(trace.skipped.empty() == (kind == ANTTRACKS_GC_FULL));
    CHECK(std::all_of(trace.skipped.begin(), trace.skipped.end(),
                      [](const ReadSkipped& stretch) { return stretch.stream == 1; }));
    if (kind == ANTTRACKS_GC_FULL) CHECK(trace.objects.size() == 8 * 21);
  }
}

TEST_CASE("a stretch is chosen with the probability of the share") {
  for (const uint32_t share : {trace::kWholeShare / 64, trace::kWholeShare / 3, trace::kWholeShare - 1}) {
    uint32_t random = 1;
    int chosen = 0;
    constexpr int kDraws = 400'000;
    for (int i = 0; i < kDraws; i++) chosen += Budget::Choose(share, &random) ? 1 : 0;
    const double p = static_cast<double>(share) / trace::kWholeShare;
    CHECK(std::abs(chosen - p * kDraws) < 5 * std::sqrt(kDraws * p * (1 - p)) + 1);
  }
}

// A program whose tracing costs so much of its time when all is read, and so much whatever is read.
struct Program {
  Budget::Costs costs;
  double Run(Budget& budget, double whole_cost, double fixed_cost, int steps);
};

double Program::Run(Budget& budget, double whole_cost, double fixed_cost, int steps) {
  for (int i = 0; i < steps; i++) {
    const double rest = 1e8;
    const double share = static_cast<double>(budget.share()) / trace::kWholeShare;
    costs.scaled_ns += static_cast<uint64_t>(rest * whole_cost * share);
    costs.fixed_ns += static_cast<uint64_t>(rest * fixed_cost);
    costs.process_ns += static_cast<uint64_t>(rest * (1 + whole_cost * share + fixed_cost));
    budget.Adjust(costs);
  }
  return budget.spent_percent();
}

TEST_CASE("a budget is kept whatever tracing costs, and used where it is needed") {
  for (const double whole : {0.02, 0.1, 0.5, 1.2}) {
    Budget budget;
    budget.SetPercent(3);
    const double spent = Program().Run(budget, whole, 0.002, 600);
    CAPTURE(whole);
    CHECK(spent <= 3);
    CHECK(spent >= std::min(2.0, 100 * whole));
    if (whole == 0.02) CHECK(budget.share() == trace::kWholeShare);
  }
}

TEST_CASE("what costs more than the budget by itself leaves the least share") {
  Budget budget;
  budget.SetPercent(1);
  Program().Run(budget, 0.2, 0.02, 200);
  CHECK(budget.share() == Budget::kLeastShare);
}

TEST_CASE("a burst is paid back, and everything is read again when there is little to read") {
  Budget budget;
  budget.SetPercent(3);
  Program program;
  program.Run(budget, 0.01, 0, 100);
  CHECK(budget.share() == trace::kWholeShare);
  program.Run(budget, 1, 0, 300);
  CHECK(budget.spent_percent() <= 3);
  program.Run(budget, 0.001, 0, 100);
  CHECK(budget.share() == trace::kWholeShare);
}

TEST_CASE("what a burst has cost is paid back soon") {
  Budget budget;
  budget.SetPercent(3);
  Program program;
  program.Run(budget, 0.01, 0, 20);
  CHECK(budget.share() == trace::kWholeShare);
  CHECK(program.Run(budget, 1, 0, 100) <= 2.8);  // without anything to be paid back it would be 3.1
}

TEST_CASE("what was spent while there was no budget is not the next one's") {
  Budget budget;
  budget.SetPercent(3);
  Program program;
  program.Run(budget, 0.5, 0, 100);
  budget.SetPercent(100);
  program.Run(budget, 0.5, 0, 1000);
  budget.SetPercent(3);
  program.Run(budget, 0.01, 0, 100);
  CHECK(budget.share() == trace::kWholeShare);
  CHECK(budget.spent_percent() < 1.5);
}

TEST_CASE("without a budget, and with one of all, everything is read") {
  Budget budget;
  CHECK(budget.share() == trace::kWholeShare);
  budget.SetPercent(5);
  CHECK(budget.share() < trace::kWholeShare);
  budget.SetPercent(100);
  CHECK(budget.share() == trace::kWholeShare);
  Program().Run(budget, 1, 1, 10);
  CHECK(budget.share() == trace::kWholeShare);
}

}  // namespace
}  // namespace anttracks::core
