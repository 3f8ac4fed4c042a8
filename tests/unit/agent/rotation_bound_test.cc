// SPDX-License-Identifier: Apache-2.0
// A rotated trace that has no room, or no next file: what it has is not given away.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "agent/io/rotation/rotating_trace.h"
#include "tests/unit/agent/recorded.h"
#include "trace/format.h"
#include "trace/wire.h"

namespace anttracks::core {
namespace {

namespace fs = std::filesystem;

// A writer of a rotated trace whose collections are marks in the queue.
class Bounded {
 public:
  Bounded()
      : path_(TemporaryPath()),
        session_(vm_.vm(),
                 {.buffer_bytes = 1024, .queue_bytes = 16 << 10, .wait_limit = std::chrono::seconds(20)}) {
    auto made = io::RotatingTrace::Create(path_, core::IfExists::kRefuse, {1, 2, 3}, limits_);
    REQUIRE(made.ok());
    trace_ = std::move(*made);
    writer_ =
        std::make_unique<io::Writer>(session_, *trace_, io::WriterConfig{.compression = Compression::kOff});
    REQUIRE(writer_->Start("{}").ok());
    session_.Begin(trace::SyncReason::kStart);
    callbacks_ = MakeCallbacks(&session_);
  }
  // Objects of sites up to this one: each new one is a definition.
  void Allocate(uint32_t sites) {
    uint64_t at = vm_.heap();
    for (int i = 0; i < 500; i++) at = vm_.Put(at, FakeVm::kPoint, 16 + random_() % sites);
    callbacks_.tlab(&session_, reinterpret_cast<void*>(1), &slot_, vm_.heap(), at, 0);
  }
  // Whose sync point is not complete.
  void NextFile() { REQUIRE(session_.queue().PushMark(kNextFile)); }
  void End() {
    session_.Finish("end");
    REQUIRE(writer_->Wait(std::chrono::seconds(20)));
  }
  uint64_t BytesOnDisk() const {
    uint64_t sum = fs::file_size(path_);
    for (int i = 0; i < 20; i++) sum += fs::exists(path(i)) ? fs::file_size(path(i)) : 0;
    return sum;
  }
  Session& session() { return session_; }
  const std::string& definitions_path() const { return path_; }
  std::string path(int index) const { return path_ + "." + std::to_string(index); }
  const io::RotationLimits& limits() const { return limits_; }

 private:
  const io::RotationLimits limits_{256 << 10, 0.25};
  const std::string path_;
  FakeVm vm_;
  Session session_;
  std::unique_ptr<io::RotatingTrace> trace_;
  std::unique_ptr<io::Writer> writer_;
  AntTracksCallbacks callbacks_{};
  void* slot_ = nullptr;
  std::minstd_rand random_{7};
};

TEST_CASE("definitions do not take the file that has the heap while the one of the next file is not complete") {
  Bounded trace;
  for (int i = 0; i < 2000 && trace.session().output().stored_bytes < 100 << 10; i++) trace.Allocate(80);
  trace.NextFile();
  for (int i = 0; i < 2000 && trace.session().output().dropped_chunks == 0; i++) trace.Allocate(1 << 20);
  trace.End();
  CHECK(trace.session().failure().reason() == "");
  CHECK(trace.session().output().dropped_chunks > 0);
  CHECK(fs::exists(trace.path(0)));
  CHECK(fs::exists(trace.path(1)));
  CHECK(trace.BytesOnDisk() <= trace.limits().bound());
}

// Of the chunks of a file.
size_t LongestChunk(const std::string& path) {
  const std::string file = ReadFile(path);
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
  size_t longest = 0;
  for (size_t at = trace::kFileHeaderBytes; at + trace::kChunkHeaderBytes <= file.size();) {
    longest = std::max<size_t>(longest, trace::GetU32(bytes + at + trace::chunk_header::kRawLength));
    at += trace::kChunkHeaderBytes + trace::GetU32(bytes + at + trace::chunk_header::kStoredLength);
  }
  return longest;
}

TEST_CASE("definitions that wait for the next file get there in chunks as long as others") {
  Bounded trace;
  for (int i = 0; i < 2000 && trace.session().output().stored_bytes < 100 << 10; i++) trace.Allocate(80);
  trace.NextFile();
  for (int i = 0; i < 2000 && trace.session().output().dropped_chunks == 0; i++) trace.Allocate(80);
  for (int i = 0; i < 80; i++) trace.Allocate(1 << 20);
  trace.NextFile();
  trace.End();
  CHECK(trace.session().failure().reason() == "");
  const std::string path = trace.definitions_path();
  CHECK(fs::file_size(path) > 40 << 10);
  CHECK(LongestChunk(path) < 20 << 10);
}

TEST_CASE("the last words have the room that is kept for them, and take no file") {
  const std::string path = TemporaryPath();
  const io::RotationLimits limits{256 << 10, 0.25};
  auto made = io::RotatingTrace::Create(path, core::IfExists::kRefuse, {1, 2, 3}, limits);
  REQUIRE(made.ok());
  const std::vector<uint8_t> bytes(2000, 1);
  REQUIRE((*made)->NextFile().ok());
  while ((*made)->MakeRoom(100, 2)) REQUIRE((*made)->Write({bytes.data(), 100}).ok());
  REQUIRE((*made)->Write(bytes).ok());
  REQUIRE((*made)->WriteDefinitions({bytes.data(), 1900}).ok());
  CHECK(fs::exists(path + ".0"));
  CHECK(fs::file_size(path) + fs::file_size(path + ".0") + fs::file_size(path + ".1") <= limits.bound());
  CHECK_FALSE((*made)->WriteDefinitions(bytes).ok());
}

TEST_CASE(
    "what is said of a bound that is too small names what fills the files: the sync point, or the events "
    "beside it") {
  auto made = io::RotatingTrace::Create(TemporaryPath(), core::IfExists::kRefuse, {1, 2, 3}, {1 << 20, 0.25});
  REQUIRE(made.ok());
  const auto share = static_cast<double>((*made)->policy().share());
  const std::string large = (*made)->policy().TooSmall(share), small = (*made)->policy().TooSmall(share / 4);
  CHECK(large.find("a sync point of this heap takes about") != std::string::npos);
  CHECK(small.find("events fill one of") != std::string::npos);
  CHECK(small.find("takes about") == std::string::npos);
  CHECK((*made)->Close().ok());
}

TEST_CASE("a next data file that cannot be made costs none of the old ones") {
  const std::string path = TemporaryPath();
  auto made = io::RotatingTrace::Create(path, core::IfExists::kRefuse, {1, 2, 3}, {1 << 20, 0.25});
  REQUIRE(made.ok());
  for (int i = 0; i < 3; i++) REQUIRE((*made)->NextFile().ok());
  { std::ofstream(path + ".4") << "somebody else's"; }
  const trace::Status status = (*made)->NextFile();
  REQUIRE_FALSE(status.ok());
  CHECK(status.message().find(path + ".4") != std::string::npos);
  for (int i = 0; i < 4; i++) CHECK(fs::exists(path + "." + std::to_string(i)));
  CHECK(fs::file_size(path + ".4") == 15);
}

}  // namespace
}  // namespace anttracks::core
