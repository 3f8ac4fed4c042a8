// SPDX-License-Identifier: Apache-2.0
// Damaged, cut and foreign files: clear messages, documented exit codes, never a crash or a hang.
#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>

#include "analyzer/cli/content.h"
#include "tests/unit/analyzer/small_trace.h"
#include "trace/reader.h"

namespace anttracks::testing {
namespace {

const std::vector<std::vector<std::string>> kCommands = {
    {"verify"},          {"info", "--json"},     {"heap", "--objects", "--end"}, {"sites", "--callers"},
    {"sites", "--live"}, {"classes", "--layout"}};

void RunAll(const std::string& bytes) {
  for (const auto& command : kCommands) {
    const CommandResult result = Anttracks(bytes, command);
    CHECK(result.code >= 0);
    CHECK(result.code <= 4);
    CHECK(result.code != 2);
  }
}

TEST_CASE("any byte of a trace that is flipped is noticed") {
  const std::string good = SmallTrace().file();
  for (size_t i = 0; i < good.size(); i++) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0xFF);
    RunAll(bad);
    CHECK_MESSAGE(Anttracks(bad, {"verify"}).code != 0, "byte ", i);
  }
}

// Flips bits of every payload byte, with checksums that fit.
void FlipPayloads(const std::string& good) {
  for (size_t chunk = 64; chunk < good.size();) {
    const auto* header = reinterpret_cast<const uint8_t*>(good.data()) + chunk;
    const size_t stored = trace::GetU32(header + trace::chunk_header::kStoredLength);
    for (size_t i = 0; i < stored * 3; i++) {
      static constexpr int kFlips[] = {0x01, 0x80, 0xFF};
      std::string bad = good;
      bad[chunk + 32 + i / 3] = static_cast<char>(bad[chunk + 32 + i / 3] ^ kFlips[i % 3]);
      auto* bytes = reinterpret_cast<uint8_t*>(bad.data()) + chunk;
      trace::PutU32(bytes + trace::chunk_header::kPayloadCrc, trace::Crc32c({bytes + 32, stored}));
      trace::PutU32(bytes + trace::chunk_header::kHeaderCrc, trace::Crc32c({bytes, 28}));
      RunAll(bad);
    }
    chunk += 32 + stored;
  }
}

TEST_CASE("damage behind valid checksums makes no report crash") {
  FlipPayloads(SmallTrace().file());
  FlipPayloads(ClassesTrace().file());
}

TEST_CASE("a trace that is cut anywhere loads up to the cut") {
  const std::string good = SmallTrace().file();
  for (size_t length = 0; length < good.size(); length++) {
    RunAll(good.substr(0, length));
    const int code = Anttracks(good.substr(0, length), {"verify"}).code;
    CHECK_MESSAGE((code == 0 || code == 3), "length ", length);
  }
}

TEST_CASE("that a trace ends in the middle of a chunk is told, and no error") {
  const std::string good = SmallTrace().file();
  const CommandResult info = Anttracks(good.substr(0, good.size() - 1), {"info"});
  CHECK(info.code == 0);
  CHECK(info.out.find("trace ends in the middle of a chunk (process killed?), ") != std::string::npos);
  const CommandResult heap = Anttracks(good.substr(0, good.size() - 1), {"heap"});
  CHECK(heap.code == 0);
  CHECK(heap.out.find("heap after GC 0") == 0);
  CHECK(heap.err.find("note: trace ends in the middle of a chunk") == 0);
}

TEST_CASE("a report on a damaged trace says where the damage is, and ends with code 4") {
  std::string bad = SmallTrace().file();
  bad[bad.size() - 3] ^= 1;  // in the last chunk
  const CommandResult heap = Anttracks(bad, {"heap"});
  CHECK(heap.code == 4);
  CHECK(heap.out.find("heap after GC 0") == 0);
  CHECK(heap.err.find("warning: the trace is damaged: TRACE, offset ") == 0);
  CHECK(heap.err.find("checksum of a chunk is wrong") != std::string::npos);
}

TEST_CASE("a collection behind the damage is not said to be none") {
  std::string bad = SmallTrace().file();
  bad[bad.size() - 3] ^= 1;  // in the last chunk, which has collection 1
  const std::vector<std::vector<std::string>> commands{
      {"heap", "--gc", "1"},     {"heap", "--from", "1"}, {"sites", "--live", "--gc", "1"},
      {"sites", "--from", "1"},  {"gcs", "--from", "1"},  {"leaks", "--gc", "1"},
      {"object", "0x10200000@1"}};
  for (const std::vector<std::string>& command : commands) {
    CAPTURE(command[0]);
    const CommandResult result = Anttracks(bad, command);
    CHECK(result.code == 4);
    CHECK(result.err.find("collection 1 is not in what precedes the damage of the trace: TRACE, offset ") !=
          std::string::npos);
  }
}

