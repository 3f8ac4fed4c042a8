// SPDX-License-Identifier: Apache-2.0
// The classes command: trace in, text out.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {
namespace {

std::string Classes(std::vector<std::string> arguments, const TraceBuilder& b = ClassesTrace()) {
  arguments.insert(arguments.begin(), "classes");
  const CommandResult result = Anttracks(b.file(), std::move(arguments));
  CHECK(result.err == "");
  CHECK(result.code == 0);
  return result.out;
}

TEST_CASE("classes lists each class with its size and what was allocated of it") {
  CHECK(Classes({}) == 1 + R"out(
7 classes, allocated: 4 objects, 136 B

  Objects   Share  Bytes   Share      Size  Class             Superclass        Loader
        2  50.0 %     80  58.8 %        40  app.Node          app.Base          bootstrap
        1  25.0 %     40  29.4 %  16 + 8 n  long[]            java.lang.Object  bootstrap
        1  25.0 %     16  11.8 %        16  java.lang.Object  -                 bootstrap
        0   0.0 %      0   0.0 %        24  app.Base          java.lang.Object  bootstrap
        0   0.0 %      0   0.0 %  16 + 4 n  app.Node[]        java.lang.Object  bootstrap
        0   0.0 %      0   0.0 %        24  app.Old           app.Base          bootstrap
        0   0.0 %      0   0.0 %    varies  java.lang.Class   java.lang.Object  bootstrap
)out");
}

TEST_CASE("classes --name lists and sums the classes of that name alone") {
  CHECK(Classes({"--name", "Node"}) == 1 + R"out(
2 classes, allocated: 2 objects, 80 B

  Objects    Share  Bytes    Share      Size  Class       Superclass        Loader
        2  100.0 %     80  100.0 %        40  app.Node    app.Base          bootstrap
        0    0.0 %      0    0.0 %  16 + 4 n  app.Node[]  java.lang.Object  bootstrap
)out");
}

TEST_CASE("classes --top cuts the list and says so") {
  const std::string end = "  ... and 6 more (--top 0 shows all)\n";
  for (const std::string& text : {Classes({"--top", "1"}), Classes({"--top", "1", "--layout"})}) {
    CHECK(text.find("app.Node") != std::string::npos);
    CHECK(text.find("long[]") == std::string::npos);
    CHECK(text.substr(text.size() - end.size()) == end);
  }
}

TEST_CASE("classes --layout --csv has the fields of the first classes with --top, else of all") {
  CHECK(Classes({"--layout", "--csv"}).find("long[]") != std::string::npos);
  const std::string first = Classes({"--layout", "--csv", "--top", "1"});
  CHECK(first.find("app.Node") != std::string::npos);
  CHECK(first.find("long[]") == std::string::npos);
}

TEST_CASE("classes --layout shows inherited fields, padding and what is not known") {
  CHECK(Classes({"--layout"}) == 1 + R"out(
7 classes, allocated: 4 objects, 136 B

app.Node extends app.Base (loader bootstrap): size 40, 2 objects, 80 B
  Offset  Size  Type                Field            Inherited from
       0    12                      (object header)
      12     4  int                 count            app.Base
      16     1  boolean             marked           app.Base
      17     3                      (padding)
      20     4  app.Node            next
      24     8  long                stamp
      32     4  java.lang.String[]  names
      36     4                      (padding)
  7 of 40 bytes hold no field

long[] extends java.lang.Object (loader bootstrap): size 16 + 8 n, 1 object, 40 B
  Offset  Size  Type  Field            Inherited from
       0    12        (object header)
      12     4  int   (length)
      16     8  long  (elements)

java.lang.Object (loader bootstrap): size 16, 1 object, 16 B
  Offset  Size  Type  Field            Inherited from
       0    12        (object header)
      12     4        (padding)
  4 of 16 bytes hold no field

app.Base extends java.lang.Object (loader bootstrap): size 24, 0 objects, 0 B
  Offset  Size  Type     Field            Inherited from
       0    12           (object header)
      12     4  int      count
      16     1  boolean  marked
      17     7           (padding)
  7 of 24 bytes hold no field

app.Node[] extends java.lang.Object (loader bootstrap): size 16 + 4 n, 0 objects, 0 B
  Offset  Size  Type      Field            Inherited from
       0    12            (object header)
      12     4  int       (length)
      16     4  app.Node  (elements)

app.Old extends app.Base (loader bootstrap): size 24, 0 objects, 0 B
  Offset  Size  Type     Field            Inherited from
       0    12           (object header)
      12     4  int      count            app.Base
      16     1  boolean  marked           app.Base
      17     7           (not recorded)
  the trace does not have the fields of app.Old

java.lang.Class extends java.lang.Object (loader bootstrap): size varies, 0 objects, 0 B
  Offset  Size  Type              Field                          Inherited from
       0    12                    (object header)
      12    28                    (padding or fields of the VM)
      40     4  java.lang.String  name
  after it, fields of the VM and the static fields of the class that it stands for
)out");
}

TEST_CASE("classes --layout gives a reference that is not compressed eight bytes") {
  TraceBuilder b;
  DefinitionsBuilder s;
  s.Class(1, "byte[]", 1, 0, 24, 0).Class(2, "app.Node[][]", 1, 0, 24, 3);
  s.Class(3, "app.Node", 0, 32).Fields(3, {{"next", "Lapp/Node;", 16}, {"size", "S", 24}});
  b.Meta(kEden * 8, kHeapEnd * 8).Segment(SegmentKind::kDefinitions, 0, s.bytes());
  CHECK(Classes({"--layout"}, b.Flush()) == 1 + R"out(
3 classes, allocated: 0 objects, 0 B

app.Node (loader bootstrap): size 32, 0 objects, 0 B
  Offset  Size  Type      Field            Inherited from
       0    16            (object header)
      16     8  app.Node  next
      24     2  short     size
      26     6            (padding)
  6 of 32 bytes hold no field

app.Node[][] (loader bootstrap): size 24 + 8 n, 0 objects, 0 B
  Offset  Size  Type        Field            Inherited from
       0    16              (object header)
      16     4  int         (length)
      20     4              (padding)
      24     8  app.Node[]  (elements)

byte[] (loader bootstrap): size 24 + 1 n, 0 objects, 0 B
  Offset  Size  Type  Field            Inherited from
       0    16        (object header)
      16     4  int   (length)
      20     4        (padding)
      24     1  byte  (elements)
)out");
}

TEST_CASE("classes --layout knows compact headers by the arrays that begin after 12 bytes") {
  TraceBuilder b;
  DefinitionsBuilder s;
  s.Class(1, "long[]", 1, 0, 16, 3).Class(2, "byte[]", 1, 0, 12, 0).Class(3, "app.Node[]", 1, 0, 12, 2);
  s.Class(4, "app.Node", 0, 16).Fields(4, {{"next", "Lapp/Node;", 8}, {"size", "S", 12}});
  s.Class(5, "java.lang.Object", 0, 8).Fields(5, {});
  b.Meta(kEden * 8, kHeapEnd * 8).Segment(SegmentKind::kDefinitions, 0, s.bytes());
  const std::string layouts = Classes({"--layout"}, b.Flush());
  CHECK(layouts.find(R"out(
app.Node (loader bootstrap): size 16, 0 objects, 0 B
  Offset  Size  Type      Field            Inherited from
       0     8            (object header)
       8     4  app.Node  next
      12     2  short     size
      14     2            (padding)
)out") != std::string::npos);
  CHECK(layouts.find(R"out(
long[] (loader bootstrap): size 16 + 8 n, 0 objects, 0 B
  Offset  Size  Type  Field            Inherited from
       0     8        (object header)
       8     4  int   (length)
      12     4        (padding)
      16     8  long  (elements)
)out") != std::string::npos);
  CHECK(layouts.find(R"out(
java.lang.Object (loader bootstrap): size 8, 0 objects, 0 B
  Offset  Size  Type  Field            Inherited from
       0     8        (object header)
)out") != std::string::npos);
}

TEST_CASE("classes --json has the fields of each class") {
  using nlohmann::json;
  const json list = json::parse(Classes({"--layout", "--json"}));
  CHECK(list["objects"] == 4);
  CHECK(list["bytes"] == 136);
  REQUIRE(list["classes"].size() == 7);
  const json& node = list["classes"][0];
  CHECK(node["class"] == "app.Node");
  CHECK(node["superclass"] == "app.Base");
  CHECK(node["loader"] == "bootstrap");
  CHECK(node["instance_bytes"] == 40);
  CHECK(node["objects"] == 2);
  CHECK(node["bytes"] == 80);
  CHECK(node["layout_complete"] == true);
  REQUIRE(node["layout"].size() == 8);
  CHECK(node["layout"][0] == json({{"offset", 0}, {"bytes", 12}, {"kind", "header"}}));
  CHECK(node["layout"][1] == json({{"offset", 12},
                                   {"bytes", 4},
                                   {"kind", "field"},
                                   {"type", "int"},
                                   {"name", "count"},
                                   {"declared_in", "app.Base"}}));
  CHECK(node["layout"][3] == json({{"offset", 17}, {"bytes", 3}, {"kind", "gap"}}));
  const json& longs = list["classes"][1];
  CHECK(longs["array_header_bytes"] == 16);
  CHECK(longs["array_element_bytes"] == 8);
  CHECK(longs.count("instance_bytes") == 0);
  CHECK(list["classes"][5]["layout_complete"] == false);
  CHECK(json::parse(Classes({"--json"}))["classes"][0].count("layout") == 0);
}

}  // namespace
}  // namespace anttracks::testing
