// SPDX-License-Identifier: Apache-2.0
// Definitions when classes come and go, when ids run out, and when memory does.
#include "agent/heap/definitions.h"

#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "agent/sample/sample_definitions.h"
#include "tests/unit/agent/failing_memory.h"
#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

constexpr uint64_t kNew = FakeVm::kBase + 0x10000;

uint64_t Narrow(uint64_t klass) { return (klass - FakeVm::kBase) >> 3; }

// What was recorded until then goes to the writer.
void Collect(Recording& recording) {
  AntTracksGC gc{};
  gc.size = sizeof gc;
  gc.kind = ANTTRACKS_GC_YOUNG;
  gc.cause = "test";
  recording.callbacks().gc_begin(recording.context(), &gc);
  recording.callbacks().gc_end(recording.context(), &gc);
}

template <class Definitions>
ReadTrace Taken(Definitions& definitions) {
  ReadTrace read;
  for (const trace::ByteBuffer& block : definitions.Take()) ReadDefinitions(&read, block.span());
  return read;
}

TEST_CASE("tables do not grow with classes that come and go") {
  FakeVm vm;
  Definitions definitions(vm.vm());
  // The first class of a site has a place of its own.
  for (const uint32_t site : {0u, 17u, 18u})
    REQUIRE(definitions.Resolve(site, Narrow(FakeVm::kObject)).id != 0);
  const auto churn = [&](int classes) {
    for (int i = 0; i < classes; i++) {
      const uint64_t klass = kNew + 8 * static_cast<uint64_t>(i);
      vm.classes()[klass] = {"Gone", 24};
      for (const uint32_t site : {0u, 17u, 18u}) REQUIRE(definitions.Resolve(site, Narrow(klass)).id != 0);
      REQUIRE(definitions.Unload(klass) != 0);
      vm.classes().erase(klass);
      if (i % 50 == 0) {
        definitions.Shrink();
        definitions.Take();
      }
    }
    definitions.Shrink();
    return definitions.counts();
  };
  const DefinitionCounts first = churn(1000);
  const DefinitionCounts last = churn(100'000);
  CHECK(last.site_classes == 303'003);
  CHECK(last.live_site_classes == 3);
  CHECK(last.table_bytes < 2 * first.table_bytes);
}

TEST_CASE("where ids run out none is given, none is used twice, and what is known stays known") {
  FakeVm vm;
  Definitions definitions(vm.vm(), 3);
  const uint32_t known = definitions.Resolve(17, Narrow(FakeVm::kObject)).id;
  CHECK(definitions.Resolve(18, Narrow(FakeVm::kObject)).id == 2);
  CHECK(definitions.Unload(FakeVm::kObject) == 1);
  CHECK(definitions.Resolve(17, Narrow(FakeVm::kObject)).id == 3);
  CHECK_FALSE(definitions.exhausted());
  CHECK(definitions.Resolve(18, Narrow(FakeVm::kObject)).id == 0);
  CHECK(definitions.exhausted());
  CHECK(definitions.Resolve(17, Narrow(FakeVm::kObject)).id == 3);
  const ReadTrace read = Taken(definitions);
  CHECK(known == 1);
  CHECK(read.site_classes.size() == 3);
  CHECK(read.site_classes.rbegin()->first == 3);
}

TEST_CASE(
    "when the ids of site-class pairs run out tracing stops with one reason, and the trace can be read up to "
    "there") {
  FakeVm vm;
  SessionConfig config;
  config.most_id = 2;
  Recording recording(vm, config);
  void* slot = nullptr;
  const uint64_t one = vm.heap(), two = vm.Put(one, FakeVm::kPoint, 17),
                 three = vm.Put(two, FakeVm::kPoint, 18);
  const uint64_t four = vm.Put(three, FakeVm::kPoint, 19), end = vm.Put(four, FakeVm::kPoint, 17);
  recording.Tlab(5, &slot, one, three, true);
  Collect(recording);
  CHECK(recording.session().failure().active());
  recording.Tlab(5, &slot, three, end, true);
  CHECK_FALSE(recording.session().failure().active());
  CHECK(recording.session().failure().reason().find("all 2 ids") == 0);
  const ReadTrace read = recording.End();
  CHECK(read.objects.size() == 2);
  CHECK(read.end_reason.find("all 2 ids") != std::string::npos);
}

uint64_t AllocBytes(const ReadTrace& read) {
  uint64_t bytes = 0;
  for (const ReadSegment& segment : read.segments) {
    if (segment.kind == trace::SegmentKind::kAlloc) bytes += segment.payload.size();
  }
  return bytes;
}

TEST_CASE("a pair that many objects have gets an id that fits into a column, however late it comes") {
  constexpr uint32_t kOnce = 9000, kOften = 1000, kSites = 80;  // the fake VM knows sites 20 to 99
  uint64_t bytes[2] = {};
  for (const bool late : {false, true}) {
    FakeVm vm(true, 1 << 17);
    for (uint64_t i = 0; i <= kOnce / kSites; i++) vm.classes()[kNew + 8 * i] = {"Once", 24};
    Recording recording(vm);
    void* slot = nullptr;
    uint64_t at = vm.heap();
    const auto allocate = [&](uint64_t klass, uint32_t site) {
      const uint64_t start = at;
      at = vm.Put(at, klass, site);
      recording.Tlab(5, &slot, start, at, true);
    };
    for (uint32_t i = 0; i < kOnce; i++) allocate(kNew + 8 * (i / kSites), 20 + i % kSites);
    Collect(recording);
    for (uint32_t i = 0; late && i < kOften; i++) allocate(FakeVm::kPoint, 20);
    const ReadTrace read = recording.End();
    bytes[late] = AllocBytes(read);
    if (!late) continue;
    std::vector<uint32_t> ids;
    for (const auto& [id, pair] : read.site_classes) {
      if (read.classes.at(pair.class_id).name == "Point") ids.push_back(id);
    }
    REQUIRE(ids.size() == 2);
    CHECK(ids[0] <= trace::kSiteClassMask);
    CHECK(ids[1] > trace::kSiteClassMask);
    REQUIRE(read.objects.size() == kOnce + kOften);
    for (uint32_t i = 0; i < kOften; i++) REQUIRE(read.objects[kOnce + i].class_name == "Point");
  }
  // Each run of one object has a head of 3 or 4 bytes.
  CHECK(bytes[true] - bytes[false] < kOften * (2 + 4) + 100 * 4);
}

TEST_CASE("a second id is given once, until there are none left") {
  FakeVm vm;
  Definitions definitions(vm.vm());
  CHECK(definitions.GiveColumnId(17, Narrow(FakeVm::kPoint)).id == 0);
  uint32_t site = 100;
  while (definitions.Resolve(site, Narrow(FakeVm::kPoint)).id <= trace::kSiteClassMask) site++;
  const uint32_t given = definitions.GiveColumnId(site, Narrow(FakeVm::kPoint)).id;
  CHECK(given == site - 100 + 1);
  CHECK(definitions.GiveColumnId(site, Narrow(FakeVm::kPoint)).id == given);
  CHECK(definitions.Resolve(site, Narrow(FakeVm::kPoint)).id == given);
  uint32_t more = 0;
  for (uint32_t next = site + 1;; next++, more++) {
    definitions.Resolve(next, Narrow(FakeVm::kPoint));
    if (definitions.GiveColumnId(next, Narrow(FakeVm::kPoint)).id == 0) break;
  }
  CHECK(given + more == trace::kSiteClassMask);
  CHECK_FALSE(definitions.exhausted());
  CHECK(definitions.counts().site_classes == site - 100 + 1 + more + 1);
  CHECK(definitions.Unload(FakeVm::kPoint) != 0);
  CHECK(definitions.site_classes().Find(site, Narrow(FakeVm::kPoint)).id == 0);
}

TEST_CASE("when the ids of threads run out tracing stops with the same reason") {
  FakeVm vm;
  SessionConfig config;
  config.most_id = 2;
  Recording recording(vm, config);
  void* slots[3] = {};
  uint64_t at = vm.heap();
  for (uintptr_t i = 0; i < 3; i++) {
    const uint64_t top = vm.Put(at, FakeVm::kPoint, 17);
    recording.Tlab(i + 1, &slots[i], at, top, true);
    at = top;
    if (i == 1) Collect(recording);
  }
  CHECK(slots[1] != nullptr);
  CHECK(slots[2] == nullptr);
  CHECK(recording.session().failure().reason().find("all 2 ids") == 0);
  const ReadTrace read = recording.End();
  CHECK(read.threads.size() == 2);
  CHECK(read.objects.size() == 2);
}

// Runs work with memory that ends ever later, until it is enough. After each end the same work succeeds, and
// what was defined until then is well formed.
template <class Definitions, class Make, class Work>
void WithoutMemory(Make make, Work work) {
  for (size_t good = 0, ended = 1; ended != 0; good++) {
    REQUIRE(good < 10'000);
    Definitions definitions = make();
    ended = 0;
    {
      const FailingMemory memory(good);
      try {
        work(definitions);
      } catch (const std::bad_alloc&) {
        ended = 1;
      }
    }
    const uint32_t id = work(definitions);
    ReadTrace read;
    CHECK_NOTHROW(read = Taken(definitions));
    CHECK(read.site_classes.count(id) == 1);
  }
}

TEST_CASE("memory that ends in the middle of a definition leaves no half of it") {
  FakeVm vm;
  vm.classes()[FakeVm::kPoint].name = std::string(3000, 'P');
  WithoutMemory<Definitions>(
      [&] { return Definitions(vm.vm()); },
      [](Definitions& definitions) { return definitions.Resolve(25, Narrow(FakeVm::kPoint)).id; });
}

TEST_CASE("memory that ends in the middle of a sample's definitions leaves no half of them") {
  const SampleFrame frames[] = {{1, 10}, {2, 20}};
  const std::string name(3000, 'n');
  const SampleFrameText text{"Lapp/A;", name, "()V", "A.java", 7};
  WithoutMemory<SampleDefinitions>([] { return SampleDefinitions(); },
                                   [&](SampleDefinitions& definitions) {
                                     size_t unknown = 0;
                                     for (const SampleFrame& frame : frames) definitions.Define(frame, &text);
                                     return definitions.SiteClass(frames, "Lapp/B;", &unknown);
                                   });
}

TEST_CASE("when the ids of samples run out the reason is told, and none is used twice") {
  SampleDefinitions definitions(20);
  size_t unknown = 0;
  for (int i = 1; i <= 20; i++)
    CHECK(definitions.SiteClass({}, "Lapp/A" + std::to_string(i) + ";", &unknown) != 0);
  CHECK_THROWS_AS(definitions.SiteClass({}, "Lapp/B;", &unknown), std::length_error);
  CHECK(Taken(definitions).classes.size() == 20);
}

}  // namespace
}  // namespace anttracks::core
