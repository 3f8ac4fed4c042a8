// SPDX-License-Identifier: Apache-2.0
#include "trace/read_ahead.h"

#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <random>

#include "tests/unit/analyzer/small_trace.h"

namespace anttracks::testing {
namespace {

using Item = trace::ChunkSource::Item;

std::unique_ptr<trace::TraceReader> Open(const std::string& path) {
  auto reader = trace::TraceReader::Open({path});
  REQUIRE_MESSAGE(reader.ok(), reader.message());
  return std::move(*reader);
}

// All that a source says of what it returned last.
std::string Text(const trace::ChunkSource& source, Item item) {
  std::string text = std::to_string(source.position()) + " ";
  if (item == Item::kChunk) {
    const trace::Chunk& chunk = source.chunk();
    return text + std::to_string(chunk.type) + " " + std::to_string(chunk.offset) + " " +
           std::to_string(chunk.sequence) + " " + std::to_string(chunk.stored_bytes) + " " +
           std::string(chunk.payload.begin(), chunk.payload.end());
  }
  if (item == Item::kDamage) {
    const trace::Damage& damage = source.damage();
    return text + "damage " + std::to_string(damage.offset) + " " + std::to_string(damage.bytes) + " " +
           damage.what;
  }
  return text + (item == Item::kEnd ? "end" : "error " + source.error().message());
}

// Its first items, or all of them.
std::vector<std::string> Items(trace::ChunkSource& source, size_t most = SIZE_MAX) {
  std::vector<std::string> items;
  while (items.size() < most) {
    const Item item = source.Next();
    items.push_back(Text(source, item));
    if (item == Item::kEnd || item == Item::kError) break;
  }
  return items;
}

// Chunks of many sizes, every other one compressed.
std::string ManyChunks(size_t count) {
  TraceBuilder builder;
  std::mt19937 random(1);
  for (size_t i = 0; i < count; i++)
    builder.Chunk(2, std::string(random() % 50000, static_cast<char>('a' + i % 26)), i % 2);
  return builder.file();
}

TEST_CASE("what is read ahead is what is read when it is asked for, damage included") {
  std::string bytes = ManyChunks(60);
  for (size_t part = 1; part < 5; part++) bytes[bytes.size() * part / 5] ^= 1;
  bytes.resize(bytes.size() - 1);
  TempFile file(bytes);
  auto plain = Open(file.path());
  trace::ReadAhead ahead(Open(file.path()));
  const std::vector<std::string> items = Items(*plain);
  CHECK(items.size() > 55);
  CHECK(Items(ahead) == items);
  CHECK(ahead.Next() == Item::kEnd);
  CHECK(ahead.files()[0].truncated_bytes == plain->files()[0].truncated_bytes);
  CHECK(ahead.files()[0].truncated_bytes > 0);
}

TEST_CASE("what must not be read on is an error ahead, too, and stays one") {
  TraceBuilder builder;
  builder.Chunk(2, "fine").RawChunk(77, trace::kChunkMustUnderstand, "abc", 3).Chunk(2, "behind it");
  TempFile file(builder.file());
  auto plain = Open(file.path());
  trace::ReadAhead ahead(Open(file.path()));
  CHECK(Items(ahead) == Items(*plain));
  CHECK(ahead.Next() == Item::kError);
  CHECK(ahead.error().message() == plain->error().message());
}

TEST_CASE("reading ahead can begin again at any place, and need not come to an end") {
  TempFile file(ManyChunks(20));
  auto plain = Open(file.path());
  const std::vector<std::string> items = Items(*plain);
  trace::ReadAhead ahead(Open(file.path()));
  for (size_t most = 0; most <= items.size(); most++) {
    ahead.Rewind({});
    CHECK(ahead.position() == 64);
    CHECK(Items(ahead, most) ==
          std::vector<std::string>(items.begin(), items.begin() + static_cast<ptrdiff_t>(most)));
  }
  ahead.Rewind({false});
  CHECK(Items(ahead).size() == 1);
}

TEST_CASE("what was cut off of a file is known when the next one is read, not only at the end") {
  TraceBuilder definitions(trace::kDefinitionsFileIndex, 7, trace::kFileDefinitions),
      data(0, 7, trace::kFileData);
  definitions.Chunk(1, "meta").Chunk(2, "definitions");
  data.Chunk(1, "meta").Chunk(2, "events").Chunk(2, "more");
  TempFile file(definitions.file().substr(0, definitions.file().size() - 1));
  const std::string name = file.path() + ".0";
  { std::ofstream(name, std::ios::binary) << data.file(); }
  trace::ReadAhead ahead(Open(file.path()));
  std::filesystem::remove(name);
  REQUIRE(ahead.files().size() == 2);
  REQUIRE(ahead.Next() == Item::kChunk);
  CHECK(ahead.files()[0].truncated_bytes == 0);
  REQUIRE(ahead.Next() == Item::kChunk);
  CHECK(ahead.chunk().file == 1);
  CHECK(ahead.files()[0].truncated_bytes == 32 + 11 - 1);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// What a child that reads all ends with when its memory ends before or after it has begun; a thread can no more
// be had then.
int EndWithoutMemory(const std::string& path, bool begun) {
  const pid_t child = fork();
  if (child == 0) {
    trace::ReadAhead ahead(Open(path));
    if (begun && ahead.Next() != Item::kChunk) _exit(1);
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    malloc_trim(0);
    const rlimit limit{1, 1};
    setrlimit(RLIMIT_DATA, &limit);
    // What other tests have freed is not to be had either.
    void* volatile taken = nullptr;
    do {
      taken = std::malloc(size_t{512} << 10);
    } while (taken != nullptr);
    try {
      while (ahead.Next() == Item::kChunk) {
      }
      _exit(2);
    } catch (const std::bad_alloc&) {
      _exit(0);
    }
  }
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);
  REQUIRE(WIFEXITED(state));
  return WEXITSTATUS(state);
}

TEST_CASE("where memory ends while it reads ahead, who asks gets to know it") {
  TraceBuilder builder;
  for (int i = 0; i < 10; i++) builder.Chunk(2, "small");
  builder.Chunk(2, std::string(size_t{15} << 20, 'x'), 1);
  TempFile file(builder.file());
  CHECK(EndWithoutMemory(file.path(), false) == 0);
  CHECK(EndWithoutMemory(file.path(), true) == 0);
}
#endif

}  // namespace
}  // namespace anttracks::testing
