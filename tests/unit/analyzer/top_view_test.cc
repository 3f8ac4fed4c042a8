// SPDX-License-Identifier: Apache-2.0
// What `top` shows of each kind of trace; terminals are in tests/integration/suites/top.py.
#include "analyzer/cli/top_view.h"

#include <doctest/doctest.h>

#include "tests/unit/analyzer/census_trace.h"
#include "tests/unit/analyzer/sampled_trace.h"
#include "tests/unit/analyzer/skipped_trace.h"
#include "tests/unit/analyzer/small_trace.h"
#include "trace/reader.h"

namespace anttracks::testing {
namespace {

using analyzer::TopView;
using Order = analyzer::TopView::Order;
using Keys = std::vector<std::string_view>;

std::unique_ptr<TopView> Read(const TraceBuilder& trace, std::unique_ptr<TopView> view) {
  const TempFile file(trace.file());
  auto reader = trace::TraceReader::Open({file.path()});
  REQUIRE(reader.ok());
  CHECK(view->Read(**reader, {}).fatal.ok());
  view->Update();
  CHECK(view->problems().total() == 0);
  return view;
}

std::string TableOf(const TopView& view, Order order, size_t characters = 200) {
  analyzer::Report report = view.Table(order, true);
  report.text_order = view.ColumnsWithin(characters, order);
  return "\n" + TableText(report, 10);
}

TEST_CASE("top of a trace of every object has rates, and what is live after the last collection") {
  const auto view = Read(SmallTrace(), analyzer::TopOfObjects());
  CHECK(view->Status().find("; 240 B in 5 objects after GC 1 (full, 1.50 ms); 2 collections in 1.50 ms") !=
        std::string::npos);
  CHECK(TableOf(*view, Order::kLive).find("~") == std::string::npos);
  CHECK(view->end_reason() == "VM death");
}

// Read: two Nodes and an Object in chosen stretches, 8 words; an int[0] outside of TLABs. Skipped: 20 words, in
// which an int[10] and a Node are found.
TEST_CASE("top of a share counts what was skipped once, and scales only what was chosen at random") {
  TraceBuilder b = SmallStart();
  b.Flush();
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(2000, kHalf).Tlab(kEden).Fixed(1).Fixed(1).Skipped(0, 20));
  b.Segment(SegmentKind::kAlloc, 2,
            Objects().Head(3000, kHalf).Tlab(kEden + 32).Fixed(6).Outside(30).WithLength(2, 0));
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(66, 0, 0, 17));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}}));
  b.Segment(SegmentKind::kFound, 0,
            Found({{{kEden + 8, kOld + 17, 1, 7}, 2, 10}, {{kEden + 20, kTo + 3, 0, 3}, 1, 0}}));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(0, 0, 6, 24));
  const TempFile file(b.Flush().file());
  auto reader = trace::TraceReader::Open({file.path()});
  REQUIRE(reader.ok());
  const auto view = analyzer::TopOfObjects();
  const auto update = [&](uint64_t, uint64_t) { view->Update(); };
  CHECK(view->Read(**reader, {.progress = update}).fatal.ok());
  view->Update();
  CHECK(view->problems().total() == 0);
  CHECK(view->Status().find("allocates ~38.1 MiB/s; ") == 0);  // 30 words in 6 us
  CHECK(TableOf(*view, Order::kRate) == R"(
  Est. bytes/s  Est. objects/s  Live bytes  Live objects  Class   Site
     ~26.7 MiB      ~1,166,667        72 B             3  Node    List.add(List.java:12)
     ~11.4 MiB        ~333,333        56 B             1  int[]   Main.run(Main.java:30)
     ~8.90 MiB        ~583,333         0 B             0  Object  Object.clone(Native Method)
          ~0 B              ~0       112 B             1  Class   <unknown>
)");
}

TEST_CASE("top of samples has estimates only") {
  const auto view = Read(SampledTrace(), analyzer::TopOfSamples(512 << 10));
  CHECK(view->Status().find("; ~") != std::string::npos);
  CHECK(view->Status().find(" after GC 1 (2.0 us); 2 pauses in 6.0 us; 5 samples") != std::string::npos);
  const std::string table = TableOf(*view, Order::kRate);
  CHECK(table.find("Est. bytes/s  Est. objects/s  Est. live bytes  Est. live objects  Class") !=
        std::string::npos);
  CHECK(table.find("List.add(List.java:12)") != std::string::npos);
}

TEST_CASE("top of censuses has what the last one counted, and what has grown since one that counted the same") {
  const auto view = Read(CensusTraceFile(2), analyzer::TopOfCensuses());
  CHECK(view->Status() ==
        "480 B in 3 objects after GC 23 (young) (with what is dead in the old space, which had not been looked "
        "into); 4 censuses; allocated 76.3 MiB/s between the last two");
  CHECK(TableOf(*view, Order::kLive) == R"(
  Live bytes  Live objects   Grown by  Class   Site
       480 B             3      +80 B  int[]   Main.run(Main.java:30)
         0 B             0     -240 B  Node    List.add(List.java:12)
         0 B             0  -1.41 KiB  Object  Object.clone(Native Method)
)");
  const auto none = Read(CensusStart().Flush(), analyzer::TopOfCensuses());
  CHECK(none->Status() == "no census yet; one follows a collection, when its time (every=) has come");
  CHECK(none->Table(Order::kLive, true).rows.empty());
}

TEST_CASE("a narrow screen shows fewer numbers, and the names") {
  const auto view = Read(SmallTrace(), analyzer::TopOfObjects());
  CHECK(view->ColumnsWithin(110, Order::kRate).empty());
  CHECK(view->ColumnsWithin(80, Order::kLive) == Keys{"bytes_per_second", "live_bytes", "class", "site"});
  CHECK(view->ColumnsWithin(40, Order::kLive) == Keys{"live_bytes", "site", "class"});
  CHECK(view->ColumnsWithin(40, Order::kRate) == Keys{"bytes_per_second", "site", "class"});
  CHECK(analyzer::TopOfCensuses()->ColumnsWithin(40, Order::kRate) == Keys{"grown_bytes", "site", "class"});
  CHECK(analyzer::WithoutPackage("com.sun.tools.Attr.visit(Attr.java:7)") == "Attr.visit(Attr.java:7)");
}

}  // namespace
}  // namespace anttracks::testing
