// SPDX-License-Identifier: Apache-2.0
// How fast a heap is rebuilt and how much memory that takes: events a second on one core and bytes an object.
//
//     rebuild_bench [MILLION_OBJECTS]
//
// The trace is made in memory: four threads with TLABs, objects of 16 to 120 bytes (about 40 on average) from
// 2000 site-class pairs, mostly in sequences that repeat; young collections that copy one object in ten to
// a survivor space and promote what survived one, by four workers in PLABs; full collections when the old
// generation is full.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "analyzer/passes/pass.h"
#include "analyzer/passes/rebuild.h"
#include "tests/unit/analyzer/trace_builder.h"

namespace anttracks::bench {
namespace {

using analyzer::Position;
using testing::Objects;
using trace::ByteBuffer;
using trace::SegmentKind;

constexpr uint64_t kMiWords = (1 << 20) / 8;
constexpr uint64_t kEden = 16 * kMiWords, kEdenWords = 64 * kMiWords;
constexpr uint64_t kSurvivor = kEden + kEdenWords, kSurvivorWords = 16 * kMiWords;
constexpr uint64_t kOld = kSurvivor + 2 * kSurvivorWords, kOldWords = 512 * kMiWords;
constexpr uint64_t kEnd = kOld + kOldWords;
constexpr uint64_t kTlabWords = 32 * 1024;
constexpr uint64_t kLabWords = 512;
constexpr uint32_t kKinds = 2000, kWorkers = 4, kThreads = 4;

struct Segment {
  SegmentKind kind;
  uint64_t stream;
  ByteBuffer payload;
};

struct TestMove {
  uint64_t from, to, lab, words;
};

// An object that is alive in the generator.
struct Live {
  uint64_t word;
  uint32_t words;
};

uint32_t WordsOf(uint32_t site_class) { return 2 + (site_class * 7919u) % 97 % 7; }
// SiteClass ids above kKinds are arrays of ints.
uint32_t ArrayWords(uint32_t length) { return (16 + 4 * length + 7) / 8; }

class Generator {
 public:
  void Run(uint64_t objects) {
    Definitions();
    while (allocated < objects) {
      FillEden();
      Collect(false);
      if (old_top_ > kOldWords - kSurvivorWords - kEdenWords / 4) Collect(true);
    }
  }

  std::vector<Segment> segments;
  uint64_t allocated = 0, moves = 0;

 private:
  void Definitions() {
    testing::DefinitionsBuilder s;
    s.Method(1, "app.A", "f", "A.java");
    for (uint32_t site_class = 1; site_class <= kKinds; site_class++) {
      s.Site(15 + site_class, 1, site_class, site_class, 0, 2);
      s.Class(site_class, "C" + std::to_string(site_class), 0, WordsOf(site_class) * 8);
      s.SiteClass(site_class, 15 + site_class, site_class);
    }
    s.Class(kKinds + 1, "int[]", 1, 0, 16, 2);
    for (uint32_t i = 1; i <= 100; i++) s.SiteClass(kKinds + i, 15 + i, kKinds + 1);
    segments.push_back({SegmentKind::kDefinitions, 0, s.bytes()});
  }

  void FillEden() {
    for (uint64_t at = 0; at + kTlabWords <= kEdenWords; at += kTlabWords) Tlab(kEden + at);
  }

  void Tlab(uint64_t start) {
    Objects out;
    out.Head(1).Tlab(static_cast<int64_t>(start));
    uint64_t word = start;
    while (true) {
      if (left_ == 0) {
        next_ = random_() % kKinds;
        left_ = 20 + random_() % 60;
      }
      left_--;
      next_ = (next_ * 31 + 7) % 200 + next_ / 200 * 200;
      const bool array = next_ % 8 == 0;
      const uint32_t site_class = array ? kKinds + 1 + next_ % 100 : 1 + next_;
      const uint32_t length = array ? 4 + random_() % 24 : 0;
      const uint32_t words = array ? ArrayWords(length) : WordsOf(site_class);
      if (word + words > start + kTlabWords) break;
      array ? out.WithLength(site_class, length) : out.Fixed(site_class);
      if (random_() % 10 == 0) eden_.push_back({word, words});
      word += words;
      allocated++;
    }
    segments.push_back({SegmentKind::kAlloc, 1 + start / kTlabWords % kThreads, out.bytes()});
  }

