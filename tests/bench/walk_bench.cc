// SPDX-License-Identifier: Apache-2.0
// What the agent's hottest path costs: ns an object for reading TLABs and encoding what lies in them.
//
//     walk_bench TRACE [MILLION_OBJECTS] [STRETCH_KB] [BEHIND_KB]
//
// The objects are those of a real trace: the ones that its busiest thread allocated, with their true allocation
// sites, classes and lengths, written into memory as headers, stretch by stretch. BEHIND_KB is how much is
// written before the walk comes to a stretch: 0 (the default) is a stretch that has just been filled, more is
// one that has left the cache.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "agent/full/session.h"
#include "analyzer/passes/pass.h"
#include "trace/reader.h"

namespace anttracks::bench {
namespace {

struct Allocated {
  uint32_t site, class_id, length, words;
};

constexpr uint32_t kKlassOffset = 8, kLengthOffset = 12;
// A class in a header: about as far apart as the metadata of real classes, in units of 8 bytes.
constexpr uint32_t kFirstKlass = 0x800000, kKlassUnits = 72;

// Counts a trace's objects by thread, or keeps those of one thread.
class Collect : public analyzer::SinkBase {
 public:
  Collect(const analyzer::Definitions& definitions, uint64_t thread, size_t most)
      : definitions_(definitions), thread_(thread), most_(most) {}
  void AllocBegin(uint64_t thread, uint64_t, uint32_t) override { current_ = thread; }
  void Objects(const analyzer::Neighbours& run) override {
    by_thread[current_] += run.shapes.size();
    if (current_ != thread_) return;
    for (const uint32_t id : run.shapes) {
      if (done()) return;
      const analyzer::ObjectShape& shape = definitions_.shapes()[id];
      const analyzer::SiteClass& site_class = definitions_.site_class(shape.site_class);
      objects.push_back({site_class.site, site_class.class_id, shape.length, shape.words});
    }
  }
  bool done() const override { return objects.size() >= most_; }

  std::map<uint64_t, uint64_t> by_thread;
  std::vector<Allocated> objects;

