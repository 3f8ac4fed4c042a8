// SPDX-License-Identifier: Apache-2.0
// Full disks, slow disks, files that may not be made: the application's threads never notice.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "tests/unit/agent/recorded.h"
#include "trace/file_writer.h"

namespace anttracks::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<uint8_t> Some(size_t n) { return std::vector<uint8_t>(n, 7); }

// Keeps what it gets; fails or waits when told to.
class TestSink : public io::Sink {
 public:
  trace::Status Write(std::span<const uint8_t> bytes) override {
    while (blocked.load()) std::this_thread::sleep_for(milliseconds(1));
    if (writes++ >= fail_after) return trace::Status::Error("cannot write: no space");
    total += bytes.size();
    return {};
  }
  trace::Status Close() override {
    closed = true;
    return {};
  }
  std::atomic<bool> blocked{false};
  int fail_after = 1 << 30;
  int writes = 0;
  size_t total = 0;
  bool closed = false;
};

TEST_CASE("an existing file is refused unless it may be replaced") {
  const std::string path = TemporaryPath();
  { std::ofstream(path) << "ANTTRACK"; }
  const auto refused = io::TraceFile::Create(path, core::IfExists::kRefuse);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.message().find(path) != std::string::npos);
  CHECK(refused.message().find("overwrite=yes") != std::string::npos);
  CHECK(std::filesystem::file_size(path) == 8);
  CHECK(io::TraceFile::Create(path, core::IfExists::kReplace).ok());
  CHECK(std::filesystem::file_size(path) == 0);
}

TEST_CASE("a folder that is missing is named, with a remedy") {
  const auto file = io::TraceFile::Create("/nonexistent/folder/x.trace", core::IfExists::kRefuse);
  REQUIRE_FALSE(file.ok());
  CHECK(file.message().find("/nonexistent/folder/x.trace") != std::string::npos);
  CHECK(file.message().find("file=") != std::string::npos);
}

TEST_CASE("a full device is an error that says so") {
  const auto file = io::TraceFile::Create("/dev/full", core::IfExists::kReplace);
  REQUIRE(file.ok());
  const trace::Status status = (*file.value()).Write(Some(100));
  REQUIRE_FALSE(status.ok());
  CHECK(status.message().find("No space left") != std::string::npos);
  CHECK(status.message().find("free space") != std::string::npos);
}

TEST_CASE("a trace that never began leaves no file, somebody else's stays") {
  const std::string path = TemporaryPath();
  {
    auto file = io::TraceFile::Create(path, core::IfExists::kRefuse);
    REQUIRE(file.ok());
    (*file)->Remove();
  }
  CHECK_FALSE(std::filesystem::exists(path));
  auto file = io::TraceFile::Create(path, core::IfExists::kRefuse);
  REQUIRE(file.ok());
  std::filesystem::remove(path);
  { std::ofstream(path) << "another"; }
  (*file)->Remove();
  CHECK(std::filesystem::exists(path));
}

