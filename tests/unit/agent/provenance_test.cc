// SPDX-License-Identifier: Apache-2.0
// Provenance beside a model that knows each object: what collections move, leave, free and forget.
#include "agent/full/provenance.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/base/log.h"
#include "trace/segments.h"

namespace anttracks::core {
namespace {

using Runs = std::vector<std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>>;  // begin, end, thread, age

constexpr uint64_t kEden = 0x10000, kSurvivor = 0x100000, kOther = 0x200000, kOld = 0x300000, kEnd = 0x900000;
constexpr uint64_t kOldBit = 1;

AntTracksSpace SpaceOf(uint32_t kind, uint32_t collected, uint64_t bottom, uint64_t top) {
  return {kind, collected, bottom, top, std::max(top, bottom + 0x1000)};
}

AntTracksGC GcOf(uint32_t kind, const std::vector<AntTracksSpace>& spaces) {
  AntTracksGC gc{};
  gc.size = sizeof gc;
  gc.kind = kind;
  gc.nspaces = static_cast<uint32_t>(spaces.size());
  gc.spaces = spaces.data();
  return gc;
}

Runs Saved(Provenance& provenance, bool* in_part = nullptr) {
  Runs runs;
  const trace::SavedProvenance saved = provenance.TakeSaved();
  if (in_part != nullptr) *in_part = saved.in_part;
  for (const trace::ByteBuffer& bytes : saved.segments) {
    trace::WireReader in(bytes.span());
    REQUIRE(in.U8() == static_cast<uint8_t>(trace::SegmentKind::kProvenance));
    CHECK(in.Uv() == 0);
    const uint64_t length = in.Uv();
    REQUIRE(length == in.remaining());
    trace::ProvenanceReader reader;
    while (!in.AtEnd() && reader.Read(in))
      runs.emplace_back(reader.run.begin * 8, reader.run.end * 8, reader.run.thread, reader.run.age);
    CHECK(in.ok());
  }
  return runs;
}

void Fill(Provenance& provenance, uint32_t thread, std::vector<AddressRange> stretches) {
  std::vector<AddressRange> filled;
  for (const AddressRange& stretch : stretches) Provenance::Note(stretch, &filled);
  provenance.Allocated(thread, &filled);
  CHECK(filled.empty());
}

// A young collection of eden and the one survivor space.
void Collect(Provenance& provenance, std::vector<AntTracksMove> moves, uint32_t kind = ANTTRACKS_GC_YOUNG) {
  const std::vector<AntTracksSpace> before{
      SpaceOf(ANTTRACKS_SPACE_EDEN, ANTTRACKS_COLLECTED, kEden, kSurvivor),
      SpaceOf(ANTTRACKS_SPACE_SURVIVOR, ANTTRACKS_COLLECTED, kSurvivor, kOther)};
  provenance.CollectionBegins(GcOf(kind, before));
  provenance.Moved(0, std::span<const AntTracksMove>(moves));
  provenance.CollectionEnds(GcOf(kind, {}));
}

TEST_CASE("stretches that a thread fills one behind the other are one") {
  std::vector<AddressRange> filled;
  for (const AddressRange& stretch : {AddressRange{100, 200}, AddressRange{200, 300}, AddressRange{400, 500}})
    Provenance::Note(stretch, &filled);
  REQUIRE(filled.size() == 2);
  CHECK(filled[0].top == 300);
  CHECK(filled[1].start == 400);
}

TEST_CASE("what a collection moves keeps its thread and time; what it does not move is gone") {
  Provenance provenance;
  provenance.Begin(1);
  Fill(provenance, 7, {{kEden, kEden + 64}});
  Fill(provenance, 8, {{kEden + 64, kEden + 128}});
  Collect(provenance, {{kEden + 16, kOther, 2}, {kEden + 72, kOther + 16, 3}, {kEden + 32, kOld | kOldBit, 4}});
  provenance.SyncPointBegins();
  CHECK(Saved(provenance) ==
        Runs{{kOther, kOther + 16, 7, 1}, {kOther + 16, kOther + 40, 8, 1}, {kOld, kOld + 32, 7, 1}});
  CHECK(Saved(provenance).empty());  // it was taken
}

TEST_CASE("what was there before the trace has no provenance, also beside what has one") {
  Provenance provenance;
  provenance.Begin(1);
  Fill(provenance, 7, {{kEden + 64, kEden + 128}});
  Collect(provenance, {{kEden + 32, kOther, 16}});  // adjacent objects, or one array
  provenance.SyncPointBegins();
  CHECK(Saved(provenance) == Runs{{kOther + 32, kOther + 96, 7, 1}});
}

TEST_CASE("what is filled after a collection is of the next time, whenever the collection is settled") {
  for (const bool late : {false, true}) {
    Provenance provenance;
    provenance.Begin(1);
    Fill(provenance, 7, {{kEden, kEden + 64}});
    Collect(provenance, {{kEden, kOther, 8}});
    if (!late) provenance.Settle();
    Fill(provenance, 9, {{kEden, kEden + 64}});
    if (late) provenance.Settle();
    Collect(provenance, {{kEden, kOld | kOldBit, 8}});
    provenance.SyncPointBegins();
    CHECK(Saved(provenance) == Runs{{kOther, kOther + 64, 7, 2}, {kOld, kOld + 64, 9, 1}});
  }
}

TEST_CASE("a full collection takes what may be taken; the others what they said at their end") {
  const std::vector<AntTracksSpace> before{
      SpaceOf(ANTTRACKS_SPACE_OLD, ANTTRACKS_OPTIONAL, kOld, kOld + 0x1000)};
  for (const uint32_t kind : {ANTTRACKS_GC_FULL, ANTTRACKS_GC_REMARK}) {
    for (const bool freed : {false, true}) {
      Provenance provenance;
      provenance.Begin(1);
      Fill(provenance, 7, {{kOld, kOld + 64}});
      provenance.CollectionBegins(GcOf(kind, before));
      const AntTracksSlide slide{kOld, kOld + 32, 2};
      if (kind == ANTTRACKS_GC_FULL) provenance.Moved(0, std::span<const AntTracksSlide>(&slide, 1));
      provenance.CollectionEnds(GcOf(kind, freed ? before : std::vector<AntTracksSpace>()));
      provenance.SyncPointBegins();
      const Runs whole{{kOld, kOld + 64, 7, 1}}, slid{{kOld + 32, kOld + 48, 7, 1}};
      CHECK(Saved(provenance) == (kind == ANTTRACKS_GC_FULL ? slid : freed ? Runs() : whole));
    }
  }
}

TEST_CASE("each sync point has its own provenance, and one that is abandoned has none") {
  for (const bool settled : {false, true}) {
    Provenance provenance;
    provenance.Begin(1);
    Fill(provenance, 7, {{kOld, kOld + 64}});
    Collect(provenance, {});
    provenance.SyncPointBegins();
    Collect(provenance, {});
    provenance.SyncPointBegins();
    if (settled) provenance.Settle();
    provenance.SyncPointAbandoned();
    Collect(provenance, {});
    provenance.SyncPointBegins();
    CHECK(Saved(provenance) == Runs{{kOld, kOld + 64, 7, 1}});
    CHECK(Saved(provenance) == Runs{{kOld, kOld + 64, 7, 3}});
    CHECK(Saved(provenance).empty());
  }
}

TEST_CASE("beyond the limit all is forgotten, counted, and told once") {
  SetLogLevel(LogLevel::kError);
  Provenance provenance({.runs = 2});
  provenance.Begin(1);
  bool in_part = true;
  provenance.SyncPointBegins();
  CHECK(Saved(provenance, &in_part).empty());
  CHECK_FALSE(in_part);
  for (int i = 0; i < 2; i++) {
    for (uint64_t run = 0; run < 3; run++) Fill(provenance, 7, {{kOld + run * 100, kOld + run * 100 + 8}});
    Collect(provenance, {});
    provenance.SyncPointBegins();
    CHECK(Saved(provenance).empty());
  }
  CounterValues values;
  provenance.Count(&values);
  CHECK(values.lost_provenance == 2);
  Fill(provenance, 7, {{kOld, kOld + 8}});
  Collect(provenance, {});
  provenance.SyncPointBegins();
  CHECK(Saved(provenance, &in_part) == Runs{{kOld, kOld + 8, 7, 1}});
  CHECK(in_part);
  SetLogLevel(LogLevel::kWarn);
}

TEST_CASE(
    "a collection that makes too many runs ends them all, in the pause or afterwards, and no later ones") {
  SetLogLevel(LogLevel::kError);
  for (const size_t noted_bytes : {size_t{1}, size_t{16} << 20}) {
    CAPTURE(noted_bytes);
    Provenance provenance({.noted_bytes = noted_bytes, .runs = 100});
    provenance.Begin(200);
    Fill(provenance, 7, {{kEden, kEden + 16}});
    Fill(provenance, 8, {{kEden + 16, kEden + 32}});
    std::vector<AntTracksMove> moves;  // in turn of two threads: no two are one run
    for (uint64_t i = 0; i < 1000; i++) moves.push_back({kEden + i % 2 * 16, (kOld + i * 16) | kOldBit, 2});
    Collect(provenance, moves);
    provenance.SyncPointBegins();
    bool in_part = false;
    CHECK(Saved(provenance, &in_part).empty());
    CounterValues values;
    provenance.Count(&values);
    CHECK(values.lost_provenance == 1);
    Fill(provenance, 7, {{kEden, kEden + 16}});
    Collect(provenance, {{kEden, kEnd | kOldBit, 2}});
    provenance.SyncPointBegins();
    CHECK(Saved(provenance, &in_part) == Runs{{kEnd, kEnd + 16, 7, 1}});
    CHECK(in_part);
  }
  SetLogLevel(LogLevel::kWarn);
}

// Each object by itself.
class Model {
 public:
  explicit Model(size_t noted_bytes) : provenance_({.noted_bytes = noted_bytes}) {
    provenance_.Begin(kWorkers);
  }

