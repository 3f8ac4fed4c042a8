// SPDX-License-Identifier: Apache-2.0
// Trace in, text out: every command's output for the small trace.
#include <doctest/doctest.h>

#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {
namespace {

void CheckOutput(std::vector<std::string> arguments, const char* expected) {
  const CommandResult result = Anttracks(SmallTrace().file(), std::move(arguments));
  CHECK(result.out == expected + 1);  // without the line break behind the quotation mark
  CHECK(result.err == "");
  CHECK(result.code == 0);
}

TEST_CASE("info shows the program, counts and bytes") {
  CheckOutput({"info"}, R"out(
file            TRACE, 1.12 KiB, format 2.0
trace           1122334455667788, process 4711, agent 0.1.0
VM              17.0.19
command         Main 1
VM flags        -XX:+UseParallelGC
options         file=a
started         2023-11-14 22:13:20 UTC
time span       2.00 ms
collections     1 young in 4.0 us, 1 full in 1.50 ms
sync points     1 with 2 objects, 136 B
allocated       12 objects, 304 B
  in TLABs      11 objects, 288 B
  outside       1 object, 16 B

raw             832 B, 69.33 B per object
on disk         1.12 KiB, 95.67 B per object
losses          none
ended           cleanly (VM death)

  Segments      Count  Raw bytes   Share
  ALLOC             4         84  10.1 %
  MOVES             2         29   3.5 %
  SLIDES            4         48   5.8 %
  FILLERS           1          9   1.1 %
  GC_BEGIN          2        128  15.4 %
  GC_END            2        128  15.4 %
  SYNC_BEGIN        1         47   5.6 %
  SYNC_OBJECTS      1         17   2.0 %
  SYNC_END          1          6   0.7 %
  DEFINITIONS       1        307  36.9 %
  END               1         29   3.5 %
)out");
}

TEST_CASE("heap shows the classes after the last collection") {
  CheckOutput({"heap"}, R"out(
heap after GC 1 (full, System.gc()), at 1.52 ms: 5 objects, 240 B

  Objects   Share  Bytes   Share  Class
        1  20.0 %    112  46.7 %  java.lang.Class
        3  60.0 %     72  30.0 %  app.Node
        1  20.0 %     56  23.3 %  int[]
)out");
}

TEST_CASE("heap --gc shows the heap after an earlier collection") {
  CheckOutput({"heap", "--gc", "0"}, R"out(
heap after GC 0 (young, Allocation Failure), at 9.0 us: 6 objects, 264 B

  Objects   Share  Bytes   Share  Class
        1  16.7 %    112  42.4 %  java.lang.Class
        2  33.3 %     88  33.3 %  int[]
        2  33.3 %     48  18.2 %  app.Node
        1  16.7 %     16   6.1 %  java.lang.Object
)out");
}

TEST_CASE("heap --by site --end has what was allocated since the last collection") {
  CheckOutput({"heap", "--by", "site", "--end"}, R"out(
heap at the end of the trace, 2.00 ms: 6 objects, 264 B

  Objects   Share  Bytes   Share  Site
        1  16.7 %    112  42.4 %  <unknown>
        4  66.7 %     96  36.4 %  app.List.add(List.java:12)
        1  16.7 %     56  21.2 %  app.Main.run(Main.java:30)
)out");
}

TEST_CASE("heap --by age counts the collections that objects survived") {
  CheckOutput({"heap", "--by", "age"}, R"out(
heap after GC 1 (full, System.gc()), at 1.52 ms: 5 objects, 240 B

  Objects   Share  Bytes   Share  Age
        1  20.0 %    112  46.7 %  <before trace>
        2  40.0 %     80  33.3 %  2 GCs
        2  40.0 %     48  20.0 %  1 GC
)out");
}

TEST_CASE("heap --by thread knows the threads of what the trace saw allocated") {
  CheckOutput({"heap", "--by", "thread", "--gc", "0"}, R"out(
heap after GC 0 (young, Allocation Failure), at 9.0 us: 6 objects, 264 B

  Objects   Share  Bytes   Share  Thread
        2  33.3 %    136  51.5 %  <before trace>
        2  33.3 %     80  30.3 %  main (1)
        1  16.7 %     32  12.1 %  <filler>
        1  16.7 %     16   6.1 %  worker (2)
)out");
}

TEST_CASE("heap --by space adds up each space") {
  CheckOutput({"heap", "--by", "space", "--gc", "0"}, R"out(
heap after GC 0 (young, Allocation Failure), at 9.0 us: 6 objects, 264 B

  Objects   Share  Bytes   Share  Space
        3  50.0 %    192  72.7 %  old
        3  50.0 %     72  27.3 %  survivor
)out");
}

TEST_CASE("heap --top cuts the table and says so") {
  CheckOutput({"heap", "--top", "1"}, R"out(
heap after GC 1 (full, System.gc()), at 1.52 ms: 5 objects, 240 B

  Objects   Share  Bytes   Share  Class
        1  20.0 %    112  46.7 %  java.lang.Class
  ... and 2 more (--top 0 shows all)
)out");
}

TEST_CASE("heap --json has the moment, totals and rows") {
  CheckOutput({"heap", "--json", "--top", "2"}, R"out(
{
  "gc": 1,
  "exact": true,
  "complete": true,
  "objects": 5,
  "bytes": 240,
  "by": "class",
  "rows": [
    {
      "class": "java.lang.Class",
      "objects": 1,
      "bytes": 112
    },
    {
      "class": "app.Node",
      "objects": 3,
      "bytes": 72
    }
  ]
}
)out");
}

TEST_CASE("heap --objects lists objects by address, separated by tabs") {
  CheckOutput({"heap", "--objects", "--gc", "0"}, R"out(
0x10180000	app.Node	24	app.List.add(List.java:12)
0x10180018	java.lang.Object	16	java.lang.Object.clone(Native Method)
0x10180028	int[]	32	<filler>
0x10200000	java.lang.Class	112	<unknown>
0x10200070	app.Node	24	app.List.add(List.java:12)
0x10200088	int[]	56	app.Main.run(Main.java:30)
)out");
}

TEST_CASE("heap --objects --json has the moment, totals, and one object per line") {
  CheckOutput({"heap", "--objects", "--json", "--gc", "0"}, R"out(
{
  "gc": 0,
  "exact": true,
  "complete": true,
  "objects": 6,
  "bytes": 264,
  "rows": [
    {"address": "0x10180000", "class": "app.Node", "bytes": 24, "site": "app.List.add(List.java:12)"},
    {"address": "0x10180018", "class": "java.lang.Object", "bytes": 16, "site": "java.lang.Object.clone(Native Method)"},
    {"address": "0x10180028", "class": "int[]", "bytes": 32, "site": "<filler>"},
    {"address": "0x10200000", "class": "java.lang.Class", "bytes": 112, "site": "<unknown>"},
    {"address": "0x10200070", "class": "app.Node", "bytes": 24, "site": "app.List.add(List.java:12)"},
    {"address": "0x10200088", "class": "int[]", "bytes": 56, "site": "app.Main.run(Main.java:30)"}
  ]
}
)out");
}

TEST_CASE("heap --objects --csv has a line of keys and one line per object") {
  CheckOutput({"heap", "--objects", "--csv", "--gc", "0"}, R"out(
address,class,bytes,site
0x10180000,app.Node,24,app.List.add(List.java:12)
0x10180018,java.lang.Object,16,java.lang.Object.clone(Native Method)
0x10180028,int[],32,<filler>
0x10200000,java.lang.Class,112,<unknown>
0x10200070,app.Node,24,app.List.add(List.java:12)
0x10200088,int[],56,app.Main.run(Main.java:30)
)out");
}

TEST_CASE("gcs has a line for each collection") {
  CheckOutput({"gcs"}, R"out(
  GC  Kind   Cause                 Start  Duration  Before  After  Moved  Stayed  Died  Live
   0  young  Allocation Failure   5.0 us    4.0 us   664 B  264 B      3       0     4     6
   1  full   System.gc()         20.0 us   1.50 ms   360 B  240 B      4       1     5     5
)out");
}

TEST_CASE("gcs --json has the same numbers for each collection") {
  CheckOutput({"gcs", "--json"}, R"out(
{
  "gcs": [
    {
      "id": 0,
      "kind": "young",
      "cause": "Allocation Failure",
      "start_ns": 5000,
      "duration_ns": 4000,
      "bytes_before": 664,
      "bytes_after": 264,
      "moved": {
        "objects": 3,
        "bytes": 96
      },
      "stayed": {
        "objects": 0,
        "bytes": 0
      },
      "died": {
        "objects": 4,
        "bytes": 88
      },
      "fillers": {
        "objects": 1,
        "bytes": 32
      },
      "live": {
        "objects": 6,
        "bytes": 264
      },
      "exact": true,
      "sync_point": null
    },
    {
      "id": 1,
      "kind": "full",
      "cause": "System.gc()",
      "start_ns": 20000,
      "duration_ns": 1500000,
      "bytes_before": 360,
      "bytes_after": 240,
      "moved": {
        "objects": 4,
        "bytes": 128
      },
      "stayed": {
        "objects": 1,
        "bytes": 112
      },
      "died": {
        "objects": 5,
        "bytes": 120
      },
      "fillers": {
        "objects": 0,
        "bytes": 0
      },
      "live": {
        "objects": 5,
        "bytes": 240
      },
      "exact": true,
      "sync_point": null
    }
  ]
}
)out");
}

TEST_CASE("sites puts tiers and callers of a line together") {
  CheckOutput({"sites"}, R"out(
allocated: 12 objects, 304 B, 3 rows

  Objects   Share  Bytes   Share  Class             Site
        9  75.0 %    216  71.1 %  app.Node          app.List.add(List.java:12)
        2  16.7 %     72  23.7 %  int[]             app.Main.run(Main.java:30)
        1   8.3 %     16   5.3 %  java.lang.Object  java.lang.Object.clone(Native Method)
                                                      <- app.Main.run(Main.java:30)
)out");
}

TEST_CASE("sites --csv has a line of keys, then one line per row") {
  CheckOutput({"sites", "--csv"}, R"out(
site,class,application,application_share,objects,bytes
app.List.add(List.java:12),app.Node,app.List.add(List.java:12),1.0,9,216
app.Main.run(Main.java:30),int[],app.Main.run(Main.java:30),1.0,2,72
java.lang.Object.clone(Native Method),java.lang.Object,app.Main.run(Main.java:30),1.0,1,16
)out");
}

TEST_CASE("sites --tiers --callers tells tiers and callers apart") {
  CheckOutput({"sites", "--tiers", "--callers"}, R"out(
allocated: 12 objects, 304 B, 4 rows

  Objects   Share  Bytes   Share  Tier         Class             Site
        8  66.7 %    192  63.2 %  interpreter  app.Node          app.List.add(List.java:12)
        2  16.7 %     72  23.7 %  C1           int[]             app.Main.run(Main.java:30)
        1   8.3 %     24   7.9 %  C2           app.Node          app.List.add(List.java:12)
                                                                   <- app.Main.run(Main.java:30)
        1   8.3 %     16   5.3 %  native       java.lang.Object  java.lang.Object.clone(Native Method)
                                                                   <- app.Main.run(Main.java:30)
)out");
}

TEST_CASE("sites --json has the site, class and callers of each row") {
  CheckOutput({"sites", "--json", "--top", "1", "--callers"}, R"out(
{
  "objects": 12,
  "bytes": 304,
  "sites": [
    {
      "site": "app.List.add(List.java:12)",
      "class": "app.Node",
      "callers": [],
      "objects": 8,
      "bytes": 192
    }
  ]
}
)out");
}

TEST_CASE("sites --live has what is live at the end") {
  CheckOutput({"sites", "--live"}, R"out(
allocated: 12 objects, 304 B, 4 rows
live at the end of the trace, 2.00 ms: 6 objects, 264 B

  Objects   Share  Bytes   Share  Live objects  Live bytes   Share  Class             Site
        9  75.0 %    216  71.1 %             4          96  36.4 %  app.Node          app.List.add(List.java:12)
        2  16.7 %     72  23.7 %             1          56  21.2 %  int[]             app.Main.run(Main.java:30)
        1   8.3 %     16   5.3 %             0           0   0.0 %  java.lang.Object  java.lang.Object.clone(Native Method)
                                                                                        <- app.Main.run(Main.java:30)
        0   0.0 %      0   0.0 %             1         112  42.4 %  java.lang.Class   <unknown>
)out");
}

TEST_CASE("sites --live --gc has what is live after a collection") {
  CheckOutput({"sites", "--live", "--gc", "0"}, R"out(
allocated: 12 objects, 304 B, 5 rows
live after GC 0 (young, Allocation Failure), at 9.0 us: 6 objects, 264 B

  Objects   Share  Bytes   Share  Live objects  Live bytes   Share  Class             Site
        9  75.0 %    216  71.1 %             2          48  18.2 %  app.Node          app.List.add(List.java:12)
        2  16.7 %     72  23.7 %             1          56  21.2 %  int[]             app.Main.run(Main.java:30)
        1   8.3 %     16   5.3 %             1          16   6.1 %  java.lang.Object  java.lang.Object.clone(Native Method)
                                                                                        <- app.Main.run(Main.java:30)
        0   0.0 %      0   0.0 %             1         112  42.4 %  java.lang.Class   <unknown>
        0   0.0 %      0   0.0 %             1          32  12.1 %  int[]             <filler>
)out");
}

TEST_CASE("sites --live --json has the moment and what is live of each site") {
  CheckOutput({"sites", "--live", "--gc", "1", "--json", "--top", "1"}, R"out(
{
  "objects": 12,
  "bytes": 304,
  "live": {
    "gc": 1,
    "exact": true,
    "objects": 5,
    "bytes": 240
  },
  "sites": [
    {
      "site": "app.List.add(List.java:12)",
      "class": "app.Node",
      "application": "app.List.add(List.java:12)",
      "application_share": 1.0,
      "objects": 9,
      "bytes": 216,
      "live_objects": 3,
      "live_bytes": 72
    }
  ]
}
)out");
}

TEST_CASE("threads shows what each thread allocated, and outside of TLABs") {
  CheckOutput({"threads"}, R"out(
  Id  Java id  Objects  Bytes    Share  Outside TLABs  Name
   1        1       10    272   89.5 %              0  main
   2        9        2     32   10.5 %              1  worker
  --------------------------------------------------------------
                    12    304  100.0 %              1  2 threads
)out");
}

TEST_CASE("threads has those that allocated nothing, too") {
  const CommandResult result = Anttracks(SmallStart().Flush().file(), {"threads", "--csv"});
  CHECK(result.out == 1 + R"out(
id,java_id,os_id,name,objects,bytes,outside_tlab_objects,outside_tlab_bytes
1,1,0,main,0,0,0,0
2,9,0,worker,0,0,0,0
)out");
  CHECK(result.code == 0);
}

TEST_CASE("a collection that the trace does not have is answered with those that it has") {
  const CommandResult result = Anttracks(SmallTrace().file(), {"heap", "--gc", "9"});
  CHECK(result.err == "anttracks: there is no collection 9 in the trace; its collections are 0 to 1\n");
  CHECK(result.code == 2);
}

TEST_CASE("threads --json has the same numbers for each thread") {
  CheckOutput({"threads", "--json"}, R"out(
{
  "threads": [
    {
      "id": 1,
      "java_id": 1,
      "os_id": 0,
      "name": "main",
      "objects": 10,
      "bytes": 272,
      "outside_tlab_objects": 0,
      "outside_tlab_bytes": 0
    },
    {
      "id": 2,
      "java_id": 9,
      "os_id": 0,
      "name": "worker",
      "objects": 2,
      "bytes": 32,
      "outside_tlab_objects": 1,
      "outside_tlab_bytes": 16
    }
  ]
}
)out");
}

TEST_CASE("verify finds nothing wrong in a good trace") {
  CheckOutput({"verify"}, R"out(
4 chunks and 2 collections checked, 6 objects live at the end: no errors
)out");
}

TEST_CASE("verify --json has what was checked, and no error") {
  CheckOutput({"verify", "--json"}, R"out(
{
  "errors": 0,
  "by_kind": {},
  "first": [],
  "chunks": 4,
  "gcs": 2,
  "sync_points": {
    "checked": 0,
    "taken": 1,
    "abandoned": 0
  },
  "truncated_bytes": 0,
  "ended_cleanly": true
}
)out");
}

}  // namespace
}  // namespace anttracks::testing