TEST_CASE("after a write error tracing is off, threads do not wait, memory stays bounded") {
  FakeVm vm;
  Session session(vm.vm(), {.buffer_bytes = 1024, .queue_bytes = 64 << 10, .wait_limit = seconds(20)});
  TestSink sink;
  sink.fail_after = 3;
  io::Writer writer(session, sink, {.compression = Compression::kOff});
  REQUIRE(writer.Start("{}").ok());
  session.Begin(trace::SyncReason::kStart);
  const AntTracksCallbacks callbacks = MakeCallbacks(&session);
  void* slot = nullptr;
  std::minstd_rand random(7);
  const uint64_t begin = Clock::Monotonic();
  for (int round = 0; round < 3000; round++) {
    uint64_t at = vm.heap();
    for (int i = 0; i < 500; i++) {
      at = vm.Put(at, FakeVm::kPoint, 16 + random() % 83);
    }
    callbacks.tlab(&session, reinterpret_cast<void*>(1), &slot, vm.heap(), at, 0);
  }
  CHECK(session.failure().failed());
  CHECK_FALSE(session.failure().active());
  CHECK(Clock::Monotonic() - begin < 15'000'000'000u);
  callbacks.thread_exit(&session, reinterpret_cast<void*>(1), &slot);
  CHECK(slot == nullptr);
  session.Finish("end");
  CHECK(writer.Wait(seconds(5)));
  CHECK(sink.writes == 4);  // nothing is tried again
  CHECK(sink.closed);
  CHECK(session.failure().reason() == "cannot write: no space");
}

TEST_CASE("a writer that hangs costs events, not the application, and the file says what is missing") {
  FakeVm vm;
  const std::string path = TemporaryPath();
  auto file = io::TraceFile::Create(path, core::IfExists::kRefuse);
  REQUIRE(file.ok());
  struct Slow : TestSink {
    io::TraceFile* file = nullptr;
    trace::Status Write(std::span<const uint8_t> bytes) override {
      const trace::Status status = TestSink::Write(bytes);
      return status.ok() ? file->Write(bytes) : status;
    }
  } slow;
  slow.file = file->get();
  REQUIRE(slow.file->Write(trace::EncodeFileHeader({1, 2, 3, 0})).ok());
  Session session(vm.vm(), {.buffer_bytes = 1024, .queue_bytes = 64 << 10, .wait_limit = milliseconds(50)});
  io::Writer writer(session, slow, {});
  REQUIRE(writer.Start("{}").ok());
  session.Begin(trace::SyncReason::kStart);
  const AntTracksCallbacks callbacks = MakeCallbacks(&session);
  void* slots[2] = {};
  std::minstd_rand random(7);
  const auto allocate = [&](uint32_t rounds) {
    for (uint32_t round = 0; round < rounds; round++) {
      uint64_t at = vm.heap();
      for (int i = 0; i < 500; i++) at = vm.Put(at, FakeVm::kPoint, 16 + random() % 83);
      callbacks.tlab(&session, reinterpret_cast<void*>(1), &slots[0], vm.heap(), at, 0);
      if (round % 16 == 0) {
        callbacks.tlab(&session, reinterpret_cast<void*>(2), &slots[1], vm.heap(), vm.heap() + 24, 0);
      }
    }
  };
  slow.blocked = true;
  const uint64_t begin = Clock::Monotonic();
  allocate(2000);
  AntTracksGC gc{};
  gc.cause = "test";
  callbacks.gc_begin(&session, &gc);
  callbacks.gc_end(&session, &gc);
  CHECK(Clock::Monotonic() - begin < 10'000'000'000u);
  CHECK(session.queue().lost_segments() > 0);
  CHECK(session.failure().active());
  slow.blocked = false;
  std::this_thread::sleep_for(milliseconds(200));
  allocate(20);
  session.Finish("end");
  REQUIRE(writer.Wait(seconds(20)));
  const ReadTrace trace(path);  // throws if a stream goes on without its state
  CHECK(trace.losses >= 1);
  CHECK(trace.Count(trace::SegmentKind::kGcBegin) == 1);
  CHECK(trace.Count(trace::SegmentKind::kGcEnd) == 1);
  CHECK(trace.end_reason == "end");
}

TEST_CASE("waiting for a writer that hangs has an end") {
  FakeVm vm;
  Session session(vm.vm(), {});
  TestSink sink;
  sink.blocked = true;
  io::Writer writer(session, sink, {});
  REQUIRE(writer.Start("{}").ok());
  session.Begin(trace::SyncReason::kStart);
  session.Finish("end");
  CHECK_FALSE(writer.Wait(milliseconds(50)));
  sink.blocked = false;
  CHECK(writer.Wait(seconds(20)));
}

TEST_CASE("what was recorded reaches the file soon, also without an end") {
  FakeVm vm;
  Recording recording(vm);
  AntTracksGC gc{};
  gc.cause = "test";
  void* slot = nullptr;
  recording.Tlab(1, &slot, vm.heap(), vm.Put(vm.heap(), FakeVm::kPoint, 16));
  recording.callbacks().gc_begin(recording.context(), &gc);
  recording.callbacks().gc_end(recording.context(), &gc);
  for (int i = 0; i < 500; i++) {
    if (ReadTrace(recording.path()).Count(trace::SegmentKind::kGcEnd) == 1) break;
    std::this_thread::sleep_for(milliseconds(10));
  }
  const ReadTrace trace(recording.path());
  CHECK(trace.objects.size() == 1);
  CHECK(trace.end_reason.empty());
}

}  // namespace
}  // namespace anttracks::core
