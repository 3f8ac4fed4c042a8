// SPDX-License-Identifier: Apache-2.0
#include "agent/io/compressors.h"

#include <doctest/doctest.h>
#include <errno.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "trace/file_writer.h"

namespace anttracks::io {
namespace {

using core::Compression;
using trace::ByteBuffer;
using trace::ChunkType;
using Bytes = std::vector<uint8_t>;

// Differs by seed, compresses to about a third.
ByteBuffer Payload(unsigned seed, size_t bytes = 100'000) {
  std::minstd_rand random(seed + 1);
  ByteBuffer payload;
  while (payload.size() < bytes) {
    const uint8_t value = static_cast<uint8_t>(random());
    for (int i = 0; i < 4; i++) payload.U8(value);
    payload.U32(0);
  }
  return payload;
}

Bytes Copy(std::span<const uint8_t> bytes) { return Bytes(bytes.begin(), bytes.end()); }

// Its threads wait before they look for work, until the test lets them.
std::atomic<bool> held{false};
struct Start {
  void* (*main)(void*);
  void* argument;
};
void* HeldMain(void* data) {
  const std::unique_ptr<Start> start(static_cast<Start*>(data));
  while (held.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return start->main(start->argument);
}
int CreateHeld(pthread_t* thread, const pthread_attr_t* attributes, void* (*main)(void*), void* argument) {
  return pthread_create(thread, attributes, &HeldMain, new Start{main, argument});
}

std::atomic<int> attempts{0};
int CreateNone(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) {
  attempts++;
  return EAGAIN;
}
int CreateOne(pthread_t* thread, const pthread_attr_t* attributes, void* (*main)(void*), void* argument) {
  return attempts++ == 0 ? CreateHeld(thread, attributes, main, argument) : EAGAIN;
}

struct Pool {
  Pool(unsigned threads, Compression policy, double threshold = 0.2,
       Compressors::CreateThread create = &pthread_create)
      : compressors(threads, policy, threshold, core::Wakeup::kNeverPreempts, create) {}

  void Submit(unsigned number, double fill = 0) {
    compressors.Submit(ChunkType::kData, Payload(number), number, fill);
  }
  // Waits. True: compressed.
  bool Next() {
    const Encoded* chunk = compressors.Front(Pending::kAwait);
    REQUIRE(chunk != nullptr);
    REQUIRE(chunk->status.ok());
    const bool compressed = chunk->compressed;
    CHECK(compressed == ((chunk->bytes[6] & 1) != 0));
    CHECK((chunk->bytes.size() < 60'000) == compressed);
    compressors.PopFront();
    return compressed;
  }
  Compressors compressors;
};

TEST_CASE("chunks come out in order and as ChunkEncoder makes them, also from many threads") {
  Compressors compressors(8, Compression::kFull, 0.2);
  trace::NumberedChunks expected(trace::Compressed::kYes), expected_raw(trace::Compressed::kNo);
  std::minstd_rand random(1);
  uint64_t popped = 0, compressed = 0;
  const auto pop = [&](bool wait) {
    const Encoded* chunk = compressors.Front(wait ? Pending::kAwait : Pending::kLeave);
    if (chunk == nullptr) return false;
    REQUIRE(chunk->status.ok());
    REQUIRE(chunk->sequence == popped);
    const unsigned seed = static_cast<unsigned>(popped++);
    const ByteBuffer payload = Payload(seed, size_t{1000} * (seed % 50));
    REQUIRE(chunk->type == (seed % 7 == 0 ? ChunkType::kMeta : ChunkType::kData));
    REQUIRE(chunk->raw_bytes == payload.size());
    const Bytes with = Copy(*expected.Encode(chunk->type, payload.span()));
    const Bytes without = Copy(*expected_raw.Encode(chunk->type, payload.span()));
    REQUIRE(Copy(chunk->bytes) == (chunk->compressed ? with : without));
    compressed += chunk->compressed;
    compressors.PopFront();
    return true;
  };
  constexpr unsigned kChunks = 1500;
  for (unsigned seed = 0; seed < kChunks; seed++) {
    while (compressors.full()) pop(true);
    ByteBuffer payload = Payload(seed, size_t{1000} * (seed % 50));
    compressors.Submit(seed % 7 == 0 ? ChunkType::kMeta : ChunkType::kData, std::move(payload), seed, 0);
    if (random() % 3 == 0) pop(false);
  }
  while (compressors.in_flight() != 0) REQUIRE(pop(true));
  CHECK_FALSE(pop(true));
  CHECK(popped == kChunks);
  CHECK(compressed > 0);
  const CompressorCounts& counts = compressors.counts();
  CHECK(counts.compressed == compressed);
  CHECK(counts.stored_raw == kChunks - compressed);
  CHECK(counts.cpu_ns > 0);
}

TEST_CASE("compress=off compresses nothing and starts no thread") {
  Pool pool(2, Compression::kOff);
  for (unsigned i = 0; i < 5; i++) pool.Submit(i, 1.0);
  for (unsigned i = 0; i < 5; i++) CHECK_FALSE(pool.Next());
  CHECK(pool.compressors.started_threads() == 0);
  CHECK(pool.compressors.counts().stored_raw == 5);
  CHECK(pool.compressors.counts().cpu_ns == 0);
  CHECK(pool.compressors.counts().raw_bytes == 500'000);
  CHECK(pool.compressors.counts().stored_bytes == 500'160);
}

TEST_CASE("compress=partial compresses above the threshold only") {
  Pool pool(2, Compression::kPartial, 0.2);
  for (const double fill : {0.0, 0.2, 0.21, 1.5, 0.1}) {
    CAPTURE(fill);
    pool.Submit(1, fill);
    CHECK(pool.Next() == (fill > 0.2));
  }
  CHECK(pool.compressors.counts().compressed == 2);
}

TEST_CASE(
    "compress=full: while the queue is not half full, the caller compresses what compressors are too busy "
    "for") {
  held = true;
  Pool pool(2, Compression::kFull, 0.2, &CreateHeld);
  for (unsigned i = 0; i < 4; i++) pool.Submit(i, 0.5);
  pool.Submit(4, 0.51);
  CHECK(pool.compressors.started_threads() == 2);
  held = false;
  for (unsigned i = 0; i < 4; i++) CHECK(pool.Next());
  CHECK_FALSE(pool.Next());
}

TEST_CASE(
    "compress=full with a queue that fills up compresses as many chunks as there are compressors, the others "
    "are stored raw") {
  held = true;
  Pool pool(2, Compression::kFull, 0.2, &CreateHeld);
  for (unsigned i = 0; i < 5; i++) pool.Submit(i, 0.6);
  CHECK(pool.compressors.started_threads() == 2);
  CHECK(pool.compressors.Front(Pending::kLeave) == nullptr);  // the oldest is not done; those behind it wait
  CHECK(pool.compressors.in_flight() == 5);
  CHECK_FALSE(pool.compressors.full());
  pool.Submit(5, 0.6);
  CHECK(pool.compressors.full());
  held = false;
  CHECK(pool.Next());
  CHECK(pool.Next());
  for (unsigned i = 2; i < 6; i++) CHECK_FALSE(pool.Next());
  pool.Submit(6, 0.6);
  CHECK(pool.Next());
  CHECK(pool.compressors.started_threads() == 2);
}

TEST_CASE("no more threads are started than are needed") {
  Pool pool(8, Compression::kFull);
  CHECK(pool.compressors.started_threads() == 0);
  for (unsigned i = 0; i < 20; i++) {
    pool.Submit(i);
    CHECK(pool.Next());
  }
  CHECK(pool.compressors.started_threads() == 1);
}

TEST_CASE("without threads the caller compresses") {
  attempts = 0;
  Pool pool(4, Compression::kFull, 0.2, &CreateNone);
  for (unsigned i = 0; i < 3; i++) pool.Submit(i);
  for (unsigned i = 0; i < 3; i++) {
    CHECK(pool.compressors.Front(Pending::kLeave) != nullptr);
    CHECK(pool.Next());
  }
  CHECK(attempts == 1);  // not tried for every chunk
  CHECK(pool.compressors.counts().cpu_ns > 0);
}

TEST_CASE("when one thread of several can be started, that one does it") {
  attempts = 0;
  held = true;
  Pool pool(4, Compression::kFull, 0.2, &CreateOne);
  for (unsigned i = 0; i < 3; i++) pool.Submit(i, 0.6);
  CHECK(attempts == 2);
  CHECK(pool.compressors.started_threads() == 1);
  held = false;
  CHECK(pool.Next());        // by the thread
  CHECK(pool.Next());        // by the caller, when the second one could not be started
  CHECK_FALSE(pool.Next());  // from then on there is one compressor, and it was busy
}

TEST_CASE("a chunk over the limit of the format is an error at its place") {
  Pool pool(2, Compression::kFull);
  pool.Submit(0);
  ByteBuffer large;
  large.Resize(trace::kMaxChunkRawBytes + 1);
  pool.compressors.Submit(ChunkType::kData, std::move(large), 1, 0);
  pool.Submit(2);
  CHECK(pool.compressors.Front(Pending::kAwait)->status.ok());
  pool.compressors.PopFront();
  const Encoded* refused = pool.compressors.Front(Pending::kAwait);
  CHECK_FALSE(refused->status.ok());
  CHECK(refused->bytes.empty());
  CHECK(refused->sequence == 1);
  pool.compressors.PopFront();
  CHECK(pool.compressors.Front(Pending::kAwait)->status.ok());
  CHECK(pool.compressors.counts().raw_bytes == 200'000);
}

TEST_CASE("the payload's memory comes back") {
  Pool pool(1, Compression::kFull);
  ByteBuffer payload = Payload(0);
  const uint8_t* const first = payload.data();
  pool.compressors.Submit(ChunkType::kData, std::move(payload), 0, 0);
  CHECK(payload.empty());  // NOLINT(bugprone-use-after-move): Submit swaps
  CHECK(pool.Next());
  payload = Payload(1);
  pool.compressors.Submit(ChunkType::kData, std::move(payload), 1, 0);
  CHECK(payload.empty());  // NOLINT(bugprone-use-after-move): Submit swaps
  CHECK(payload.capacity() >= 100'000);
  CHECK(payload.data() == first);
  CHECK(pool.Next());
}

TEST_CASE("chunks that nobody takes do not keep the compressors from ending") {
  held = true;
  std::thread release;
  {
    Pool pool(3, Compression::kFull, 0.2, &CreateHeld);
    for (unsigned i = 0; i < 5; i++) pool.Submit(i);
    release = std::thread([] { held = false; });
  }
  release.join();
  CHECK_FALSE(held.load());
}

// Of this process, by name: the signals that each blocks, as the system shows them.
std::vector<std::string> BlockedSignals(const std::string& name) {
  std::vector<std::string> masks;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string line, mask;
    bool found = false;
    while (std::getline(status, line)) {
      if (line == "Name:\t" + name) found = true;
      if (line.starts_with("SigBlk:\t")) mask = line.substr(8);
    }
    if (found) masks.push_back(mask);
  }
  return masks;
}

// A thread that was joined may be listed a moment longer.
void WaitUntilNoneIsListed() {
  for (int i = 0; i < 5000 && !BlockedSignals("anttracks-zip").empty(); i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(BlockedSignals("anttracks-zip").empty());
}

TEST_CASE("compressors have a name, block all signals, and leave the caller's alone") {
  WaitUntilNoneIsListed();
  sigset_t none, before, after;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, &before);
  {
    Pool pool(1, Compression::kFull);
    pool.Submit(0);
    CHECK(pool.Next());
    pthread_sigmask(SIG_SETMASK, &before, &after);
    for (int signal = 1; signal < 32; signal++) CHECK(sigismember(&after, signal) == 0);
    const std::vector<std::string> masks = BlockedSignals("anttracks-zip");
    REQUIRE(masks.size() == 1);
    // All but KILL, STOP and the two that belong to the C library.
    CHECK((std::stoull(masks[0], nullptr, 16) | 1u << 8 | 1u << 18 | 3ull << 31) == ~0ull);
  }
  WaitUntilNoneIsListed();
}

}  // namespace
}  // namespace anttracks::io
