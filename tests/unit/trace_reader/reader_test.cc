// SPDX-License-Identifier: Apache-2.0
#include "trace/reader.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/analyzer/small_trace.h"
#include "trace/crc32c.h"
#include "trace/file_set.h"
#include "trace/file_writer.h"
#include "trace/object_runs.h"

namespace anttracks::testing {
namespace {

using Item = trace::TraceReader::Item;

std::unique_ptr<trace::TraceReader> Open(const std::vector<std::string>& paths) {
  auto reader = trace::TraceReader::Open(paths);
  REQUIRE_MESSAGE(reader.ok(), reader.message());
  return std::move(*reader);
}

std::string Text(const trace::TraceReader& reader) {
  const auto payload = reader.chunk().payload;
  return {payload.begin(), payload.end()};
}

// In a child that the system ends if it waits.
template <class Body>
bool NeverWaits(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    body();
    _exit(0);
  }
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);
  return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

TEST_CASE("the reader does not wait for the writer of a FIFO") {
  TempFile file("");
  std::filesystem::remove(file.path());
  REQUIRE(mkfifo(file.path().c_str(), 0600) == 0);
  REQUIRE(NeverWaits([&] { (void)trace::TraceReader::Open({file.path()}).ok(); }));
  const auto reader = trace::TraceReader::Open({file.path()});
  REQUIRE_FALSE(reader.ok());
  CHECK(reader.message() == file.path() + ": is a FIFO, no trace file");
}

TEST_CASE("the reader leaves out a FIFO with the name of a data file") {
  TraceBuilder definitions(trace::kDefinitionsFileIndex, 7, trace::kFileDefinitions),
      data(0, 7, trace::kFileData);
  definitions.Chunk(1, "meta");
  data.Chunk(1, "meta");
  TempFile file(definitions.file());
  const std::string names[] = {file.path() + ".0", file.path() + ".1", file.path() + ".0.origins"};
  { std::ofstream(names[0], std::ios::binary) << data.file(); }
  for (const std::string& fifo : {names[1], names[2]}) REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(NeverWaits([&] { (void)trace::TraceReader::Open({file.path()}).ok(); }));
  const auto set = trace::OpenFileSet({file.path()});
  for (const std::string& name : names) std::filesystem::remove(name);
  REQUIRE(set.ok());
  CHECK(set->files.size() == 2);
  CHECK(set->warnings == std::vector<std::string>{names[1] + ": is a FIFO, no trace file (file left out)",
                                                  names[2] + ": is a FIFO, no trace file (file left out)"});
}

TEST_CASE("the reader tells a device and a folder from a trace") {
  CHECK(trace::TraceReader::Open({"/dev/null"}).message() == "/dev/null: is a device, no trace file");
  CHECK(trace::TraceReader::Open({"/"}).message() == "/: is a folder, no trace file");
}

TEST_CASE("the reader gives plain and compressed chunks in order") {
  TraceBuilder b;
  b.Chunk(1, "first").Chunk(2, std::string(100000, 'x'), 1).Chunk(2, "");
  TempFile file(b.file());
  auto reader = Open({file.path()});
  REQUIRE(reader->Next() == Item::kChunk);
  CHECK(Text(*reader) == "first");
  CHECK(reader->chunk().offset == 64);
  REQUIRE(reader->Next() == Item::kChunk);
  CHECK(Text(*reader) == std::string(100000, 'x'));
  CHECK(reader->chunk().stored_bytes < 10000);
  CHECK(reader->chunk().sequence == 1);
  REQUIRE(reader->Next() == Item::kChunk);
  CHECK(reader->chunk().payload.empty());
  CHECK(reader->Next() == Item::kEnd);
  CHECK(reader->position() == reader->total_bytes());
  reader->Rewind();
  REQUIRE(reader->Next() == Item::kChunk);
  CHECK(Text(*reader) == "first");
}

TEST_CASE("the reader skips a damaged payload and searches behind a damaged header") {
  TraceBuilder b;
  b.Chunk(2, "aaaa").Chunk(2, "bbbb").Chunk(2, "cccc");
  for (size_t at : {size_t{64 + 36 + 33}, size_t{64 + 36 + 5}}) {
    std::string bad = b.file();
    bad[at] ^= 1;
    TempFile file(bad);
    auto reader = Open({file.path()});
    REQUIRE(reader->Next() == Item::kChunk);
    REQUIRE(reader->Next() == Item::kDamage);
    CHECK(reader->damage().offset == 64 + 36);
    CHECK(reader->damage().bytes == 36);
    REQUIRE(reader->Next() == Item::kChunk);
    CHECK(Text(*reader) == "cccc");
    CHECK(reader->Next() == Item::kEnd);
  }
}

TEST_CASE("the reader finds the next header beyond its search block") {
  TraceBuilder b;
  b.Chunk(2, "aaaa");
  std::string bytes = b.file();
  bytes += std::string((size_t{1} << 20) + 17, 'A');
  TraceBuilder rest;
  rest.set_sequence(1);
  rest.Chunk(2, "bbbb");
  bytes += rest.file().substr(64);
  TempFile file(bytes);
  auto reader = Open({file.path()});
  REQUIRE(reader->Next() == Item::kChunk);
  REQUIRE(reader->Next() == Item::kDamage);
  CHECK(reader->damage().bytes == (1 << 20) + 17);
  REQUIRE(reader->Next() == Item::kChunk);
  CHECK(Text(*reader) == "bbbb");
}

TEST_CASE("the reader finds a header wherever its search block ends") {
  TraceBuilder rest;
  rest.Chunk(2, "bbbb");
  for (size_t less = 20; less < 50; less++) {
    CAPTURE(less);
    TempFile file(TraceBuilder().file() + std::string((size_t{1} << 20) - less, 'A') + rest.file().substr(64));
    auto reader = Open({file.path()});
    REQUIRE(reader->Next() == Item::kDamage);
    CHECK(reader->damage().bytes == (size_t{1} << 20) - less);
    REQUIRE(reader->Next() == Item::kChunk);
    CHECK(Text(*reader) == "bbbb");
  }
}

TEST_CASE("the reader counts the bytes of a truncated last chunk") {
  TraceBuilder b;
  b.Chunk(2, "aaaa").Chunk(2, "bbbb");
  TempFile file(b.file().substr(0, b.file().size() - 1));
  auto reader = Open({file.path()});
  REQUIRE(reader->Next() == Item::kChunk);
  CHECK(reader->Next() == Item::kEnd);
  CHECK(reader->Next() == Item::kEnd);
  CHECK(reader->files()[0].truncated_bytes == 35);
  TempFile one_more(b.file() + "A");
  reader = Open({one_more.path()});
  for (int i = 0; i < 2; i++) REQUIRE(reader->Next() == Item::kChunk);
  CHECK(reader->Next() == Item::kEnd);
  CHECK(reader->files()[0].truncated_bytes == 1);
}

TEST_CASE("the reader refuses a file header that is longer than the file, or too short for what is in it") {
  for (const uint32_t bytes : {63u, 64u, 65u}) {
    std::string header = TraceBuilder().file();
    auto* const at = reinterpret_cast<uint8_t*>(header.data());
    trace::PutU32(at + trace::file_header::kSize, bytes);
    trace::PutU32(at + trace::file_header::kCrc, trace::Crc32c({at, trace::file_header::kCrc}));
    TempFile file(header);
    const auto reader = trace::TraceReader::Open({file.path()});
    CHECK(reader.ok() == (bytes == 64));
    if (!reader.ok())
      CHECK(reader.message() == file.path() + ": the file header gives an impossible size for itself");
  }
}

TEST_CASE("the reader takes no memory for columns that claim more than their chunk can hold") {
  // A part that is said to have a gigabyte, also by Snappy.
  const uint32_t claimed = 1u << 30;
  trace::ByteBuffer part, stored;
  part.Uv(claimed);
  part.U8(0);
  stored.U32(claimed);
  stored.U32(static_cast<uint32_t>(part.size()));
  stored.Append(part.span());
  for (int i = 0; i < 3; i++) stored.U64(0);
  TraceBuilder b;
  b.RawChunk(2, trace::kChunkSnappy | trace::kChunkColumns, {stored.span().begin(), stored.span().end()}, 100);
  TempFile file(b.file());
  auto reader = Open({file.path()});
  REQUIRE(reader->Next() == Item::kDamage);
  CHECK(reader->damage().what == "columns of a chunk have lengths that disagree");
}

// Snappy makes some texts neither longer nor shorter.
TEST_CASE("the reader gives columns that compress to their own length as they were") {
  trace::ChunkEncoder encoder;
  size_t same = 0;
  for (int random = 20; random < 80; random++) {
    for (int again = 4; again < 9; again++) {
      trace::ByteBuffer text, runs, payload;
      for (int i = 0; i < random; i++) text.U8(static_cast<uint8_t>(i * 37 + 11));
      for (int i = 0; i < again; i++) text.U8(static_cast<uint8_t>(i * 37 + 11));
      for (int i = 0; i < 40; i++) text.U8(static_cast<uint8_t>(i * 101 + 3));
      runs.Uv(1);
      runs.Uv(0);
      uint8_t room[2048];
      const std::vector<uint16_t> ids(500, trace::IdOf(5, false));
      runs.Append({room, trace::PutRun(room, {1000}, ids, {})});
      trace::AppendSegment(&payload, SegmentKind::kDefinitions, 0, text.span());
      trace::AppendSegment(&payload, SegmentKind::kAlloc, 1, runs.span());
      const auto chunk = encoder.Encode(trace::ChunkType::kData, 0, payload.span(), trace::Compressed::kYes);
      REQUIRE(chunk.ok());
      REQUIRE(trace::GetU16(chunk->data() + trace::chunk_header::kFlags) ==
              (trace::kChunkSnappy | trace::kChunkColumns));
      const uint8_t* const part = chunk->data() + trace::kChunkHeaderBytes;
      same += trace::GetU32(part) == trace::GetU32(part + 4);
      TempFile file(TraceBuilder().file() + std::string(chunk->begin(), chunk->end()));
      auto reader = Open({file.path()});
      REQUIRE(reader->Next() == Item::kChunk);
      CHECK(Text(*reader) == std::string(payload.span().begin(), payload.span().end()));
    }
  }
  CHECK(same != 0);
}

TEST_CASE("the reader refuses chunks that claim more than the limit") {
  TraceBuilder b;
  b.RawChunk(2, 1, "abc", (16u << 20) + 1).Chunk(2, "ok");
  TempFile file(b.file());
  auto reader = Open({file.path()});
  REQUIRE(reader->Next() == Item::kDamage);
  CHECK(reader->damage().what == "chunk is larger than 16 MiB");
  REQUIRE(reader->Next() == Item::kChunk);
  CHECK(Text(*reader) == "ok");
}

TEST_CASE("the reader refuses compressed chunks whose lengths disagree") {
  std::string stored;
  snappy::Compress("hello", 5, &stored);
  TraceBuilder b;
  b.RawChunk(2, 1, stored, 6).RawChunk(2, 0, "abc", 4).RawChunk(2, 1, "\x05zzz", 5);
  TempFile file(b.file());
  auto reader = Open({file.path()});
  for (int i = 0; i < 3; i++) CHECK(reader->Next() == Item::kDamage);
  CHECK(reader->Next() == Item::kEnd);
}

TEST_CASE("the reader stops at a chunk that must be understood and is not") {
  TraceBuilder b;
  b.Chunk(77, "skip").Chunk(78, "must", 1u << 15).Chunk(2, "rest");
  TempFile file(b.file());
  auto reader = Open({file.path()});
  REQUIRE(reader->Next() == Item::kChunk);
  CHECK(reader->chunk().type == 77);
  CHECK(reader->Next() == Item::kError);
  CHECK(reader->error().message().find("type 78") != std::string::npos);
  CHECK(reader->Next() == Item::kError);
}

TEST_CASE("the reader reads the definitions file first, and data files by their index") {
  TraceBuilder definitions(0xFFFFFFFF, 1, trace::kFileDefinitions), first(0, 1, trace::kFileData),
      second(1, 1, trace::kFileData);
  definitions.Chunk(2, "definitions");
  first.Chunk(2, "one");
  second.set_sequence(1);
  second.Chunk(2, "two");
  TempFile a(second.file()), b(first.file()), c(definitions.file());
  auto reader = Open({a.path(), b.path(), c.path()});
  uint32_t number = 0;
  for (const char* text : {"definitions", "one", "two"}) {
    REQUIRE(reader->Next() == Item::kChunk);
    CHECK(Text(*reader) == text);
    CHECK(reader->chunk().file == number++);
  }
  CHECK(reader->Next() == Item::kEnd);
  CHECK(reader->position() == reader->total_bytes());
}

TEST_CASE("the reader refuses files that are not one trace") {
  const auto message = [](const std::string& a, const std::string& b) {
    TempFile definitions(TraceBuilder(0xFFFFFFFF, 1, trace::kFileDefinitions).file()), x(a), y(b);
    return trace::TraceReader::Open({definitions.path(), x.path(), y.path()}).message();
  };
  const std::string data = TraceBuilder(0, 1, trace::kFileData).file();
  CHECK(message(data, TraceBuilder(1, 2, trace::kFileData).file()).find("another trace") != std::string::npos);
  CHECK(message(data, data).find("same place") != std::string::npos);
  CHECK(message(data, TraceBuilder(0, 1).file()).find("a whole trace by itself") != std::string::npos);
}

TEST_CASE("the reader refuses another major version and a later minor one, and reads earlier minor ones") {
  const auto message = [](int major, int minor) {
    std::string bytes = TraceBuilder().file();
    bytes[8] = static_cast<char>(major);
    bytes[10] = static_cast<char>(minor);
    trace::PutU32(reinterpret_cast<uint8_t*>(bytes.data()) + 60,
                  trace::Crc32c({reinterpret_cast<const uint8_t*>(bytes.data()), 60}));
    TempFile file(bytes);
    return trace::TraceReader::Open({file.path()}).message();
  };
  const std::string reads = ", this anttracks reads 2.0 to 2." + std::to_string(trace::kMinorVersion) +
                            "; use the anttracks that came";
  CHECK(message(1, 0).find(": trace format 1.0" + reads) != std::string::npos);
  CHECK(message(3, 0).find(": trace format 3.0" + reads) != std::string::npos);
  for (int minor = 0; minor <= trace::kMinorVersion; minor++) CHECK(message(2, minor).empty());
  const int later = trace::kMinorVersion + 1;
  CHECK(message(2, later).find(": trace format 2." + std::to_string(later) + reads) != std::string::npos);
}

}  // namespace
}  // namespace anttracks::testing
