// SPDX-License-Identifier: Apache-2.0
// Heap dumps: what is written can be read, and what is damaged gives an error that says where.
#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <random>

#include "analyzer/hprof/dump.h"
#include "analyzer/hprof/hprof_reader.h"
#include "analyzer/hprof/names.h"
#include "analyzer/hprof/references.h"
#include "analyzer/hprof/write_heap.h"
#include "analyzer/passes/heap_at.h"
#include "analyzer/passes/pass.h"
#include "tests/unit/analyzer/cost.h"
#include "tests/unit/analyzer/hprof_dump.h"
#include "tests/unit/analyzer/small_trace.h"
#include "trace/reader.h"

namespace anttracks::testing {
namespace {

using hprof::Dump;
using hprof::Held;
using hprof::HprofReader;
using hprof::References;

// The heap of the small trace after collection 1, as a dump.
struct Written {
  TempPath out;
  analyzer::Problems problems;
  analyzer::Definitions definitions{problems};
  hprof::WrittenHeap written;

  explicit Written(Held held, const std::string& trace = SmallTrace().file()) {
    const TempFile file(trace);
    auto reader = trace::TraceReader::Open({file.path()});
    REQUIRE(reader.ok());
    analyzer::HeapAt heap(definitions, problems, {});
    analyzer::Pass<analyzer::HeapAt>(**reader, definitions, problems, heap).Run();
    const auto result = hprof::WriteHprof(
        out.path(), false,
        {definitions, [&](const auto& visit) { heap.ForEach(visit); }, kHeapEnd * 8, 1'700'000'000'123}, held);
    REQUIRE(result.ok());
    written = *result;
  }
};

std::unique_ptr<HprofReader> Open(const std::string& path) {
  auto reader = HprofReader::Open(path);
  CAPTURE(reader.message());
  REQUIRE(reader.ok());
  return std::move(*reader);
}

std::unique_ptr<Dump> ReadDump(const HprofReader& reader) {
  auto dump = Dump::Read(reader);
  CAPTURE(dump.message());
  REQUIRE(dump.ok());
  return std::move(*dump);
}

std::unique_ptr<References> ReadReferences(const HprofReader& reader, const Dump& dump) {
  auto references = References::Read(reader, dump);
  CAPTURE(references.message());
  REQUIRE(references.ok());
  return std::move(*references);
}

// What is said of a dump that cannot be read.
std::string ErrorOf(const std::string& bytes) {
  const TempFile file(bytes, "dump");
  const auto reader = HprofReader::Open(file.path());
  std::string message = reader.message();
  if (reader.ok()) {
    const auto dump = Dump::Read(**reader);
    message = dump.message();
    if (dump.ok()) message = References::Read(**reader, **dump).message();
  }
  return Replace(message, file.path(), "DUMP");
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("a heap of a trace is written as a dump, each object at its address and with its class") {
  const Written heap(Held::kRoots);
  CHECK(heap.written.objects == 5);
  CHECK(heap.written.bytes == 240);
  const auto reader = Open(heap.out.path());
  CHECK(reader->milliseconds() == 1'700'000'000'123);
  const auto dump = ReadDump(*reader);
  std::map<uint64_t, std::string> found;
  for (uint32_t i = 0; i < dump->size(); i++) {
    if (dump->objects()[i].address < kHeapEnd * 8)
      found[dump->objects()[i].address / 8] = dump->class_of(i).name;
  }
  const std::map<uint64_t, std::string> expected{{kOld, "java.lang.Class"},
                                                 {kOld + 14, "int[]"},
                                                 {kOld + 21, "app.Node"},
                                                 {kOld + 24, "app.Node"},
                                                 {kOld + 27, "app.Node"}};
  CHECK(found == expected);
  const uint32_t array = dump->Find((kOld + 14) * 8);
  CHECK(dump->objects()[array].length == 10);
  const auto references = ReadReferences(*reader, *dump);
  for (uint32_t i = 0; i < dump->size(); i++) CHECK(references->nearest(i) == References::kRoot);
}

TEST_CASE("a site's object in a written heap refers to all that was allocated there") {
  const Written heap(Held::kSites);
  const auto reader = Open(heap.out.path());
  const auto dump = ReadDump(*reader);
  const auto references = ReadReferences(*reader, *dump);
  std::map<std::string, uint32_t> held;
  for (uint32_t i = 0; i < dump->size(); i++) {
    if (dump->class_of(i).name.substr(0, 5) != "site " || dump->is_mirror(i)) continue;
    REQUIRE(references->Degree(i) == 1);
    held[dump->class_of(i).name] = references->Degree(references->Target(i, 0));
  }
  const std::map<std::string, uint32_t> expected{
      {"site <unknown>", 1}, {"site app.List.add(List.java:12)", 3}, {"site app.Main.run(Main.java:30)", 1}};
  CHECK(held == expected);
  for (uint32_t i = 0; i < dump->size(); i++) CHECK(references->reached(i));
}

TEST_CASE("a written heap has its records in one piece, behind all others, as tools expect") {
  for (const Held held : {Held::kRoots, Held::kSites}) {
    const Written heap(held, ClassesTrace().file());
    bool in_heap = false;
    int others = 0;
    Open(heap.out.path())->ForEachRecord([&](const HprofReader::Record& record) {
      in_heap = in_heap || record.heap();
      others += in_heap && !record.heap() && record.tag != hprof::Tag::kHeapDumpEnd;
    });
    CHECK(in_heap);
    CHECK(others == 0);
  }
}

TEST_CASE("a written heap has the stacks of the sites, with the callers that were inlined") {
  const Written heap(Held::kRoots);
  const auto reader = Open(heap.out.path());
  std::map<uint64_t, std::string> frames;
  std::map<uint32_t, std::string> stacks;
  reader->ForEachRecord([&](const HprofReader::Record& record) {
    const uint8_t* p = record.body.data();
    if (record.tag == hprof::Tag::kStackFrame)
      frames[hprof::GetU8(p)] = std::string(reader->String(hprof::GetU8(p + 8))) + ":" +
                                std::to_string(static_cast<int32_t>(hprof::GetU4(p + 36)));
    if (record.tag != hprof::Tag::kStackTrace) return;
    std::string& stack = stacks[hprof::GetU4(p)];
    for (uint32_t i = 0; i < hprof::GetU4(p + 8); i++) stack += frames[hprof::GetU8(p + 12 + 8 * i)] + " ";
  });
  struct Serials {
    std::map<uint64_t, uint32_t> of;
    const HprofReader* reader;
    trace::Status operator()(const hprof::RootRecord&) { return {}; }
    trace::Status operator()(const hprof::ClassRecord&) { return {}; }
    trace::Status operator()(const hprof::InstanceRecord& r) { return Add(r.id, r.offset); }
    trace::Status operator()(const hprof::ArrayRecord& r) { return Add(r.id, r.offset); }
    trace::Status Add(uint64_t id, uint64_t offset) {
      of[id / 8] = hprof::GetU4(&reader->bytes()[offset + 1 + hprof::kStackSerialOffset]);
      return {};
    }
  } serials{{}, reader.get()};
  REQUIRE(reader->ForEach(serials).ok());
  CHECK(stacks[serials.of[kOld + 14]] == "run:30 ");
  CHECK(stacks[serials.of[kOld + 24]] == "add:12 ");
  CHECK(stacks[serials.of[kOld]] == "<unknown>:-1 ");
  CHECK(stacks[1].empty());
}

TEST_CASE("fields that a trace does not have are filled up in a written heap") {
  const Written small(Held::kRoots);
  const auto reader = Open(small.out.path());
  const auto dump = ReadDump(*reader);
  // 24 bytes with a header of 12.
  CHECK(dump->class_of(dump->Find((kOld + 24) * 8)).value_bytes == 12);
  // next, stamp, names; count, marked
  const Written classes(Held::kRoots, ClassesTrace().file());
  const auto other = Open(classes.out.path());
  const auto with_fields = ReadDump(*other);
  const hprof::DumpClass& node = with_fields->class_of(with_fields->Find(kEden * 8));
  CHECK(node.name == "app.Node");
  CHECK(node.value_bytes == 8 + 8 + 8 + 4 + 1);
  CHECK(node.references == std::vector<uint32_t>{0, 16});
}

TEST_CASE("a dump is written only where none is, or with force over another dump") {
  const Written heap(Held::kRoots);
  const auto write = [&](const std::string& path, bool force) {
    return hprof::WriteHprof(path, force, {heap.definitions, [](const auto&) {}, kHeapEnd * 8, 0}, Held::kRoots)
        .message();
  };
  CHECK(Has(write(heap.out.path(), false), "exists already; -f replaces it"));
  CHECK(write(heap.out.path(), true).empty());
  const TempFile text("my notes");
  CHECK(Has(write(text.path(), true), "is something else, not a heap dump"));
  CHECK(Has(write("/no/such/folder/x.hprof", true), "cannot write /no/such/folder/x.hprof"));
}

TEST_CASE("names of classes go from a dump to a trace and back") {
  const std::map<std::string, std::string> names{
      {"java/lang/String", "java.lang.String"},
      {"[I", "int[]"},
      {"[[J", "long[][]"},
      {"[Ljava/lang/String;", "java.lang.String[]"},
      {"app/Main$$Lambda$1+0x7f01", "app.Main$$Lambda$1/0x7f01"},
      {"[Lapp/Main$$Lambda$1+0x7f01;", "app.Main$$Lambda$1/0x7f01[]"},
      {"I", "I"}};
  for (const auto& [in_dump, source] : names) {
    CHECK(hprof::SourceName(in_dump) == source);
    CHECK(hprof::NameInDump(source) == in_dump);
  }
  CHECK(hprof::SourceName("[") == "[]");
  CHECK(hprof::SourceName("[;") == ";[]");
  CHECK(hprof::NameInDump("[]") == "[]");
}

// Object has no fields; Node has two, next and value; Weak's referent does not hold what it refers to.
constexpr uint64_t kObject = 0x10, kClassClass = 0x20, kNode = 0x30, kReference = 0x40, kWeak = 0x50,
                   kNodes = 0x60, kHidden = 0x70;
DumpBuilder Start() {
  DumpBuilder b;
  b.Load(kObject, "java/lang/Object").Load(kClassClass, "java/lang/Class").Load(kNode, "app/Node");
  b.Load(kReference, "java/lang/ref/Reference").Load(kWeak, "java/lang/ref/WeakReference");
  b.Load(kNodes, "[Lapp/Node;").Load(kHidden, "app/Hidden+0x1");
  b.Class(kObject, 0, {}).Class(kClassClass, kObject, {}).Class(kNode, kObject, {{"next"}, {"value"}});
  b.Class(kReference, kObject, {{"queue"}, {"referent"}}).Class(kWeak, kReference, {{"own"}});
  b.Class(kNodes, kObject, {}).Class(kHidden, kObject, {}, {{"cache", 2, 0x700}, {"count", 10, 3}});
  for (const uint64_t id : {kObject, kClassClass, kNode, kReference, kWeak, kNodes}) b.Root(id, 0x05);
  return b;
}

TEST_CASE("references are fields, elements and static fields, but no referent of a weak reference") {
  DumpBuilder b = Start();
  b.Root(0x100).Instance(0x100, kNode, {0x200, 0x300}).Array(0x200, kNodes, {0, 0x400, 0x100}).Ints(0x300, 3);
  b.Instance(0x400, kWeak, {0x600, 0, 0x500}).Instance(0x500, kNode, {0x510, 0}).Instance(0x510, kNode, {0, 0});
  b.Instance(0x600, kHidden, {}).Instance(0x700, kNode, {0, 0}).Instance(0x800, kNode, {0x100, 0xdead0});
  const TempFile file(b.file(), "dump");
  const auto reader = Open(file.path());
  const auto dump = ReadDump(*reader);
  const auto references = ReadReferences(*reader, *dump);
  const auto nearest = [&](uint64_t id) -> uint64_t {
    const uint32_t object = references->nearest(dump->Find(id));
    return object >= dump->size() ? object : dump->objects()[object].address;
  };
  CHECK(nearest(0x100) == References::kRoot);
  CHECK(nearest(0x200) == 0x100);
  CHECK(nearest(0x400) == 0x200);
  CHECK(nearest(0x500) == hprof::kNone);
  CHECK(references->reached_weakly(dump->Find(0x500)));
  CHECK(references->reached_weakly(dump->Find(0x510)));
  CHECK(nearest(0x600) == 0x400);
  CHECK(nearest(kHidden) == 0x600);  // nothing else holds the class
  CHECK(nearest(0x700) == kHidden);
  CHECK(nearest(0x800) == hprof::kNone);
  CHECK(!references->reached_weakly(dump->Find(0x800)));
  CHECK(references->dangling() == 1);
  CHECK(references->Degree(dump->Find(0x600)) == 1);
  CHECK(references->Degree(dump->Find(0x100)) == 2);
  CHECK(dump->Find(0x101) == hprof::kNone);
  CHECK(dump->Find(1) == hprof::kNone);
  CHECK(dump->Find(UINT64_MAX) == hprof::kNone);
}

TEST_CASE("a long chain of weak references is followed in time, whatever the order of its records") {
  constexpr uint64_t kLinks = 100'000;
  DumpBuilder b = Start();
  const auto reference = [](uint64_t i) { return 0x1000000 + (kLinks - i) * 0x100; };
  b.Root(reference(0));
  // Each refers weakly to an object that refers to the next one. The last ones come first.
  for (uint64_t i = kLinks; i-- > 0;) {
    b.Instance(reference(i), kWeak, {0, 0, reference(i) + 0x80});
    b.Instance(reference(i) + 0x80, kNode, {i + 1 == kLinks ? 0 : reference(i + 1), 0});
  }
  const TempFile file(b.file(), "dump");
  const auto reader = Open(file.path());
  const auto dump = ReadDump(*reader);
  const Cost cost;
  const auto references = ReadReferences(*reader, *dump);
  CHECK(cost.seconds() < 2 * kSlower);
  CHECK(references->reached_weakly(dump->Find(reference(kLinks - 1) + 0x80)));
}

TEST_CASE("what is no dump, or cut off, is named") {
  CHECK(Has(ErrorOf(""), "DUMP is empty, not a heap dump"));
  CHECK(Has(ErrorOf("\x1f\x8b compressed"), "DUMP is a gzip archive, not a heap dump"));
  CHECK(Has(ErrorOf(SmallTrace().file()), "DUMP is an AntTracks trace, not a heap dump"));
  const std::string whole = Start().Ints(0x900, 1000).file();
  CHECK(ErrorOf(whole).empty());
  CHECK(Has(ErrorOf(whole.substr(0, 25)), "DUMP: offset 19: the file ends within its header"));
  CHECK(Has(ErrorOf(whole.substr(0, 31)), "DUMP: offset 31: the file ends without a heap"));
  CHECK(Has(ErrorOf(whole.substr(0, whole.size() - 10)), "the file ends in the middle of a record"));
  std::string narrow = whole;
  narrow[22] = 4;
  CHECK(Has(ErrorOf(narrow), "DUMP: offset 19: ids of 4 bytes"));
}

TEST_CASE("impossible records of a dump are named with their offset") {
  const auto error = [](const std::function<void(DumpBuilder&)>& add) {
    DumpBuilder b = Start();
    add(b);
    return ErrorOf(b.file());
  };
  CHECK(Has(error([](auto& b) { b.heap().U1(0x99); }), ": a record of the heap with the unknown tag 153"));
  CHECK(Has(error([](auto& b) { b.Root(0x10, 0x07).heap().U1(0x21); }), "reaches beyond its segment"));
  CHECK(Has(error([](auto& b) { b.Instance(0x100, 0xbad, {}); }), "the class 0xbad, which was not loaded"));
  CHECK(Has(error([](auto& b) { b.Array(0x100, 0xbad, {}); }), "an array of the class 0xbad"));
  CHECK(
      Has(error([](auto& b) { b.Array(0x100, kNode, {}); }), "an array of the class app.Node, which is none"));
  CHECK(Has(error([](auto& b) { b.Instance(0x100, kNode, {0}); }),
            "the object 0x100 has 8 bytes of values, its class app.Node 16"));
  CHECK(Has(error([](auto& b) { b.Instance(0, kObject, {}); }), "an object with the id 0"));
  CHECK(Has(error([](auto& b) { b.Ints(0x100, 1).Ints(0x100, 1); }), "two objects have the id 0x100"));
  CHECK(Has(error([](auto& b) { b.Class(kNode, 0, {}); }), "the class app.Node is there twice"));
  CHECK(Has(error([](auto& b) { b.Class(0xbad, 0, {}); }), "the class 0xbad was not loaded"));
  CHECK(Has(error([](auto& b) { b.Class(kNode, 0, {{"field", 3}}); }), "unknown type 3"));
  CHECK(Has(error([](auto& b) {
              b.heap().U1(0x23);
              b.heap().U8(0x100);
              b.heap().U4(1);
              b.heap().U4(UINT32_MAX);  // elements
              b.heap().U1(11);
            }),
            "reaches beyond its segment"));
}

TEST_CASE("superclasses that go round in a circle end in an error") {
  DumpBuilder b;
  b.Load(0x10, "app/A").Load(0x20, "app/B").Class(0x10, 0x20, {}).Class(0x20, 0x10, {});
  CHECK(Has(ErrorOf(b.file()), "superclasses, or they go round in a circle"));
}

TEST_CASE("a dump of damaged bytes is read or refused, and never more") {
  DumpBuilder b = Start();
  b.Root(0x100).Instance(0x100, kNode, {0x200, 0x300}).Array(0x200, kNodes, {0, 0x400, 0x100}).Ints(0x300, 3);
  const std::string whole = b.file();
  std::mt19937 random(5);
  int refused = 0;
  for (int i = 0; i < 4000; i++) {
    std::string damaged = whole;
    for (int changes = 0; changes < 3; changes++)
      damaged[31 + random() % (whole.size() - 31)] = static_cast<char>(random());
    refused += !ErrorOf(damaged).empty();
  }
  CHECK(refused > 400);
  for (size_t size = 0; size < whole.size(); size++) ErrorOf(whole.substr(0, size));
}

}  // namespace
}  // namespace anttracks::testing
