// SPDX-License-Identifier: Apache-2.0
// Samples from many threads, their deaths and collections, through the writer into a file.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "agent/io/trace_file.h"
#include "agent/sample/sample_session.h"
#include "tests/unit/agent/recorded.h"
#include "trace/file_writer.h"

namespace anttracks::core {
namespace {

using trace::SegmentKind;

struct ReadSample {
  uint64_t interval = 0, number = 0, time = 0, thread = 0, site_class = 0, words = 0;
};

std::vector<ReadSample> SamplesOf(const ReadSegment& segment) {
  trace::WireReader in(segment.payload);
  std::vector<ReadSample> samples;
  const uint64_t interval = in.Uv();
  uint64_t number = in.Uv(), time = in.Uv();
  while (!in.AtEnd()) {
    ReadSample sample{interval, number++, time += in.Uv(), in.Uv(), 0, 0};
    sample.site_class = in.Uv();
    sample.words = in.Uv();
    samples.push_back(sample);
  }
  CHECK(in.ok());
  return samples;
}

std::vector<ReadSample> SamplesOf(const ReadTrace& trace) {
  std::vector<ReadSample> all;
  for (const ReadSegment& segment : trace.segments) {
    if (segment.kind != SegmentKind::kSamples) continue;
    const auto samples = SamplesOf(segment);
    all.insert(all.end(), samples.begin(), samples.end());
  }
  return all;
}

class SampleRecording {
 public:
  explicit SampleRecording(const SampleConfig& config = {}, bool start = true)
      : path_(TemporaryPath()), session_(config) {
    file_ = std::move(*io::TraceFile::Create(path_, core::IfExists::kRefuse));
    REQUIRE(file_->Write(trace::EncodeFileHeader({1, 2, 3, 0})).ok());
    writer_ = std::make_unique<io::Writer>(session_, *file_, io::WriterConfig{});
    session_.Begin();
    if (start) StartWriter();
  }
  ~SampleRecording() { session_.Finish("test"); }

  void StartWriter() { REQUIRE(writer_->Start("{}").ok()); }
  SampleSession& session() { return session_; }
  uint32_t Thread(std::string_view name) { return session_.definitions().DefineThread(name, 1, 2); }
  const std::string& path() const { return path_; }
  ReadTrace End() {
    session_.Finish("the end");
    REQUIRE(writer_->Wait(std::chrono::seconds(20)));
    return ReadTrace(path_);
  }