  void Allocate() {
    uint64_t at = kEden;
    while (at < kEden + 0x8000) {
      const uint32_t thread = 1 + random_() % 3;
      const uint64_t begin = at;
      for (unsigned objects = random_() % 20; objects != 0; objects--) {
        const uint64_t bytes = 8 * (2 + random_() % 6);
        objects_[at] = {bytes, thread, collections_};
        at += bytes;
      }
      if (at != begin) Fill(provenance_, thread, {{begin, at}});
      if (random_() % 4 == 0) at += 64;
    }
  }
  void CollectYoung() {
    const uint64_t from = std::exchange(survivor_, survivor_ == kSurvivor ? kOther : kSurvivor);
    Begin(ANTTRACKS_GC_YOUNG, {SpaceOf(ANTTRACKS_SPACE_EDEN, ANTTRACKS_COLLECTED, kEden, kSurvivor),
                               SpaceOf(ANTTRACKS_SPACE_SURVIVOR, ANTTRACKS_COLLECTED, from, from + 0x100000)});
    std::map<uint64_t, Object> after;
    uint64_t to[2] = {survivor_, old_};
    for (const auto& [address, object] : objects_) {
      if (address >= kOld) {
        after[address] = object;
      } else if (random_() % 3 == 0) {
        const bool old = random_() % 4 == 0;
        Move<AntTracksMove>(address, to[old], object, old ? kOldBit : 0, &after);
      }
    }
    old_ = to[1];
    End(std::move(after));
  }
  void CollectFull() {
    Begin(ANTTRACKS_GC_FULL, {SpaceOf(ANTTRACKS_SPACE_EDEN, ANTTRACKS_COLLECTED, kEden, kSurvivor),
                              SpaceOf(ANTTRACKS_SPACE_SURVIVOR, ANTTRACKS_COLLECTED, kSurvivor, kOld),
                              SpaceOf(ANTTRACKS_SPACE_OLD, ANTTRACKS_COLLECTED, kOld, kEnd)});
    std::map<uint64_t, Object> after;
    uint64_t to = kOld;
    for (auto at = objects_.lower_bound(kOld); at != objects_.end(); ++at) {
      if (random_() % 2 == 0) Move<AntTracksSlide>(at->first, to, at->second, 0, &after);
    }
    for (auto at = objects_.begin(); at != objects_.lower_bound(kOld); ++at) {
      if (random_() % 2 == 0) Move<AntTracksSlide>(at->first, to, at->second, 0, &after);
    }
    old_ = to;
    End(std::move(after));
  }
  void Check() {
    provenance_.SyncPointBegins();
    const Runs runs = Saved(provenance_);
    uint64_t covered = 0, end = 0;
    for (const auto& [run_begin, run_end, thread, age] : runs) {
      REQUIRE(run_begin >= end);
      end = run_end;
      covered += run_end - run_begin;
    }
    uint64_t live = 0;
    auto run = runs.begin();
    for (const auto& [address, object] : objects_) {
      while (run != runs.end() && std::get<1>(*run) <= address) ++run;
      REQUIRE(run != runs.end());
      REQUIRE(std::get<0>(*run) <= address);
      REQUIRE(address + object.bytes <= std::get<1>(*run));
      REQUIRE(std::get<2>(*run) == object.thread);
      REQUIRE(std::get<3>(*run) == collections_ - object.birth);
      live += object.bytes;
    }
    CHECK(covered == live);
    CHECK(live != 0);
  }