  std::vector<testing::TestSpace> Spaces(bool full, bool after) const {
    const uint64_t eden = after ? 0 : kEdenWords;
    const uint64_t from = kSurvivor + (flip_ ? kSurvivorWords : 0),
                   to = kSurvivor + (flip_ ? 0 : kSurvivorWords);
    return {{0, 1, kEden, kEden + eden, kEden + kEdenWords},
            {1, 1, from, from + (after ? 0 : survivor_top_), from + kSurvivorWords},
            {1, 0, to, to + (after ? survivor_top_ : 0), to + kSurvivorWords},
            {2, full, kOld, kOld + old_top_, kEnd}};
  }

  void Event(SegmentKind kind, bool full) {
    ByteBuffer payload;
    payload.Uv(gc_);
    payload.Uv(full);
    payload.Str("x");
    payload.Uv(1);
    const auto spaces = Spaces(full, kind == SegmentKind::kGcEnd);
    payload.Uv(spaces.size());
    for (const auto& space : spaces) {
      for (uint64_t v :
           {space.kind, space.collected, space.bottom, space.top - space.bottom, space.end - space.bottom}) {
        payload.Uv(v);
      }
    }
    segments.push_back({kind, 0, std::move(payload)});
  }

  void Collect(bool full) {
    if (full) {
      Full();
    } else {
      Young();
    }
    gc_++;
  }

  struct Lab {
    uint64_t top = 0, end = 0;
  };
  // Room for an object in a worker's buffer; a new buffer when it is full (the rest stays empty).
  static uint64_t Place(Lab* lab, uint32_t words, uint64_t base, uint64_t* top) {
    if (lab->top + words > lab->end) {
      lab->top = base + *top;
      *top += kLabWords;
      lab->end = base + *top;
    }
    lab->top += words;
    return lab->top - words;
  }

  void Young() {
    Event(SegmentKind::kGcBegin, false);
    const uint64_t to_base = kSurvivor + (flip_ ? 0 : kSurvivorWords);
    uint64_t to_top = 0;
    std::vector<Live> survivors;
    Lab labs[kWorkers][2];
    std::vector<TestMove> batches[kWorkers];
    const auto move = [&](const Live& live, uint32_t worker, bool old) {
      const uint64_t to = old ? Place(&labs[worker][1], live.words, kOld, &old_top_)
                              : Place(&labs[worker][0], live.words, to_base, &to_top);
      batches[worker].push_back({live.word, to, old, live.words});
      (old ? old_ : survivors).push_back({to, live.words});
      moves++;
    };
    uint32_t worker = 0;
    for (const Live& live : survivor_) {
      if (random_() % 16 == 0) worker = random_() % kWorkers;
      if (random_() % 2 == 0) move(live, worker, true);
    }
    for (const Live& live : eden_) {
      if (random_() % 16 == 0) worker = random_() % kWorkers;
      move(live, worker, false);
    }
    for (uint32_t i = 0; i < kWorkers; i++) Moves(i, batches[i]);
    eden_.clear();
    survivor_ = std::move(survivors);
    survivor_top_ = to_top;
    Event(SegmentKind::kGcEnd, false);
    flip_ = !flip_;
  }

  void Moves(uint32_t worker, const std::vector<TestMove>& batch) {
    ByteBuffer payload;
    uint64_t from_end = 0, to_end[2] = {0, 0};
    for (const auto& move : batch) {
      const bool jump = move.to != to_end[move.lab];
      payload.Uv(trace::Zigzag(static_cast<int64_t>(move.from - from_end)) << 2 | (jump ? 2 : 0) | move.lab);
      if (jump) payload.Sv(static_cast<int64_t>(move.to - to_end[move.lab]));
      from_end = move.from + move.words;
      to_end[move.lab] = move.to + move.words;
    }
    segments.push_back({SegmentKind::kMoves, worker, std::move(payload)});
  }