 private:
  std::string path_;
  std::unique_ptr<io::TraceFile> file_;
  SampleSession session_;
  std::unique_ptr<io::Writer> writer_;
};

// As the JVM TI side does it.
uint32_t KindOf(SampleDefinitions& definitions, const std::vector<SampleFrame>& stack,
                std::string_view signature) {
  size_t unknown = 0;
  while (true) {
    const uint32_t site_class = definitions.SiteClass(stack, signature, &unknown);
    if (site_class != 0) return site_class;
    const SampleFrame& frame = stack.at(unknown);
    const std::string name = "m" + std::to_string(frame.method);
    const SampleFrameText text{"Lapp/Main;", name, "()V", "Main.java", frame.bci * 10};
    definitions.Define(frame, frame.method == 0 ? nullptr : &text);
  }
}

TEST_CASE("signatures become the names of classes") {
  CHECK(JavaName("Ljava/util/Map$Entry;") == "java.util.Map$Entry");
  CHECK(JavaName("LMain;") == "Main");
  CHECK(JavaName("[I") == "int[]");
  CHECK(JavaName("[[[Z") == "boolean[][][]");
  CHECK(JavaName("[[Ljava/lang/String;") == "java.lang.String[][]");
  CHECK(JavaName("Lapp/Main$$Lambda$5.0x0000000800c03000;") == "app.Main$$Lambda$5/0x0000000800c03000");
  for (const char* odd : {"", "L", "L;", "Lapp/Main", "Q"}) CHECK(JavaName(odd) == "<unknown>");
  CHECK(JavaName("[") == "<unknown>[]");
}

TEST_CASE("a segment has samples of one interval") {
  SampleRecording recording;
  const uint32_t thread = recording.Thread("main");
  const uint32_t site_class = KindOf(recording.session().definitions(), {}, "[B");
  for (const uint64_t interval : {512u, 512u, 64u, 512u, 0u})
    CHECK(recording.session().Sample(interval, thread, site_class, 24) != 0);
  std::vector<std::pair<uint64_t, uint64_t>> found;
  for (const ReadSample& sample : SamplesOf(recording.End()))
    found.emplace_back(sample.number, sample.interval);
  CHECK(found == std::vector<std::pair<uint64_t, uint64_t>>{{1, 512}, {2, 512}, {3, 64}, {4, 512}, {5, 0}});
}

TEST_CASE("a stack is a site with its callers, each defined once and ahead of its use") {
  SampleRecording recording;
  SampleDefinitions& definitions = recording.session().definitions();
  const uint32_t thread = recording.Thread("main");
  const uint32_t deep = KindOf(definitions, {{1, 4}, {2, 5}, {3, 6}}, "LNode;");
  CHECK(KindOf(definitions, {{1, 4}, {2, 5}, {3, 6}}, "LNode;") == deep);
  const uint32_t other_class = KindOf(definitions, {{1, 4}, {2, 5}, {3, 6}}, "[I");
  const uint32_t other_caller = KindOf(definitions, {{1, 4}, {2, 7}}, "LNode;");
  const uint32_t by_vm = KindOf(definitions, {}, "[B");
  CHECK(std::set{deep, other_class, other_caller, by_vm}.size() == 4);
  for (const uint32_t site_class : {deep, other_class, other_caller, by_vm})
    CHECK(recording.session().Sample(8, thread, site_class, 24) != 0);
  const ReadTrace trace = recording.End();  // checks that definitions precede
  CHECK(trace.classes.size() == 3);
  CHECK(trace.classes.at(trace.site_classes.at(deep).class_id).name == "Node");
  CHECK(trace.classes.at(trace.site_classes.at(other_class).class_id).name == "int[]");
  CHECK(trace.classes.at(trace.site_classes.at(other_class).class_id).flags ==
        (trace::kClassSizeUnknown | trace::kClassArray));
  CHECK(trace.site_classes.at(by_vm).site == trace::kSiteVm);
  CHECK(trace.site_classes.at(deep).site == trace.site_classes.at(other_class).site);
  size_t callers = 0;
  for (uint32_t site = trace.site_classes.at(deep).site; site != 0; site = trace.sites.at(site)) callers++;
  CHECK(callers == 3);
  CHECK(trace.sites.size() == 5);
  CHECK(trace.threads.at(thread) == "main");
}

TEST_CASE("frames that the VM cannot name are left out of a stack") {
  SampleDefinitions definitions;
  const uint32_t whole = KindOf(definitions, {{1, 4}, {2, 5}}, "LNode;");
  CHECK(KindOf(definitions, {{1, 4}, {0, 0}, {2, 5}}, "LNode;") == whole);
  CHECK(definitions.counts().unknown_frames == 1);
  CHECK(definitions.counts().sites == 2);
}

TEST_CASE("another method behind the same handle is asked for under its own index only") {
  // Two handles, one method: a class that was loaded twice.
  SampleDefinitions definitions;
  size_t unknown = 0;
  const SampleFrame first{10, 4}, second{11, 4};
  const SampleFrameText text{"Lapp/Main;", "run", "()V", "Main.java", 12};
  definitions.Define(first, &text);
  definitions.Define(second, &text);
  CHECK(definitions.SiteClass({&first, 1}, "LNode;", &unknown) ==
        definitions.SiteClass({&second, 1}, "LNode;", &unknown));
  CHECK(definitions.counts().methods == 1);
  CHECK(definitions.counts().sites == 1);
}

TEST_CASE("a method that was redefined has a site of its own where its line is another one") {
  SampleDefinitions definitions;
  size_t unknown = 0;
  const SampleFrame first{10, 4}, second{11, 4};
  for (const auto& [frame, line] : {std::pair(first, 12), std::pair(second, 13)}) {
    const SampleFrameText text{"Lapp/Main;", "run", "()V", "Main.java", line};
    definitions.Define(frame, &text);
  }
  CHECK(definitions.SiteClass({&first, 1}, "LNode;", &unknown) !=
        definitions.SiteClass({&second, 1}, "LNode;", &unknown));
  CHECK(definitions.counts().methods == 1);
  CHECK(definitions.counts().sites == 2);
}

TEST_CASE("a size that is no multiple of a word is rounded up") {
  SampleRecording recording;
  const uint32_t thread = recording.Thread("main");
  const uint32_t site_class = KindOf(recording.session().definitions(), {}, "[B");
  for (const uint64_t bytes : {16u, 17u, 24u})
    CHECK(recording.session().Sample(8, thread, site_class, bytes) != 0);
  std::vector<uint64_t> words;
  for (const ReadSample& sample : SamplesOf(recording.End())) words.push_back(sample.words);
  CHECK(words == std::vector<uint64_t>{2, 3, 3});
}

TEST_CASE("no id beyond the last one is given, and what has one stays known") {
  SampleDefinitions definitions(2);
  for (const uint32_t id : {1u, 2u}) CHECK(definitions.DefineThread("t", id, id) == id);
  CHECK_THROWS_AS(definitions.DefineThread("t", 3, 3), std::length_error);
  const uint32_t one = KindOf(definitions, {}, "[I"), two = KindOf(definitions, {}, "[J");
  CHECK(two == 2);
  CHECK_THROWS_AS(KindOf(definitions, {}, "[B"), std::length_error);
  CHECK(KindOf(definitions, {}, "[I") == one);
  CHECK(KindOf(definitions, {}, "[J") == two);
}

TEST_CASE("no sample of any thread is lost or doubled, and deaths follow their samples") {
  constexpr int kThreads = 6, kSamples = 5000;
  SampleRecording recording;
  SampleSession& session = recording.session();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      const uint32_t id = recording.Thread("t" + std::to_string(t));
      for (int i = 0; i < kSamples; i++) {
        const uint32_t site_class =
            KindOf(session.definitions(), {{static_cast<uint64_t>(1 + i % 50), i % 7}, {99, t}}, "LNode;");
        const uint64_t number = session.Sample(8, id, site_class, 16 + 8 * static_cast<uint64_t>(t));
        if (i % 3 == 0) session.Died(number);
      }
    });
  }
  for (int gc = 0; gc < 20; gc++) {
    session.CollectionBegin();
    std::this_thread::yield();
    session.CollectionEnd();
  }
  for (std::thread& thread : threads) thread.join();
  const ReadTrace trace = recording.End();
  CHECK(trace.losses == 0);
  CHECK(trace.Count(SegmentKind::kGcBegin) == 20);
  CHECK(trace.Count(SegmentKind::kGcEnd) == 20);
  uint64_t next = 1, time = 0, collections = 0;
  size_t deaths = 0;
  std::map<uint64_t, int> by_thread;
  for (const ReadSegment& segment : trace.segments) {
    trace::WireReader in(segment.payload);
    if (segment.kind == SegmentKind::kSamples) {
      for (const ReadSample& sample : SamplesOf(segment)) {
        REQUIRE(sample.number == next++);
        REQUIRE(sample.time >= time);
        time = sample.time;
        by_thread[sample.thread]++;
      }
    } else if (segment.kind == SegmentKind::kSampleDeaths) {
      REQUIRE(in.Uv() == collections);
      for (uint64_t number = 0; !in.AtEnd(); deaths++) {
        number += static_cast<uint64_t>(in.Sv());
        REQUIRE(number < next);
      }
    } else if (segment.kind == SegmentKind::kGcBegin) {
      CHECK(in.Uv() == collections++);
      CHECK(in.Uv() == static_cast<uint64_t>(trace::GcKind::kUnknown));
    }
  }
  CHECK(next == kThreads * kSamples + 1);
  CHECK(by_thread.size() == kThreads);
  for (const auto& [thread, count] : by_thread) CHECK(count == kSamples);
  CHECK(deaths == kThreads * ((kSamples + 2) / 3));
  const auto counters = nlohmann::json::parse(trace.counters);
  CHECK(counters["samples"] == kThreads * kSamples);
  CHECK(counters["sample_deaths"] == deaths);
}

