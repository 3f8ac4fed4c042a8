// SPDX-License-Identifier: Apache-2.0
// A small program's rotated trace: a definitions file and three data files in a folder of their own.
//
// Thread safety: none.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {

inline constexpr uint64_t kRotatedId = 0xABCDEF;

// A folder of trace files; removed with all that is in it.
class Folder {
 public:
  Folder() {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("rotated-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  Folder& Write(const std::string& name, const std::string& bytes) {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return *this;
  }
  Folder& Remove(const std::string& name) {
    std::filesystem::remove(path(name));
    return *this;
  }
  std::string Read(const std::string& name) const {
    std::stringstream bytes;
    bytes << std::ifstream(path(name), std::ios::binary).rdbuf();
    return bytes.str();
  }

  // Names of files behind the command, then options. Paths in the output are names.
  CommandResult Run(const std::string& command, const std::vector<std::string>& names,
                    const std::vector<std::string>& options = {}) const {
    std::vector<std::string> arguments{command};
    for (const std::string& name : names) arguments.push_back(path(name));
    arguments.insert(arguments.end(), options.begin(), options.end());
    std::ostringstream out, err;
    const int code = analyzer::Main(arguments, out, err, false);
    const std::string prefix = path_.string() + "/";
    return {code, Replace(out.str(), prefix, ""), Replace(err.str(), prefix, "")};
  }

 private:
  std::filesystem::path path_;
};

// Both survivor spaces are collected.
inline std::vector<TestSpace> SpacesOf(uint64_t eden, uint64_t from, uint64_t to, uint64_t old,
                                       bool full = false) {
  std::vector<TestSpace> spaces = Spaces(eden, from, to, old, full);
  spaces[2].collected = 1;
  return spaces;
}

inline TraceBuilder DefinitionsFile(const DefinitionsBuilder& definitions = SmallDefinitions(),
                                    bool ended = true, const char* counters = "{}") {
  TraceBuilder b(trace::kDefinitionsFileIndex, kRotatedId, trace::kFileDefinitions);
  b.Meta(kEden * 8, kHeapEnd * 8);
  b.Segment(SegmentKind::kDefinitions, 0, definitions.bytes()).Flush();
  b.Segment(SegmentKind::kThreadEnd, 2, ByteBuffer());
  if (ended) b.End(30000, "VM death", counters);
  return std::move(b.Flush());
}

inline TraceBuilder DataFile(uint32_t index, uint64_t sequence, const std::string& scheme = "") {
  TraceBuilder b(index, kRotatedId, trace::kFileData);
  b.set_sequence(sequence);
  b.Meta(kEden * 8, kHeapEnd * 8, scheme);
  return b;
}

// The start's sync point, allocations and young collection 0 of SmallTrace.
// To: Node, Object, filler of 4 words. Old: mirror of 14 words, Node, int[10].
inline TraceBuilder DataFile0() {
  TraceBuilder b = DataFile(0, 0);
  b.SyncBegin(0, 1000, Spaces(0, 0, 0, 17));
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(3, 14).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {2, 136});
  SmallAllocs(&b);
  b.Flush();
  b.Gc(SegmentKind::kGcBegin, 0, 0, "Allocation Failure", 5000, Spaces(66, 0, 0, 17));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}, {kEden + 6, kOld + 17, 1, 7}}));
  b.Segment(SegmentKind::kMoves, 1, Moves({{kEden + 32, kTo + 3, 0, 2}}));
  b.Segment(SegmentKind::kFillers, 1, Filler(kTo + 5, 4, 4));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "Allocation Failure", 9000, Spaces(0, 0, 9, 24));
  return std::move(b.Flush());
}
inline constexpr uint64_t kChunks0 = 3;

// What the sync point of data file 1 lists.
struct Listing {
  Objects to = Objects().Tlab(kTo).Fixed(1).Fixed(6).WithLength(4, 4);
  Objects old = Objects().Tlab(kOld).WithLength(3, 14).Fixed(1).WithLength(2, 10);
  uint64_t objects = 6, bytes = 264;
};

// reason: 2 is that of a rotation.
inline void AddSyncPoint1(TraceBuilder* b, const Listing& listing = {}, uint64_t reason = 2) {
  b->SyncBegin(reason, 9500, Spaces(0, 0, 9, 24));
  b->Segment(SegmentKind::kSyncObjects, 2, listing.to);
  b->Segment(SegmentKind::kSyncObjects, 3, listing.old);
  b->Numbers(SegmentKind::kSyncEnd, 0, {listing.objects, listing.bytes}).Flush();
}