  // Two thirds of the old generation live; the survivors go behind them.
  void Full() {
    eden_.clear();
    std::sort(old_.begin(), old_.end(), [](const Live& a, const Live& b) { return a.word < b.word; });
    std::sort(survivor_.begin(), survivor_.end(), [](const Live& a, const Live& b) { return a.word < b.word; });
    old_.insert(old_.end(), survivor_.begin(), survivor_.end());
    ByteBuffer payload;
    uint64_t from_end = 0, to_end = 0, top = 0;
    std::vector<Live> kept;
    Event(SegmentKind::kGcBegin, true);
    for (const Live& live : old_) {
      if (random_() % 3 == 0) continue;
      payload.Uv(1);
      payload.Sv(static_cast<int64_t>(live.word - from_end));
      payload.Sv(static_cast<int64_t>(kOld + top - to_end));
      from_end = live.word + live.words;
      kept.push_back({kOld + top, live.words});
      top += live.words;
      to_end = kOld + top;
      moves++;
    }
    segments.push_back({SegmentKind::kSlides, 0, std::move(payload)});
    old_ = std::move(kept);
    old_top_ = top;
    survivor_.clear();
    survivor_top_ = 0;
    Event(SegmentKind::kGcEnd, true);
  }

  std::mt19937 random_{7};
  uint32_t next_ = 0, left_ = 0;
  uint64_t gc_ = 0, old_top_ = 0, survivor_top_ = 0;
  bool flip_ = false;
  std::vector<Live> eden_, survivor_, old_;
};

double CpuSeconds() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int Main(uint64_t objects) {
  Generator generator;
  generator.Run(objects);
  uint64_t raw = 0;
  for (const Segment& segment : generator.segments) raw += segment.payload.size();
  analyzer::Problems problems(5);
  analyzer::Definitions definitions(problems);
  analyzer::Rebuild rebuild(definitions, problems, {});
  rebuild.Configure(kEden, kEnd);
  analyzer::Decoder decoder(definitions, problems, rebuild);
  decoder.SetHeapRange(kEden, kEnd);
  const double start = CpuSeconds();
  for (const Segment& segment : generator.segments) {
    trace::Segment wire{static_cast<uint8_t>(segment.kind), segment.stream, 0, segment.payload.span()};
    decoder.Segment(wire, Position{});
  }
  const double seconds = CpuSeconds() - start;
  const auto live = rebuild.heap().totals();
  const double events = static_cast<double>(generator.allocated + generator.moves);
  std::printf("objects %llu, moves %llu, collections %zu, raw bytes an event %.2f, problems %llu\n",
              static_cast<unsigned long long>(generator.allocated),
              static_cast<unsigned long long>(generator.moves), rebuild.gcs().size(),
              static_cast<double>(raw) / events, static_cast<unsigned long long>(problems.total()));
  for (const auto& problem : problems.kept()) std::printf("  %s\n", problem.text.c_str());
  std::printf("rebuild %.2f s, %.1f M events/s\n", seconds, events / seconds / 1e6);
  std::printf(
      "at the end: %llu objects of %.1f bytes, model %.2f bytes an object, %.1f %% of the traced heap\n",
      static_cast<unsigned long long>(live.objects),
      static_cast<double>(live.words) * 8 / static_cast<double>(live.objects),
      static_cast<double>(rebuild.MemoryBytes()) / static_cast<double>(live.objects),
      100.0 * static_cast<double>(rebuild.MemoryBytes()) / static_cast<double>(live.words * 8));
  return problems.total() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace anttracks::bench

int main(int argc, char** argv) {
  const unsigned long long millions = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 50;
  return anttracks::bench::Main(millions * 1'000'000);
}