 private:
  const analyzer::Definitions& definitions_;
  uint64_t thread_;
  size_t most_;
  uint64_t current_ = 0;
};

const analyzer::Definitions* known;  // what the VM's queries answer from
const char kText[] = "x";

int32_t DescribeClass(uint64_t klass, AntTracksClass* out, char*, size_t) {
  const analyzer::ClassInfo& info = known->class_info((klass - kFirstKlass) / kKlassUnits);
  if (!info.defined) return -1;
  out->is_array = (info.flags & trace::kClassArray) != 0;
  out->is_mirror = (info.flags & trace::kClassVariableSize) != 0;
  out->instance_bytes = info.bytes;
  out->array_header_bytes = static_cast<uint32_t>(info.header_bytes);
  out->array_log2_element_bytes = static_cast<uint32_t>(info.log2_element);
  out->name = out->loader_name = kText;
  return 0;
}
int32_t DescribeSite(uint32_t site, AntTracksSite* out) {
  if (!known->site(site).defined) return -1;
  out->method = 1;
  out->bci = static_cast<int32_t>(site);
  return 0;
}
int32_t DescribeMethod(uint32_t, AntTracksMethod* out, char*, size_t) {
  out->class_name = out->name = out->signature = out->source_file = kText;
  return 0;
}
int32_t DescribeThread(void*, AntTracksThread* out, char*, size_t) {
  out->name = kText;
  out->java_id = 1;
  return 0;
}
uint32_t ObjectSite(uint64_t) { return 0; }
uint64_t ObjectBytes(uint64_t address) {  // of a mirror: its size stands where an array has its length
  uint32_t words;
  std::memcpy(&words, reinterpret_cast<const void*>(address + kLengthOffset), sizeof words);
  return uint64_t{words} * 8;
}

AntTracksVM MakeVm() {
  AntTracksVM vm{};
  vm.set_stack_bytes = [](uint32_t) {};
  vm.size = offsetof(AntTracksVM, describe_fields);
  vm.version = ANTTRACKS_ABI_VERSION;
  vm.klass_offset = kKlassOffset;
  vm.klass_bytes = 4;
  vm.array_length_offset = kLengthOffset;
  vm.object_alignment = 8;
  vm.gc_workers = 1;
  vm.site_scheme = ANTTRACKS_SITES_MARK;
  vm.hash_shift = 8;
  vm.object_site = ObjectSite;
  vm.object_bytes = ObjectBytes;
  vm.describe_class = DescribeClass;
  vm.describe_site = DescribeSite;
  vm.describe_method = DescribeMethod;
  vm.describe_thread = DescribeThread;
  return vm;
}

// Writes headers from `from` on; the stretch's end, with *next behind the last object that fits.
uint64_t* Fill(uint64_t* at, uint64_t* end, const std::vector<Allocated>& objects, size_t* next) {
  while (*next < objects.size()) {
    const Allocated& object = objects[*next];
    if (at + object.words > end) break;
    at[0] = uint64_t{object.site} << ANTTRACKS_SITE_SHIFT | 1;
    at[1] = (kFirstKlass + object.class_id * kKlassUnits) | uint64_t{object.length} << 32;
    for (uint32_t i = 2; i < object.words; i++) at[i] = 0;
    at += object.words;
    ++*next;
  }
  return at;
}

struct Figures {
  double ns = 0;
  uint64_t objects = 0, bytes = 0;
};

// Fills as many stretches as the memory has room for, then reports and reads them, until all objects were
// there.
void Round(core::Session& session, const std::vector<Allocated>& objects, size_t stretch_words,
           std::vector<uint64_t>& memory, void** slot, Figures* figures) {
  size_t next = 0;
  while (next < objects.size()) {
    std::vector<std::pair<uint64_t*, uint64_t*>> filled;
    const size_t first = next;
    for (size_t at = 0; at < memory.size(); at += stretch_words) {
      uint64_t* const start = memory.data() + at;
      filled.emplace_back(start, Fill(start, start + stretch_words, objects, &next));
    }
    if (next == first) next++;  // larger than a stretch: outside TLABs in a real heap
    const auto began = std::chrono::steady_clock::now();
    for (const auto& [start, top] : filled) {
      session.mutators().Alloc(slot, slot, reinterpret_cast<uint64_t>(start), reinterpret_cast<uint64_t>(top),
                               core::Moment::kRunning);
    }
    session.mutators().WalkAll();
    figures->ns += std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
    figures->objects += next - first;
  }
}

Figures Walk(const std::vector<Allocated>& objects, size_t stretch_words, size_t stretches) {
  const AntTracksVM vm = MakeVm();
  core::Session session(vm, core::SessionConfig{});
  session.Begin(trace::SyncReason::kStart);
  std::atomic<uint64_t> bytes{0};
  std::thread writer([&] {
    while (true) {
      core::Buffer* list = session.queue().Pop(std::chrono::milliseconds(100));
      for (core::Buffer* b = list; b != nullptr; b = b->next) bytes += b->used;
      if (list == nullptr && session.queue().closed()) return;
      session.queue().Recycle(list);
    }
  });
  Figures figures;
  void* slot = nullptr;
  std::vector<uint64_t> memory(stretch_words * stretches);
  // The first round makes tables and buffers.
  for (int round = 0; round < 2; round++) {
    figures = Figures();
    bytes = 0;
    Round(session, objects, stretch_words, memory, &slot, &figures);
  }
  session.Finish("done");
  writer.join();
  if (session.failure().failed()) {
    std::fprintf(stderr, "walk_bench: %s\n", session.failure().reason().c_str());
    std::exit(1);
  }
  figures.bytes = bytes;
  return figures;
}

std::vector<Allocated> Load(const char* path, size_t most, analyzer::Problems& problems,
                            std::unique_ptr<analyzer::Definitions>* definitions) {
  uint64_t busiest = 0;
  for (const bool keep : {false, true}) {
    auto reader = trace::TraceReader::Open({path});
    if (!reader.ok()) {
      std::fprintf(stderr, "walk_bench: %s\n", reader.status().message().c_str());
      std::exit(1);
    }
    *definitions = std::make_unique<analyzer::Definitions>(problems);
    Collect collect(**definitions, keep ? busiest : UINT64_MAX, keep ? most : SIZE_MAX);
    analyzer::Pass<Collect> pass(**reader, **definitions, problems, collect);
    pass.Run();
    if (keep) return std::move(collect.objects);
    uint64_t largest = 0;
    for (const auto& [thread, count] : collect.by_thread) {
      if (count > largest) busiest = thread;
      largest = std::max(largest, count);
    }
  }
  return {};
}

}  // namespace
}  // namespace anttracks::bench

int main(int argc, char** argv) {
  using namespace anttracks;
  if (argc < 2 || argc > 5) {
    std::fprintf(stderr, "usage: walk_bench TRACE [MILLION_OBJECTS] [STRETCH_KB] [BEHIND_KB]\n");
    return 2;
  }
  const auto number = [&](int i, long otherwise) {
    return argc > i ? std::max(0L, std::atol(argv[i])) : otherwise;
  };
  const size_t most = static_cast<size_t>(std::max(1L, number(2, 10))) * 1'000'000;
  const size_t stretch = static_cast<size_t>(std::max(4L, number(3, 64))) << 10;
  const size_t stretches = std::max<size_t>(1, (static_cast<size_t>(number(4, 0)) << 10) / stretch);
  analyzer::Problems problems;
  std::unique_ptr<analyzer::Definitions> definitions;
  const auto objects = bench::Load(argv[1], most, problems, &definitions);
  if (objects.empty()) {
    std::fprintf(stderr, "walk_bench: %s: no objects\n", argv[1]);
    return 1;
  }
  bench::known = definitions.get();
  std::vector<bench::Figures> runs;
  for (int i = 0; i < 5; i++) runs.push_back(bench::Walk(objects, stretch / 8, stretches));
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.ns < b.ns; });
  const bench::Figures& median = runs[runs.size() / 2];
  const double count = static_cast<double>(median.objects);
  std::printf(
      "%.2f ns an object (%.2f to %.2f), %.3f bytes an object, %zu objects, stretches of %zu KB, %zu KB "
      "behind\n",
      median.ns / count, runs.front().ns / count, runs.back().ns / count,
      static_cast<double>(median.bytes) / count, objects.size(), stretch >> 10, stretches * stretch >> 10);
  return 0;
}
