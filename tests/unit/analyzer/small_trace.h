// SPDX-License-Identifier: Apache-2.0
// A small program's trace and a runner of the command line: trace in, text out.
//
// Thread safety: none.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/cli/commands.h"
#include "tests/unit/analyzer/trace_builder.h"

namespace anttracks::testing {

// Word addresses: eden of 1 MiB, two survivor spaces of 512 KiB, an old generation of 6 MiB.
inline constexpr uint64_t kEden = 0x10000000 / 8, kFrom = 0x10100000 / 8, kTo = 0x10180000 / 8;
inline constexpr uint64_t kOld = 0x10200000 / 8, kHeapEnd = 0x10800000 / 8;

inline std::vector<TestSpace> Spaces(uint64_t eden, uint64_t from, uint64_t to, uint64_t old,
                                     bool full = false) {
  return {{0, 1, kEden, kEden + eden, kFrom},
          {1, 1, kFrom, kFrom + from, kTo},
          {1, full, kTo, kTo + to, kOld},
          {2, full, kOld, kOld + old, kHeapEnd}};
}

inline DefinitionsBuilder SmallDefinitions() {
  DefinitionsBuilder s;
  s.Class(1, "app.Node", 0, 24).Class(2, "int[]", 1, 0, 16, 2).Class(3, "java.lang.Class", 2, 0);
  s.Class(4, "java.lang.Object", 0, 16);
  s.Method(1, "app.List", "add", "List.java").Method(2, "app.Main", "run", "Main.java");
  s.Method(3, "java.lang.Object", "clone", "");
  s.Site(16, 1, 4, 12, 0, 0).Site(17, 2, 8, 30, 0, 1).Site(18, 1, 4, 12, 17, 2).Site(19, 3, -1, -1, 17, 3);
  s.Thread(1, "main", 1).Thread(2, "worker", 9);
  s.SiteClass(1, 16, 1).SiteClass(2, 17, 2).SiteClass(3, 0, 3).SiteClass(4, 2, 2).SiteClass(5, 18, 1).SiteClass(
      6, 19, 4);
  return s;
}

// META, definitions, and a sync point with a mirror of 14 words and a Node at the bottom of the old generation.
inline TraceBuilder SmallStart() {
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8);
  b.Segment(SegmentKind::kDefinitions, 0, SmallDefinitions().bytes());
  b.SyncBegin(0, 1000, Spaces(0, 0, 0, 17));
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(3, 14).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {2, 136});
  return b;
}

// main: Node, Node, int[10], Node, Node; worker: Object, int[0] outside its TLAB.
// Eden: 0 Node, 3 Node, 6 int[10] (7 words), 13 Node, 16 Node, 32 Object (2), 64 int[0] (2).
inline void SmallAllocs(TraceBuilder* b) {
  b->Segment(SegmentKind::kAlloc, 1,
             Objects().Head(2000).Tlab(kEden).Fixed(1).Fixed(1).WithLength(2, 10).Fixed(1).Fixed(5));
  b->Segment(SegmentKind::kAlloc, 2,
             Objects().Head(3000).Tlab(kEden + 32).Fixed(6).Outside(30).WithLength(2, 0));
}

struct TestMove {
  uint64_t from, to, lab, words;
};
// With the exact deltas of the format; never implies an address, so that each move stands for itself.
inline ByteBuffer Moves(const std::vector<TestMove>& moves) {
  ByteBuffer payload;
  uint64_t from_end = 0, to_end[2] = {0, 0};
  for (const TestMove& move : moves) {
    payload.Uv(trace::Zigzag(static_cast<int64_t>(move.from - from_end)) << 2 | 2 | move.lab);
    payload.Sv(static_cast<int64_t>(move.to - to_end[move.lab]));
    from_end = move.from + move.words;
    to_end[move.lab] = move.to + move.words;
  }
  return payload;
}
inline ByteBuffer Slide(uint64_t count, uint64_t from, uint64_t to) {
  ByteBuffer payload;
  payload.Uv(count);
  payload.Sv(static_cast<int64_t>(from));
  payload.Sv(static_cast<int64_t>(to));
  return payload;
}
inline ByteBuffer Filler(uint64_t word, uint64_t kind, uint64_t length) {
  ByteBuffer payload;
  payload.Sv(static_cast<int64_t>(word));
  payload.Uv(kind);
  payload.Uv(length);
  return payload;
}