// The sync point, two Nodes in eden, young collection 1: a Node to the other survivor space, the survivors'
// Node to the old space. From: Node. Old: mirror, Node, int[10], Node.
inline TraceBuilder DataFile1(const Listing& listing = {}, const std::string& scheme = "") {
  TraceBuilder b = DataFile(1, kChunks0, scheme);
  AddSyncPoint1(&b, listing);
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(10000).Tlab(kEden).Fixed(1).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 1, 0, "Allocation Failure", 11000, SpacesOf(6, 0, 9, 24));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kFrom, 0, 3}, {kTo, kOld + 24, 1, 3}}));
  b.Gc(SegmentKind::kGcEnd, 1, 0, "Allocation Failure", 11500, SpacesOf(0, 3, 0, 27));
  return std::move(b.Flush());
}
inline constexpr uint64_t kChunks1 = 6;

// A sync point whose old space comes late: allocations and the whole young collection 2 come before. Then a
// Node and young collection 3. From: Node. Old: mirror, Node, int[10], Node, Node.
inline TraceBuilder DataFile2() {
  TraceBuilder b = DataFile(2, kChunks1);
  b.SyncBegin(2, 12000, SpacesOf(0, 3, 0, 27));
  b.Segment(SegmentKind::kSyncObjects, 1, Objects().Tlab(kFrom).Fixed(1)).Flush();
  b.Segment(SegmentKind::kAlloc, 2, Objects().Head(13000).Tlab(kEden + 32).Fixed(6));
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(13000).Tlab(kEden).Fixed(1));
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld + 17).WithLength(2, 10).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 2, 0, "Allocation Failure", 14000, SpacesOf(34, 3, 0, 27));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kFrom, kOld + 27, 1, 3}, {kEden, kTo, 0, 3}}));
  b.Gc(SegmentKind::kGcEnd, 2, 0, "Allocation Failure", 15000, SpacesOf(0, 0, 3, 30)).Flush();
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(3, 14).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {5, 240});
  b.Segment(SegmentKind::kAlloc, 1, Objects().Head(16000).Tlab(kEden).Fixed(1));
  b.Gc(SegmentKind::kGcBegin, 3, 0, "Allocation Failure", 17000, SpacesOf(3, 0, 3, 30));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kTo, kFrom, 0, 3}}));
  b.Gc(SegmentKind::kGcEnd, 3, 0, "Allocation Failure", 18000, SpacesOf(0, 3, 0, 30));
  return std::move(b.Flush());
}

// A sync point that full collection 2 makes the agent abandon; the one behind it is complete.
inline TraceBuilder AbandonedDataFile2() {
  TraceBuilder b = DataFile(2, kChunks1);
  b.SyncBegin(2, 12000, SpacesOf(0, 3, 0, 27));
  b.Segment(SegmentKind::kSyncObjects, 1, Objects().Tlab(kFrom).Fixed(1));
  b.Segment(SegmentKind::kSyncObjects, 3, Objects().Tlab(kOld).WithLength(3, 14));
  ByteBuffer reason;
  reason.Str("full collection");
  b.Segment(SegmentKind::kSyncAbandoned, 0, reason).Flush();
  b.Gc(SegmentKind::kGcBegin, 2, 1, "System.gc()", 14000, SpacesOf(0, 3, 0, 27, true));
  b.Segment(SegmentKind::kSlides, 0, Slide(1, kOld, kOld));
  b.Segment(SegmentKind::kSlides, 0, Slide(2, kOld + 17, kOld + 14));
  b.Segment(SegmentKind::kSlides, 1, Slide(1, kFrom, kOld + 24));
  b.Gc(SegmentKind::kGcEnd, 2, 1, "System.gc()", 15000, SpacesOf(0, 0, 0, 27));
  b.SyncBegin(2, 15500, SpacesOf(0, 0, 0, 27));
  b.Segment(SegmentKind::kSyncObjects, 3,
            Objects().Tlab(kOld).WithLength(3, 14).WithLength(2, 10).Fixed(1).Fixed(1));
  b.Numbers(SegmentKind::kSyncEnd, 0, {4, 216});
  return std::move(b.Flush());
}

inline void WriteRotated(Folder* folder) {
  folder->Write("app.trace", DefinitionsFile().file()).Write("app.trace.0", DataFile0().file());
  folder->Write("app.trace.1", DataFile1().file()).Write("app.trace.2", DataFile2().file());
}

}  // namespace anttracks::testing
