// SPDX-License-Identifier: Apache-2.0
// A trace that is read while it is written: whatever part of it is there, the end has all.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "analyzer/passes/pass.h"
#include "analyzer/passes/top_sink.h"
#include "tests/unit/analyzer/rotated_trace.h"
#include "trace/reader.h"

namespace anttracks::testing {
namespace {

using analyzer::Definitions;
using analyzer::PassOptions;
using analyzer::PassSummary;
using analyzer::Problems;
using analyzer::TopSink;

struct Followed {
  PassSummary summary;
  uint64_t allocated = 0, live = 0, problems = 0;
  size_t collections = 0, files = 0;
  size_t open = 0;  // of the files
};

// How many descriptors this process has of files whose paths begin so.
size_t OpenFiles(const std::string& path) {
  size_t open = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the iterator's own
    open += std::filesystem::read_symlink(entry.path(), gone).string().starts_with(path);
  }
  return open;
}

uint64_t Sum(const std::vector<uint64_t>& numbers) {
  uint64_t sum = 0;
  for (const uint64_t number : numbers) sum += number;
  return sum;
}

// write: makes the next bytes; false: there are no more.
Followed Follow(const std::string& path, const std::function<bool()>& write) {
  auto reader = trace::TraceReader::Open({path});
  REQUIRE(reader.ok());
  Problems problems;
  Definitions definitions(problems);
  TopSink sink(definitions, problems);
  PassOptions options{.stop_at_damage = false};
  options.more = [&] {
    while (write()) {
      if ((*reader)->Refresh()) return true;
    }
    return (*reader)->Refresh();
  };
  Followed followed;
  followed.summary = analyzer::Pass<TopSink>(**reader, definitions, problems, sink, std::move(options)).Run();
  for (const TopSink::Made& made : sink.allocated()) followed.allocated += made.known();
  followed.live = Sum(sink.Live());
  followed.problems = problems.total();
  followed.collections = sink.gcs().size();
  followed.files = (*reader)->files().size();
  followed.open = OpenFiles(path);
  return followed;
}

void Append(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::app) << bytes;
}

TEST_CASE("a trace that grows by any number of bytes is followed to its end") {
  const std::string whole = SmallTrace().file();
  for (const size_t step : {1, 7, 100, 5000}) {
    CAPTURE(step);
    const size_t begin = trace::kFileHeaderBytes + 3;
    const TempFile file(whole.substr(0, begin));
    size_t at = begin;
    const Followed followed = Follow(file.path(), [&] {
      if (at >= whole.size()) return false;
      Append(file.path(), whole.substr(at, step));
      at += step;
      return true;
    });
    CHECK(followed.summary.ended);
    CHECK(followed.summary.truncated_bytes == 0);
    CHECK(followed.allocated == 12);
    CHECK(followed.collections == 2);
    CHECK(followed.live == 5);
    CHECK(followed.problems == 0);
  }
}

TEST_CASE("what is live is not counted within a collection") {
  TraceBuilder b = SmallStart();
  SmallAllocs(&b);
  b.Gc(SegmentKind::kGcBegin, 0, 0, "x", 5000, Spaces(66, 0, 0, 17));
  b.Segment(SegmentKind::kMoves, 0, Moves({{kEden, kTo, 0, 3}}));
  const TempFile file(b.Flush().file());
  auto reader = trace::TraceReader::Open({file.path()});
  REQUIRE(reader.ok());
  Problems problems;
  Definitions definitions(problems);
  TopSink sink(definitions, problems);
  uint64_t within = 99;
  PassOptions options;
  options.more = [&] {
    within = sink.Live().size();
    return false;
  };
  CHECK(analyzer::Pass<TopSink>(**reader, definitions, problems, sink, std::move(options)).Run().fatal.ok());
  CHECK(within == 0);
  CHECK(Sum(sink.Live()) == 9);  // when no more is read: each once
}

TEST_CASE("a trace whose writer dies is followed to its last whole chunk") {
  const std::string whole = SmallTrace().file();
  const TempFile file(whole.substr(0, 700));
  const Followed followed = Follow(file.path(), [] { return false; });
  CHECK(!followed.summary.ended);
  CHECK(followed.summary.truncated_bytes > 0);
  CHECK(followed.problems == 0);
}

// In the order of the agent: definitions before the events that use them, each file to its end, then the next
// one.
struct Writing {
  std::string name, bytes;
};
std::vector<Writing> RotatedWriting() {
  const std::string definitions = DefinitionsFile().file();
  const size_t end_begins = definitions.rfind(std::string(trace::kChunkMagic, sizeof trace::kChunkMagic));
  return {{"app.trace", definitions.substr(0, end_begins)},
          {"app.trace.0", DataFile0().file()},
          {"app.trace.1", DataFile1().file()},
          {"app.trace.2", DataFile2().file()},
          {"app.trace", definitions.substr(end_begins)}};
}

TEST_CASE("the files of a rotated trace are followed as they come, and as old ones go") {
  for (const bool deletes : {false, true}) {
    CAPTURE(deletes);
    Folder folder;
    std::vector<Writing> writing = RotatedWriting();
    size_t next = 0, at = 0;
    const auto write = [&] {
      if (next == writing.size()) return false;
      const Writing& now = writing[next];
      Append(folder.path(now.name), now.bytes.substr(at, 50));
      at += 50;
      if (at < now.bytes.size()) return true;
      if (deletes && now.name == "app.trace.1") folder.Remove("app.trace.0");
      next++;
      at = 0;
      return true;
    };
    while (next < 1 || (next == 1 && at < trace::kFileHeaderBytes)) write();
    const Followed followed = Follow(folder.path("app.trace"), write);
    CHECK(followed.summary.ended);
    CHECK(followed.collections == 4);
    CHECK(followed.files == 4);
    CHECK(followed.open == 2);  // the definitions file, and the last data file
    CHECK(followed.problems == 0);
    CHECK(!followed.summary.damaged);
  }
}

TEST_CASE("a data file that came and went unseen is a gap, and the next sync point gives the heap again") {
  Folder folder;
  std::vector<Writing> writing = RotatedWriting();
  for (size_t i = 0; i < 2; i++) folder.Write(writing[i].name, writing[i].bytes);
  size_t next = 3;
  const Followed followed = Follow(folder.path("app.trace"), [&] {
    if (next == writing.size()) return false;
    Append(folder.path(writing[next].name), writing[next].bytes);
    next++;
    return true;
  });
  CHECK(followed.summary.damaged);
  CHECK(followed.summary.damage.find("data file 1 is missing") != std::string::npos);
  CHECK(followed.collections == 3);
  CHECK(followed.live == 6);
}

}  // namespace
}  // namespace anttracks::testing
