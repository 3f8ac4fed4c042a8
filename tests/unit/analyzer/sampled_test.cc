// SPDX-License-Identifier: Apache-2.0
// The commands on a trace of samples: what they estimate, that they say so, and what they refuse.
#include "analyzer/passes/sampled.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/unit/analyzer/sampled_trace.h"

namespace anttracks::testing {
namespace {

using analyzer::EstimateOf;

nlohmann::json Json(const TraceBuilder& trace, std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  return nlohmann::json::parse(Anttracks(trace.file(), std::move(arguments)).out);
}

TEST_CASE("a sample stands for the inverse of its probability") {
  for (const uint64_t bytes : {16u, 24u, 1016u, 524'288u, 100'000'000u}) {
    const double p = 1 - std::exp(-static_cast<double>(bytes) / 524'288);
    CHECK(EstimateOf(bytes, kHalfMegabyte).objects == doctest::Approx(1 / p));
    CHECK(EstimateOf(bytes, kHalfMegabyte).bytes == doctest::Approx(static_cast<double>(bytes) / p));
    CHECK(EstimateOf(bytes, 0).objects == 1);
  }
  CHECK(EstimateOf(24, kHalfMegabyte).objects == doctest::Approx(21'845.8333));
  CHECK(EstimateOf(1 << 20, kHalfMegabyte).objects == doctest::Approx(1.156518));
  CHECK(EstimateOf(8, 1 << 30).objects == doctest::Approx((1 << 27) + 0.5));  // no digits are lost
}

TEST_CASE("each sample stands for what its own interval says, and the range of intervals is told") {
  TraceBuilder b = SampledStart();
  b.Segment(SegmentKind::kSamples, 0, Samples(1, 1000, {{0, 1, 4, 2}}));
  b.Segment(SegmentKind::kSamples, 0, Samples(2, 2000, {{0, 1, 4, 2}, {0, 1, 4, 2}}, 1024));
  b.End(3000, "VM death", "{\"samples\":3}").Flush(true);
  const double objects = EstimateOf(16, kHalfMegabyte).objects + 2 * EstimateOf(16, 1024).objects;
  const auto info = Json(b, {"info"});
  CHECK(info["allocated"]["objects"] == std::llround(objects));
  CHECK(info["interval"] == kHalfMegabyte);
  CHECK(info["least_interval"] == 1024);
  CHECK(info["most_interval"] == kHalfMegabyte);
  CHECK(Anttracks(b.file(), {"classes"})
            .out.find("estimates from 3 samples, one per 1.00 KiB to 512 KiB on average\n") == 0);
}

TEST_CASE("the sampled heap is known after each collection and at the end") {
  const auto at = [](std::vector<std::string> moment) {
    moment.insert(moment.begin(), "heap");
    return Json(SampledTrace(), moment);
  };
  const auto first = at({"--gc", "0"});
  CHECK(first["estimated"] == true);
  CHECK(first["interval"] == kHalfMegabyte);
  CHECK(first["samples"] == 5);
  CHECK(first["live_samples"] == 2);  // 1 and 3; 4 was not made yet
  CHECK(first["objects"] == 21'847);
  CHECK(first["rows"][0]["class"] == "int[]");
  CHECK(first["rows"][0]["bytes"] == 1'212'697);
  CHECK(at({"--gc", "1"})["live_samples"] == 1);
  CHECK(at({})["gc"] == 1);
  CHECK(at({"--end"})["live_samples"] == 2);  // 3 and 5
  CHECK(at({"--end"})["gc"].is_null());
}

TEST_CASE("the sampled heap is labelled as an estimate") {
  CHECK(Anttracks(SampledTrace().file(), {"heap", "--gc", "0"}).out == R"out(
estimates from 5 samples, one per 512 KiB on average
heap after GC 0, at 9.0 us: ~21,847 objects, ~1.66 MiB

  Samples  Est. objects     Share  Est. bytes    Share  Class
        1            ~1    ~0.0 %  ~1,212,697  ~69.8 %  int[]
        1       ~21,846  ~100.0 %    ~524,300  ~30.2 %  app.Node
)out" + 1);
  CHECK(Anttracks(SampledTrace().file(), {"heap", "--by", "thread", "--end"}).out == R"out(
estimates from 5 samples, one per 512 KiB on average
heap at the end of the trace, 30.0 us: ~32,770 objects, ~1.66 MiB

  Samples  Est. objects     Share  Est. bytes     Share  Thread
        2       ~32,770  ~100.0 %  ~1,736,993  ~100.0 %  worker (2)
)out" + 1);
  CHECK(Anttracks(SampledTrace().file(), {"heap", "--by", "age", "--gc", "0"}).out == R"out(
estimates from 5 samples, one per 512 KiB on average
heap after GC 0, at 9.0 us: ~21,847 objects, ~1.66 MiB

  Samples  Est. objects     Share  Est. bytes     Share  Age
        2       ~21,847  ~100.0 %  ~1,736,997  ~100.0 %  1 GC
)out" + 1);
  CHECK(Anttracks(SampledTrace().file(), {"heap", "--by", "site", "--end"}).out == R"out(
estimates from 5 samples, one per 512 KiB on average
heap at the end of the trace, 30.0 us: ~32,770 objects, ~1.66 MiB

  Samples  Est. objects     Share  Est. bytes    Share  Site
        1            ~1    ~0.0 %  ~1,212,697  ~69.8 %  app.Main.run(Main.java:30)
        1       ~32,769  ~100.0 %    ~524,296  ~30.2 %  <vm>
)out" + 1);
}

TEST_CASE("sampled gcs, sites, classes and threads are labelled as estimates") {
  CHECK(Anttracks(SampledTrace().file(), {"gcs"}).out == R"out(
estimates from 5 samples, one per 512 KiB on average

  GC    Start  Duration  Live samples  Est. live objects  Est. live bytes  Est. died
   0   5.0 us    4.0 us             2            ~21,847        ~1.66 MiB   ~512 KiB
   1  20.0 us    2.0 us             1                 ~1        ~1.16 MiB  ~1.00 MiB
)out" + 1);
  CHECK(Anttracks(SampledTrace().file(), {"sites", "--live", "--callers"}).out == R"out(
estimates from 5 samples, one per 512 KiB on average
allocated: ~98,307 objects, ~3.16 MiB, 4 rows
live at the end of the trace: ~32,770 objects, ~1.66 MiB

  Samples  Est. objects    Share  Est. bytes    Share  Live samples  Est. live objects  Est. live bytes    Share  Class     Site
        1            ~1   ~0.0 %  ~1,212,697  ~36.6 %             1                 ~1       ~1,212,697  ~69.8 %  int[]     app.Main.run(Main.java:30)
        2       ~43,692  ~44.4 %  ~1,048,600  ~31.7 %             0                 ~0               ~0   ~0.0 %  app.Node  app.List.add(List.java:12)
                                                                                                                              <- app.Main.run(Main.java:30)
        1       ~21,846  ~22.2 %    ~524,300  ~15.8 %             0                 ~0               ~0   ~0.0 %  app.Node  app.List.add(List.java:12)
        1       ~32,769  ~33.3 %    ~524,296  ~15.8 %             1            ~32,769         ~524,296  ~30.2 %  int[]     <vm>
)out" + 1);
  CHECK(Anttracks(SampledTrace().file(), {"sites"}).out == R"out(
estimates from 5 samples, one per 512 KiB on average
allocated: ~98,307 objects, ~3.16 MiB, 3 rows

  Samples  Est. objects    Share  Est. bytes    Share  Class     Site
        3       ~65,538  ~66.7 %  ~1,572,900  ~47.5 %  app.Node  app.List.add(List.java:12)
        1            ~1   ~0.0 %  ~1,212,697  ~36.6 %  int[]     app.Main.run(Main.java:30)
        1       ~32,769  ~33.3 %    ~524,296  ~15.8 %  int[]     <vm>
)out" + 1);
  CHECK(Anttracks(SampledTrace().file(), {"classes"}).out == R"out(
estimates from 5 samples, one per 512 KiB on average
2 classes, allocated: ~98,307 objects, ~3.16 MiB

  Samples  Est. objects    Share  Est. bytes    Share    Sampled sizes  Class
        2       ~32,770  ~33.3 %  ~1,736,993  ~52.5 %  16 to 1,048,576  int[]
        3       ~65,538  ~66.7 %  ~1,572,900  ~47.5 %               24  app.Node
)out" + 1);
  CHECK(Anttracks(SampledTrace().file(), {"threads"}).out == R"out(
estimates from 5 samples, one per 512 KiB on average

  Id  Java id  Samples  Est. objects  Est. bytes     Share  Name
   2        9        2       ~32,770  ~1,736,993   ~52.5 %  worker
   1        1        3       ~65,538  ~1,572,900   ~47.5 %  main
  --------------------------------------------------------------------------------
                     5       ~98,307  ~3,309,893  ~100.0 %  2 threads with samples
)out" + 1);
}

TEST_CASE("info of a sampled trace shows its mode and samples") {
  CHECK(Anttracks(SampledTrace().file(), {"info"}).out == R"out(
file            TRACE, 679 B, format 2.0
trace           1122334455667788, process 4711, agent 0.1.0
VM              17.0.19
command         Main 1
VM flags        -XX:+UseG1GC
options         file=a
started         2023-11-14 22:13:20 UTC
time span       30.0 us
mode            sample, one per 512 KiB on average, stacks of up to 16 frames
collections     2 pauses in 6.0 us
samples         5, 2 live at the end
est. allocated  ~98,307 objects, ~3.16 MiB
est. live       ~32,770 objects, ~1.66 MiB at the end

raw             358 B, 71.60 B per sample
on disk         679 B, 135.80 B per sample
losses          none
ended           cleanly (VM death)

  Segments       Count  Raw bytes   Share
  GC_BEGIN           2         19   5.3 %
  GC_END             2         19   5.3 %
  DEFINITIONS        1        228  63.7 %
  END                1         29   8.1 %
  SAMPLES            3         52  14.5 %
  SAMPLE_DEATHS      2         11   3.1 %
)out" + 1);
  const auto json = Json(SampledTrace(), {"info"});
  CHECK(json["mode"] == "sample");
  CHECK(json["estimated"] == true);
  CHECK(json["depth"] == 16);
  CHECK(json["gcs"] == 2);
  CHECK(json["gc_ns"] == 6000);
  CHECK(json["allocated"]["samples"] == 5);
  CHECK(json["live_at_end"]["samples"] == 2);
}

TEST_CASE("every JSON of samples says that it is estimated") {
  for (const char* command : {"info", "heap", "gcs", "sites", "classes", "threads"}) {
    CAPTURE(command);
    const auto json = Json(SampledTrace(), {command});
    CHECK(json["estimated"] == true);
    CHECK(json["interval"] == kHalfMegabyte);
    CHECK(json["samples"] == 5);
    CHECK_FALSE(Json(SmallTrace(), {command}).contains("estimated"));
  }
}

TEST_CASE("gcs of samples agrees with the heap after each collection") {
  const auto gcs = Json(SampledTrace(), {"gcs"})["gcs"];
  REQUIRE(gcs.size() == 2);
  for (const auto& gc : gcs) {
    const auto heap = Json(SampledTrace(), {"heap", "--gc", gc["id"].dump()});
    CHECK(gc["live"]["samples"] == heap["live_samples"]);
    CHECK(gc["live"]["objects"] == heap["objects"]);
    CHECK(gc["live"]["bytes"] == heap["bytes"]);
  }
  CHECK(gcs[1]["died"]["samples"] == 2);
  CHECK(gcs[1]["died"]["objects"] == 43692);
}

TEST_CASE("a sample that is recorded while the collection that frees it runs never lived") {
  TraceBuilder b = SampledStart();
  SampledGc(&b, SegmentKind::kGcBegin, 0, 5000);
  b.Segment(SegmentKind::kSamples, 0, Samples(1, 6000, {{0, 1, 1, 3}, {0, 1, 1, 3}}));
  SampledGc(&b, SegmentKind::kGcEnd, 0, 9000);
  b.Segment(SegmentKind::kSampleDeaths, 0, SampleDeaths(1, {1}));
  SampledGc(&b, SegmentKind::kGcBegin, 1, 10'000);
  SampledGc(&b, SegmentKind::kGcEnd, 1, 11'000);
  b.Flush();
  CHECK(Json(b, {"verify"})["errors"] == 0);
  const auto gcs = Json(b, {"gcs"})["gcs"];
  CHECK(gcs[0]["live"]["samples"] == 0);
  CHECK(gcs[1]["live"]["samples"] == 1);
  CHECK(Json(b, {"heap", "--gc", "0"})["live_samples"] == 0);
  CHECK(Json(b, {"heap", "--gc", "1"})["live_samples"] == 1);
}

TEST_CASE("what takes every object is refused on samples") {
  const std::vector<std::vector<std::string>> refused = {{"heap", "--objects"},
                                                         {"heap", "--by", "space"},
                                                         {"sites", "--tiers"},
                                                         {"classes", "--layout"},
                                                         {"quality"}};
  for (const auto& arguments : refused) {
    CAPTURE(arguments[0]);
    const CommandResult result = Anttracks(SampledTrace().file(), arguments);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK(result.err.find("; this trace holds samples (mode=sample), not every object\n") != std::string::npos);
  }
  CHECK(Anttracks(SampledTrace().file(), {"heap", "--gc", "7"}).code == 2);
  CHECK(Anttracks(SampledTrace().file(), {"sites", "--live", "--gc", "7"}).code == 2);
}

TEST_CASE("with interval=0 each sample stands for itself") {
  TraceBuilder b = SampledStart(0);
  b.Segment(SegmentKind::kSamples, 0, Samples(1, 6000, {{0, 1, 1, 3}, {0, 1, 1, 3}}, 0)).Flush();
  const auto result = Anttracks(b.file(), {"classes"});
  CHECK(result.out.find("estimates from 2 samples, every object that the JVM reported\n") == 0);
  CHECK(result.out.find("allocated: ~2 objects, ~48 B\n") != std::string::npos);
  b.Segment(SegmentKind::kSamples, 0, Samples(3, 7000, {{0, 1, 1, 3}})).Flush();
  CHECK(Anttracks(b.file(), {"classes"})
            .out.find("estimates from 3 samples, every object that the JVM reported to one per 512 KiB on "
                      "average\n") == 0);
}

TEST_CASE("verify of samples counts what it checked") {
  const CommandResult result = Anttracks(SampledTrace().file(), {"verify"});
  CHECK(result.code == 0);
  CHECK(result.out == "3 chunks, 2 collections and 5 samples checked, 2 samples live at the end: no errors\n");
}

// One thing is wrong in each.
TEST_CASE("verify of samples finds each contradiction") {
  const auto check = [](TraceBuilder b, const std::string& kind, const std::string& text) {
    const CommandResult result = Anttracks(b.Flush().file(), {"verify"});
    CAPTURE(result.out);
    CHECK(result.code == 1);
    CHECK(result.out.find(kind + ": " + text) != std::string::npos);
    CHECK(result.out.find(": 1 error\n") != std::string::npos);
  };
  const auto with = [](uint64_t first, const std::vector<TestSample>& samples) {
    TraceBuilder b = SampledStart();
    b.Segment(SegmentKind::kSamples, 0, Samples(1, 1000, {{0, 1, 1, 3}}));
    return b.Segment(SegmentKind::kSamples, 0, Samples(first, 2000, samples));
  };
  check(with(3, {{0, 1, 1, 3}}), "event in the wrong place", "sample 3 follows sample 1");
  check(with(1, {{0, 1, 1, 3}}), "event in the wrong place", "sample 1 follows sample 1");
  check(with(2, {{0, 1, 1, 0}}), "impossible size or length", "sample 2 cannot have 0 words");
  check(with(2, {{0, 1, 1, 1ull << 32}}), "impossible size or length", "sample 2 cannot have 4294967296 words");
  check(with(2, {{0, 1, 9, 3}}), "undefined site-class pair, site, class or method",
        "sample 2 is of site-class pair 9");
  TraceBuilder odd = SampledStart();
  odd.Segment(SegmentKind::kSamples, 0, Samples(1, 1000, {{0, 1, 1, 3}}, uint64_t{1} << 32));
  check(odd, "malformed segment", "samples of an impossible interval");
  check(with(2, {{0, 5, 1, 3}}), "undefined site-class pair, site, class or method", "sample 2 is of thread 5");

  const auto dies = [](uint64_t collections, const std::vector<uint64_t>& numbers) {
    TraceBuilder b = SampledStart();
    SampledGc(&b, SegmentKind::kGcBegin, 0, 500);
    SampledGc(&b, SegmentKind::kGcEnd, 0, 600);
    b.Segment(SegmentKind::kSamples, 0, Samples(1, 1000, {{0, 1, 1, 3}, {0, 1, 1, 3}}));
    SampledGc(&b, SegmentKind::kGcBegin, 1, 5000);
    SampledGc(&b, SegmentKind::kGcEnd, 1, 9000);
    return b.Segment(SegmentKind::kSampleDeaths, 0, SampleDeaths(collections, numbers));
  };
  check(dies(2, {1, 3}), "death of a sample that is not in the trace", "sample 3 died but is not in the trace");
  check(dies(2, {2, 2}), "sample that died twice", "sample 2 died a second time");
  check(dies(3, {1}), "event in the wrong place",
        "sample 1 was made after 1 collections, and died after 3 of 2");
  check(dies(0, {1}), "event in the wrong place",
        "sample 1 was made after 1 collections, and died after 0 of 2");

  TraceBuilder skipped = SampledStart();
  SampledGc(&skipped, SegmentKind::kGcBegin, 1, 5000);
  check(skipped, "event in the wrong place", "collection 1 begins where 0 was expected");
  TraceBuilder totals = with(2, {{0, 1, 1, 3}});
  check(totals.End(3000, "VM death", "{\"samples\":3}"), "totals that disagree",
        "the trace has 2 samples, its end says 3");
  TraceBuilder cut = SampledStart();
  ByteBuffer half = Samples(1, 1000, {{0, 1, 1, 3}});
  half.Uv(7);
  check(cut.Segment(SegmentKind::kSamples, 0, half), "malformed segment", "sample is cut short");
}

TEST_CASE("samples and every object do not go together") {
  TraceBuilder b = SampledStart();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(2000).Tlab(100).Fixed(1)).Flush();
  CHECK(Anttracks(b.file(), {"verify"}).out.find("ALLOC in a trace of samples") != std::string::npos);
  TraceBuilder full = SmallStart();
  full.Segment(SegmentKind::kSamples, 0, Samples(1, 1000, {{0, 1, 1, 3}})).Flush();
  CHECK(Anttracks(full.file(), {"verify"}).out.find("SAMPLES in a trace of every object") != std::string::npos);
  TraceBuilder unknown = SmallStart();
  unknown.Gc(SegmentKind::kGcBegin, 0, 2, "", 5000, {}).Flush();
  CHECK(Anttracks(unknown.file(), {"verify"}).code == 1);
}

TEST_CASE("behind a loss samples go on, and the heap is said to lack some") {
  TraceBuilder b = SampledStart();
  b.Segment(SegmentKind::kSamples, 0, Samples(1, 1000, {{0, 1, 1, 3}}));
  b.Loss(2000, 1, 100, "slow");
  b.Segment(SegmentKind::kSamples, 0, Samples(7, 3000, {{0, 1, 1, 3}}));
  SampledGc(&b, SegmentKind::kGcBegin, 0, 5000);
  SampledGc(&b, SegmentKind::kGcEnd, 0, 9000);
  b.Segment(SegmentKind::kSampleDeaths, 0, SampleDeaths(1, {7, 4}));
  b.End(30'000, "VM death", "{\"samples\":7}").Flush();
  const auto verify = Json(b, {"verify"});
  CHECK(verify["errors"] == 2);  // the loss, and the death of 4
  CHECK(verify["by_kind"]["event that cannot be checked after a loss"] == 1);
  const CommandResult heap = Anttracks(b.file(), {"heap"});
  CHECK(heap.code == 0);
  CHECK(heap.out.find("(events were lost before)") != std::string::npos);
  CHECK(heap.err.find("the agent lost events 1 time") != std::string::npos);
}

TEST_CASE("collections of samples never go back, also behind a loss") {
  TraceBuilder b = SampledStart();
  SampledGc(&b, SegmentKind::kGcBegin, 0, 5000);
  SampledGc(&b, SegmentKind::kGcEnd, 0, 6000);
  b.Loss(7000, 1, 100, "slow");
  for (const uint64_t id : {4, 2}) {
    SampledGc(&b, SegmentKind::kGcBegin, id, 8000);
    SampledGc(&b, SegmentKind::kGcEnd, id, 9000);
  }
  const auto verify = Json(b.Flush(), {"verify"});
  CHECK(verify["by_kind"]["event in the wrong place"] == 2);  // its begin and its end
}

TEST_CASE("samples of a killed program are read up to the last chunk") {
  TraceBuilder b = SampledStart();
  b.Segment(SegmentKind::kSamples, 0, Samples(1, 1000, {{0, 1, 1, 3}}));
  SampledGc(&b, SegmentKind::kGcBegin, 0, 5000);
  const std::string whole = b.Flush().file();
  b.Segment(SegmentKind::kSamples, 0, Samples(2, 1000, {{0, 1, 1, 3}}));
  const std::string more = b.Flush().file();
  const std::string cut = more.substr(0, more.size() - 3);
  const CommandResult result = Anttracks(cut, {"verify"});
  CHECK(result.code == 0);
  CHECK(result.out.find("0 collections and 1 sample checked, 1 sample live at the end: no errors") !=
        std::string::npos);
}

TEST_CASE("a META with an unknown mode or without the interval is damage") {
  for (const char* meta : {"{\"mode\":\"sometimes\"}", "{\"mode\":\"sample\",\"depth\":3}",
                           "{\"mode\":\"sample\",\"interval\":-1,\"depth\":3}"}) {
    TraceBuilder b;
    b.Chunk(1, meta);
    CHECK(Anttracks(b.file(), {"info"}).code == 4);
  }
}

}  // namespace
}  // namespace anttracks::testing