TEST_CASE("a pause within a pause is one collection, and one that began before the session is none") {
  SampleRecording recording;
  SampleSession& session = recording.session();
  session.CollectionEnd();
  session.CollectionBegin();
  session.CollectionBegin();
  session.CollectionEnd();
  session.CollectionEnd();
  const ReadTrace trace = recording.End();
  CHECK(trace.Count(SegmentKind::kGcBegin) == 1);
  CHECK(trace.Count(SegmentKind::kGcEnd) == 1);
}

TEST_CASE("the end of a pause from before the session hides no pause of its own") {
  SampleRecording recording;
  SampleSession& session = recording.session();
  session.CollectionEnd();
  session.CollectionBegin();
  session.CollectionEnd();
  const ReadTrace trace = recording.End();
  CHECK(trace.Count(SegmentKind::kGcBegin) == 1);
  CHECK(trace.Count(SegmentKind::kGcEnd) == 1);
}

TEST_CASE("many deaths are not kept until the next event") {
  SampleRecording recording;
  SampleSession& session = recording.session();
  const uint32_t thread = recording.Thread("main");
  const uint32_t site_class = KindOf(session.definitions(), {}, "[I");
  std::vector<uint64_t> numbers;
  for (int i = 0; i < 40'000; i++) numbers.push_back(session.Sample(8, thread, site_class, 16));
  for (const uint64_t number : numbers) session.Died(number);
  const ReadTrace trace = recording.End();
  CHECK(trace.Count(SegmentKind::kSampleDeaths) > 1);
  for (const ReadSegment& segment : trace.segments) CHECK(segment.payload.size() < 20 << 10);
}

TEST_CASE("samples are in the file a second later, without another event") {
  SampleRecording recording;
  const uint32_t thread = recording.Thread("main");
  recording.session().Sample(8, thread, KindOf(recording.session().definitions(), {}, "[I"), 16);
  bool there = false;
  for (int i = 0; i < 100 && !there; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    there = SamplesOf(ReadTrace(recording.path())).size() == 1;
  }
  CHECK(there);
}

TEST_CASE("nothing is taken after the end") {
  SampleRecording recording;
  const uint32_t thread = recording.Thread("main");
  const uint32_t site_class = KindOf(recording.session().definitions(), {}, "[I");
  CHECK(recording.session().Sample(8, thread, site_class, 16) == 1);
  const ReadTrace trace = recording.End();
  CHECK(recording.session().Sample(8, thread, site_class, 16) == 0);
  recording.session().Died(1);
  recording.session().CollectionBegin();
  CHECK(SamplesOf(trace).size() == 1);
  CHECK(trace.end_reason == "the end");
  CHECK(ReadTrace(recording.path()).segments.size() == trace.segments.size());
}

// The writer does not run meanwhile.
void Overflow(WhenFull when_full, std::chrono::milliseconds limit) {
  SampleRecording recording({.queue_bytes = 64 << 10, .when_full = when_full, .wait_limit = limit}, false);
  SampleSession& session = recording.session();
  const uint32_t thread = recording.Thread("main");
  const uint32_t site_class = KindOf(session.definitions(), {{1, 1}}, "[I");
  const uint64_t begin = Clock::Monotonic();
  for (int i = 0; i < 60'000; i++) session.Sample(8, thread, site_class, 16);
  session.CollectionBegin();
  session.Died(1);
  session.Died(60'000);
  session.CollectionEnd();
  const uint64_t waited = Clock::Monotonic() - begin;
  CHECK(waited < 20'000'000'000);
  const auto counters = nlohmann::json::parse(session.CountersJson());
  if (when_full == WhenFull::kBlock) {
    CHECK(waited >= 50'000'000);
    CHECK(counters["waits"] == 1);
    CHECK(counters["blocked_ns"] >= 50'000'000);
  } else {
    CHECK(counters["waits"] == 0);
  }
  recording.StartWriter();
  const ReadTrace trace = recording.End();
  CHECK(trace.losses >= 1);
  CHECK(session.queue().lost_segments() > 0);
  const auto samples = SamplesOf(trace);
  CHECK(samples.size() > 5'000);
  CHECK(samples.size() < 60'000);
  CHECK(trace.Count(SegmentKind::kSampleDeaths) == 1);  // never dropped
  CHECK(trace.Count(SegmentKind::kGcEnd) == 1);
}

TEST_CASE("threads wait again for a writer that has gone on after it hung") {
  SampleRecording recording({.queue_bytes = 64 << 10, .wait_limit = std::chrono::milliseconds(20)}, false);
  SampleSession& session = recording.session();
  const uint32_t thread = recording.Thread("main");
  const uint32_t site_class = KindOf(session.definitions(), {{1, 1}}, "[I");
  for (const uint64_t waits : {1u, 2u}) {
    for (int i = 0; i < 60'000; i++) session.Sample(8, thread, site_class, 16);
    CHECK(nlohmann::json::parse(session.CountersJson())["waits"] == waits);
    while (Buffer* list = session.queue().Pop(std::chrono::milliseconds(0))) session.queue().Recycle(list);
  }
}

TEST_CASE("what the queue has no room for is counted, after a wait that ends, or at once") {
  Overflow(WhenFull::kDrop, std::chrono::milliseconds(10'000));
  Overflow(WhenFull::kBlock, std::chrono::milliseconds(50));
}

}  // namespace
}  // namespace anttracks::core