// Young collection 0: Node 0 to the survivor space, int[10] to the old generation, Object to the survivor
// space, a filler of 4 words behind it. Then main allocates three more Nodes and full collection 1 slides:
// the old generation's mirror stays, its Node dies, int[10] moves down, all else of the survivor dies but
// the Node.
inline TraceBuilder SmallTrace() {
  TraceBuilder b = SmallStart();
  SmallAllocs(&b);
  b.Flush();
  b.Gc(SegmentKind::kGcBegin, 0, 0, "Allocation Failure", 5000, Spaces(66, 0, 0, 17));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}, {kEden + 6, kOld + 17, 1, 7}}));
  b.Segment(SegmentKind::kMoves, 1, Moves({{kEden + 32, kTo + 3, 0, 2}}));
  b.Segment(SegmentKind::kFillers, 1, Filler(kTo + 5, 4, 4));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "Allocation Failure", 9000, Spaces(0, 0, 9, 24));
  b.Flush(true);
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(10000).Tlab(kEden).Fixed(1).Fixed(1).Fixed(1).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 1, 1, "System.gc()", 20000, Spaces(12, 0, 9, 24, true));
  b.Segment(SegmentKind::kSlides, 0, Slide(1, kOld, kOld));
  b.Segment(SegmentKind::kSlides, 1, Slide(1, kTo, kOld + 21));
  b.Segment(SegmentKind::kSlides, 0, Slide(1, kOld + 17, kOld + 14));
  b.Segment(SegmentKind::kSlides, 1, Slide(2, kEden + 3, kOld + 24));
  b.Gc(SegmentKind::kGcEnd, 1, 1, "System.gc()", 1'520'000, Spaces(0, 0, 0, 30));
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(1'600'000).Tlab(kEden).Fixed(1));
  b.End(2'000'000, "VM death", "{\"dropped\":0}");
  b.Flush(true);
  return b;
}

// Classes with fields records: app.Node and app.Old extend app.Base, app.Old has no record. Two Nodes, an
// Object and a long[3] are allocated.
inline TraceBuilder ClassesTrace() {
  TraceBuilder b;
  b.Meta(kEden * 8, kHeapEnd * 8);
  DefinitionsBuilder s;
  s.Class(1, "java.lang.Object", 0, 16).Fields(1, {});
  s.Class(2, "app.Base", 0, 24, 0, 0, 1).Fields(2, {{"count", "I", 12}, {"marked", "Z", 16}});
  s.Class(3, "app.Node", 0, 40, 0, 0, 2);
  s.Fields(3, {{"next", "Lapp/Node;", 20}, {"stamp", "J", 24}, {"names", "[Ljava/lang/String;", 32}});
  s.Class(4, "java.lang.Class", 2, 0, 0, 0, 1).Fields(4, {{"name", "Ljava/lang/String;", 40}});
  s.Class(5, "long[]", 1, 0, 16, 3, 1).Class(6, "app.Node[]", 1, 0, 16, 2, 1);
  s.Class(7, "app.Old", 0, 24, 0, 0, 2);
  s.Method(1, "app.List", "add", "List.java").Site(16, 1, 4, 12, 0, 0);
  s.Thread(1, "main", 1);
  s.SiteClass(1, 16, 1).SiteClass(2, 16, 3).SiteClass(3, 16, 5).SiteClass(4, 16, 6);
  b.Segment(SegmentKind::kDefinitions, 0, s.bytes());
  b.Segment(SegmentKind::kAlloc, 1,
            Objects().Head(2000).Tlab(kEden).Fixed(2).Fixed(2).Fixed(1).WithLength(3, 3));
  b.End(3000, "VM death", "{}");
  return b.Flush();
}

class TempFile {
 public:
  explicit TempFile(const std::string& bytes, const std::string& name = "trace") {
    static int number = 0;
    path_ = (std::filesystem::temp_directory_path() /
             (name + "-" + std::to_string(::getpid()) + "-" + std::to_string(number++)))
                .string();
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct CommandResult {
  int code = 0;
  std::string out, err;
};

inline std::string Replace(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The trace's bytes stand behind the first argument; its path reads TRACE in the output.
inline CommandResult Anttracks(const std::string& trace, std::vector<std::string> arguments) {
  TempFile file(trace);
  arguments.insert(arguments.begin() + 1, file.path());
  std::ostringstream out, err;
  const int code = analyzer::Main(arguments, out, err, false);
  return {code, Replace(out.str(), file.path(), "TRACE"), Replace(err.str(), file.path(), "TRACE")};
}

}  // namespace anttracks::testing