TEST_CASE("a file that is no trace is told by its kind") {
  const CommandResult hprof = Anttracks("JAVA PROFILE 1.0.2", {"info"});
  CHECK(hprof.code == 3);
  CHECK(hprof.err.find("not an AntTracks trace (it is a Java heap dump (hprof))") != std::string::npos);
  CHECK(Anttracks("", {"info"}).err.find("(it is empty)") != std::string::npos);
  CHECK(Anttracks("\x1F\x8B", {"info"}).err.find("(it is a gzip archive)") != std::string::npos);
}

TEST_CASE("a file that is missing is named, with the reason") {
  std::ostringstream out, err;
  CHECK(analyzer::Main({"info", "/nonexistent/trace"}, out, err, false) == 3);
  CHECK(err.str() == "anttracks: /nonexistent/trace: No such file or directory\n");
}

TEST_CASE("wrong arguments end with code 2") {
  std::ostringstream out, err;
  CHECK(analyzer::Main({}, out, err, false) == 2);
  CHECK(analyzer::Main({"heap"}, out, err, false) == 2);
  CHECK(analyzer::Main({"heap", "x", "--by", "colour"}, out, err, false) == 2);
  CHECK(analyzer::Main({"frobnicate", "x"}, out, err, false) == 2);
  CHECK(Anttracks(SmallTrace().file(), {"heap", "--gc", "7"}).code == 2);
  CHECK(Anttracks(SmallTrace().file(), {"sites", "--live", "--gc", "7"}).code == 2);
  CHECK(Anttracks(SmallTrace().file(), {"sites", "--gc", "0"}).code == 2);
}

TEST_CASE("a report on a trace that contradicts itself warns, and ends with code 4") {
  TraceBuilder b = SmallStart();
  SmallAllocs(&b);
  b.Segment(SegmentKind::kAlloc, 3, Objects().Head(1).Tlab(kEden + 1).Fixed(6));
  const CommandResult heap = Anttracks(b.Flush().file(), {"heap", "--end"});
  CHECK(heap.code == 4);
  CHECK(heap.err.find("contradicts itself in 1 place") != std::string::npos);
}

// Can be read once.
class OnceReadable : public trace::ChunkSource {
 public:
  explicit OnceReadable(const std::string& path) : reader_(std::move(*trace::TraceReader::Open({path}))) {}
  Item Next() override { return readings_ > 1 ? Item::kError : reader_->Next(); }
  const trace::Chunk& chunk() const override { return reader_->chunk(); }
  const trace::Damage& damage() const override { return reader_->damage(); }
  const trace::Status& error() const override { return error_; }
  void Rewind(std::vector<bool> wanted) override {
    readings_++;
    reader_->Rewind(std::move(wanted));
  }
  const std::vector<trace::FileInfo>& files() const override { return reader_->files(); }
  uint64_t total_bytes() const override { return reader_->total_bytes(); }
  uint64_t position() const override { return reader_->position(); }

 private:
  std::unique_ptr<trace::TraceReader> reader_;
  trace::Status error_ = trace::Status::Error("the file became shorter while it was read");
  int readings_ = 0;
};

TEST_CASE("a trace that cannot be read a second time, which it takes, is an error") {
  TraceBuilder b = SmallStart();
  SmallAllocs(&b);
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(66, 0, 0, 17));
  b.Gc(SegmentKind::kGcEnd, 0, 0, "x", 6000, Spaces(0, 0, 0, 17));
  b.Gc(SegmentKind::kGcBegin, 1, 0, "x", 7000, Spaces(0, 0, 0, 17));  // and no end
  const TempFile file(b.Flush().file());
  std::ostringstream out, err;
  analyzer::Session session{.out = out, .err = err, .files = {file.path()}};
  session.reader = std::make_unique<OnceReadable>(file.path());
  const auto content = analyzer::ReadContent(session, {.portions = {}, .live = analyzer::LiveAt::kLastGc});
  CHECK(content->summary.fatal.message() == "the file became shorter while it was read");
}

TEST_CASE("top says that a trace contradicts itself, with code 4") {
  ::setenv("TERM", "none", 1);  // in lines, also where the tests have a terminal
  TraceBuilder b = SmallStart();
  SmallAllocs(&b);
  b.Segment(SegmentKind::kAlloc, 3, Objects().Head(1).Tlab(kEden + 1).Fixed(6));
  b.End(4000, "VM death", "{}");
  const CommandResult top = Anttracks(b.Flush().file(), {"top"});
  CHECK(top.code == 4);
  CHECK(top.err.find("contradicts itself in 1 place") != std::string::npos);
  CHECK(Anttracks(SmallTrace().file(), {"top"}).code == 0);
}

}  // namespace
}  // namespace anttracks::testing
