// SPDX-License-Identifier: Apache-2.0
// Information quality after sync points and collections.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/analyzer/rotated_trace.h"

namespace anttracks::testing {
namespace {

TEST_CASE("the quality of a whole trace lacks only what was there before it") {
  const CommandResult result = Anttracks(SmallTrace().file(), {"quality"});
  CHECK(result.out == R"out(
  GC  Kind           Time  Live  Complete    Class     Size    Site  Thread  Alloc time
   -  sync point   1.0 us     2     0.0 %  100.0 %  100.0 %  50.0 %   0.0 %       0.0 %
   0  young        9.0 us     5    60.0 %  100.0 %  100.0 %  80.0 %  60.0 %      60.0 %
   1  full        1.52 ms     5    80.0 %  100.0 %  100.0 %  80.0 %  80.0 %      80.0 %

complete information: 0.0 % of the objects at the first sync point, 80.0 % after GC 1, mean of 2 GCs 70.0 %
)out" + 1);
  CHECK(result.code == 0);
}

TEST_CASE("the quality is not known before the sync point ends") {
  Folder folder;
  WriteRotated(&folder);
  CHECK(folder.Run("quality", {"app.trace.2"}).out == R"out(
  GC  Kind           Time  Live  Complete    Class     Size    Site  Thread  Alloc time
   2  young       15.0 us     ?         ?        ?        ?       ?       ?           ?
   -  sync point  12.0 us     6    16.7 %  100.0 %  100.0 %  83.3 %  16.7 %      16.7 %
   3  young       18.0 us     6    16.7 %  100.0 %  100.0 %  83.3 %  16.7 %      16.7 %

complete information: 16.7 % of the objects at the first sync point, 16.7 % after GC 3, mean of 1 GC 16.7 %
)out" + 1);
}

TEST_CASE("a rotation that is read through costs no quality") {
  Folder folder;
  WriteRotated(&folder);
  const auto json = nlohmann::json::parse(folder.Run("quality", {"app.trace"}, {"--json"}).out);
  REQUIRE(json["rows"].size() == 5);  // one sync point: those of rotations are only checked
  CHECK(json["rows"][0]["kind"] == "sync point");
  CHECK(json["rows"][4]["gc"] == 3);
  CHECK(json["rows"][4]["objects"] == 6);
  CHECK(json["rows"][4]["complete"] == 4);
  CHECK(json["last_gc"].get<double>() == doctest::Approx(4.0 / 6));
}

TEST_CASE("the quality counts no fillers, and overflow as no site") {
  DefinitionsBuilder definitions = SmallDefinitions();
  definitions.SiteClass(8, 3, 1);
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8).Segment(SegmentKind::kDefinitions, 0, definitions.bytes());
  b.SyncBegin(0, 1000, Spaces(0, 0, 0, 10));
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).Fixed(8).Fixed(1).WithLength(4, 4));
  b.Numbers(SegmentKind::kSyncEnd, 0, {3, 80});
  const auto json = nlohmann::json::parse(Anttracks(b.Flush().file(), {"quality", "--json"}).out);
  CHECK(json["rows"][0]["objects"] == 2);
  CHECK(json["rows"][0]["with_site"] == 1);
  CHECK(json["last_gc"].is_null());
}

TEST_CASE("quality of a trace without a sync point says that the heap is known nowhere") {
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8);
  CHECK(Anttracks(b.file(), {"quality"}).out ==
        "no complete sync point in the trace: the heap is known nowhere\n");
}

}  // namespace
}  // namespace anttracks::testing