 private:
  static constexpr uint32_t kWorkers = 3;
  struct Object {
    uint64_t bytes;
    uint32_t thread, birth;
  };

  void Begin(uint32_t kind, const std::vector<AntTracksSpace>& spaces) {
    kind_ = kind;
    provenance_.CollectionBegins(GcOf(kind, spaces));
  }
  template <class Record>
  void Move(uint64_t from, uint64_t& to, const Object& object, uint64_t bit,
            std::map<uint64_t, Object>* after) {
    if (random_() % 8 == 0) to += 16;  // the rest of a buffer
    const Record record{from, to | bit, object.bytes / 8};
    provenance_.Moved(static_cast<uint32_t>(random_() % kWorkers), std::span<const Record>(&record, 1));
    (*after)[to] = object;
    to += object.bytes;
  }
  void End(std::map<uint64_t, Object> after) {
    provenance_.CollectionEnds(GcOf(kind_, {}));
    objects_ = std::move(after);
    collections_++;
    if (random_() % 2 == 0) provenance_.Settle();
  }

  Provenance provenance_;
  std::mt19937 random_{4711};
  std::map<uint64_t, Object> objects_;
  uint64_t survivor_ = kOther, old_ = kOld;
  uint32_t collections_ = 0, kind_ = 0;
};

TEST_CASE("however objects are moved, each is in a run with its thread and time, and nothing else is") {
  for (const size_t noted_bytes : {size_t{1}, size_t{4096}, size_t{16} << 20}) {
    Model model(noted_bytes);
    for (int i = 0; i < 60; i++) {
      model.Allocate();
      i % 10 == 9 ? model.CollectFull() : model.CollectYoung();
      if (i % 3 == 0) model.Check();
    }
  }
}

}  // namespace
}  // namespace anttracks::core
