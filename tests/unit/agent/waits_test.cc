// SPDX-License-Identifier: Apache-2.0
// Disks that hang and disks that are slow but steady: how long each part of the host waits for them at most.
// The limits in here are an order of magnitude from what the waits would be without their budgets.
#include <doctest/doctest.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/unit/agent/recorded.h"
#include "trace/file_writer.h"

namespace anttracks::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kLong{20};
constexpr uint64_t kReportBytes = 2 << 20;

// Takes that long for every chunk of 4 KB, and longer than any test if it hangs.
struct SlowSink : io::Sink {
  explicit SlowSink(milliseconds takes) : each(takes) {}
  trace::Status Write(std::span<const uint8_t> bytes) override {
    std::this_thread::sleep_for(each.load());
    while (hangs) std::this_thread::sleep_for(milliseconds(1));
    return file == nullptr ? trace::Status() : file->Write(bytes);
  }
  trace::Status Close() override { return {}; }
  size_t chunk_bytes() const override { return 4 << 10; }
  std::atomic<milliseconds> each;
  std::atomic<bool> hangs{false};
  io::TraceFile* file = nullptr;
};

// A session that is recorded to a slow sink, and goes on at full speed at its end.
class Slow {
 public:
  Slow(SessionConfig config, milliseconds each) : sink_(each), path_(TemporaryPath()) {
    auto file = io::TraceFile::Create(path_, core::IfExists::kRefuse);
    REQUIRE(file.ok());
    file_ = std::move(*file);
    REQUIRE(file_->Write(trace::EncodeFileHeader({1, 2, 3, 0})).ok());
    sink_.file = file_.get();
    config.buffer_bytes = 1024;
    config.queue_bytes = 64 << 10;
    config.wait_limit = kLong;
    session_ = std::make_unique<Session>(vm.vm(), config);
    writer_ =
        std::make_unique<io::Writer>(*session_, sink_, io::WriterConfig{.compression = Compression::kOff});
    REQUIRE(writer_->Start("{}").ok());
    session_->Begin(trace::SyncReason::kStart);
    callbacks = MakeCallbacks(session_.get());
  }
  ~Slow() {
    Hurry();
    session_->Finish("test");
  }
  void Hurry() {
    sink_.each = milliseconds(0);
    sink_.hangs = false;
  }
  // Objects of many site-class pairs; four stretches, so that they are read at once.
  void Report(uintptr_t thread, void** slot) {
    uint64_t at = vm.heap();
    for (unsigned i = 0; i < kLanes; i++) {
      const uint64_t start = at, top = vm.heap() + (i + 1) * kReportBytes / kLanes;
      while (at < top) at = vm.Put(at, FakeVm::kPoint, 16 + random_() % 83);
      callbacks.tlab(&session(), reinterpret_cast<void*>(thread), slot, start, at, 0);
    }
  }
  ReadTrace End() {
    Hurry();
    session_->Finish("end");
    REQUIRE(writer_->Wait(kLong));
    return ReadTrace(path_);
  }
  Session& session() { return *session_; }
  SlowSink& sink() { return sink_; }
  io::Writer& writer() { return *writer_; }

  FakeVm vm{true, 1 << 20};
  AntTracksCallbacks callbacks{};

 private:
  SlowSink sink_;
  const std::string path_;
  std::unique_ptr<io::TraceFile> file_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<io::Writer> writer_;
  std::minstd_rand random_{7};
};

template <class Call>
steady_clock::duration Time(Call&& call) {
  const auto begin = steady_clock::now();
  call();
  return steady_clock::now() - begin;
}

TEST_CASE("who waits at the same time uses a budget once, and what is used is gone") {
  const WaitBudget::Time t{};
  WaitBudget budget(milliseconds(100));
  CHECK(budget.Begin(t) == t + milliseconds(100));
  CHECK(budget.Begin(t + milliseconds(30)) == t + milliseconds(100));
  budget.End(t + milliseconds(40));
  budget.End(t + milliseconds(50));
  CHECK(budget.Begin(t + milliseconds(60)) == t + milliseconds(110));
  budget.End(t + milliseconds(120));
  CHECK(budget.Begin(t + milliseconds(200)) < t + milliseconds(200));
  budget.End(t + milliseconds(200));
  budget.Refill(milliseconds(70));
  CHECK(budget.Begin(t + milliseconds(300)) == t + milliseconds(370));
}

TEST_CASE("a collection's pause waits for a slow disk once, however many events it has") {
  Slow slow({.pause_limit = milliseconds(100)}, milliseconds(20));
  std::minstd_rand random(3);
  AntTracksGC gc{};
  gc.cause = "test";
  const auto took = Time([&] {
    slow.callbacks.gc_begin(&slow.session(), &gc);
    std::vector<std::thread> workers;
    for (uint32_t worker = 0; worker < 2; worker++) {
      workers.emplace_back([&slow, worker, seed = random()] {
        std::minstd_rand addresses(static_cast<unsigned>(seed));
        for (int i = 0; i < 150'000; i++) {
          const AntTracksMove move{addresses() * uint64_t{8}, addresses() * uint64_t{8}, 3};
          slow.callbacks.moves(&slow.session(), worker, &move, 1);
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    slow.callbacks.gc_end(&slow.session(), &gc);
  });
  CHECK(took < seconds(5));
  CHECK(slow.session().queue().lost_segments() > 0);
  CHECK(slow.session().failure().active());
  const ReadTrace trace = slow.End();
  CHECK(trace.losses > 0);
  CHECK(trace.Count(trace::SegmentKind::kGcEnd) == 1);
}

TEST_CASE("a thread's report waits for a slow disk once, however many buffers it fills") {
  Slow slow({.report_limit = milliseconds(100)}, milliseconds(400));
  void* slot = nullptr;
  steady_clock::duration longest{};
  for (int i = 0; i < 4; i++) longest = std::max(longest, Time([&] { slow.Report(1, &slot); }));
  CHECK(longest < seconds(4));
  CHECK(slow.session().queue().waits() > 0);
  CHECK(slow.session().queue().lost_segments() > 0);
  CHECK(slow.End().losses > 0);
}

TEST_CASE(
    "a disk that pauses for longer than a report waits costs no event while there is room up to twice the "
    "bound") {
  Slow slow({.report_limit = milliseconds(50)}, milliseconds(0));
  slow.sink().hangs = true;
  void* slot = nullptr;
  uint64_t at = slow.vm.heap();
  size_t objects = 0;
  std::minstd_rand random(5);
  while (slow.session().queue().waits() < 3) {
    const uint64_t start = at;
    for (int i = 0; i < 200; i++, objects++) at = slow.vm.Put(at, FakeVm::kPoint, 16 + random() % 83);
    slow.callbacks.tlab(&slow.session(), reinterpret_cast<void*>(1), &slot, start, at, 0);
    if (at + 8192 > slow.vm.heap_end()) at = slow.vm.heap();
  }
  CHECK(slow.session().queue().lost_segments() == 0);
  const ReadTrace trace = slow.End();
  CHECK(trace.losses == 0);
  CHECK(trace.objects.size() == objects);
}

// The walk at the start over so many objects.
void SeeHeap(Slow& slow, size_t objects) {
  uint64_t at = slow.vm.heap();
  for (size_t i = 0; i < objects; i++) at = slow.vm.Put(at, FakeVm::kInts, 16 + i * 31 % 83, i * 7 % 3);
  const AntTracksSpace space{ANTTRACKS_SPACE_OLD, 0, slow.vm.heap(), at, slow.vm.heap_end()};
  slow.callbacks.sync_begin(&slow.session(), &space, 1);
  slow.callbacks.sync_end(&slow.session());
}

TEST_CASE(
    "the first sight of the heap waits for a disk that hangs once, and not at all with on-overflow=drop") {
  for (const WhenFull when_full : {WhenFull::kBlock, WhenFull::kDrop}) {
    CAPTURE(static_cast<int>(when_full));
    Slow slow({.when_full = when_full, .first_sync_point_limit = milliseconds(300)}, milliseconds(0));
    slow.sink().hangs = true;
    CHECK(Time([&] { SeeHeap(slow, 200'000); }) < seconds(10));
    CHECK_FALSE(slow.session().failure().active());
    CHECK(slow.session().failure().reason().find("queue=") != std::string::npos);
    CHECK((slow.session().queue().waits() == 0) == (when_full == WhenFull::kDrop));
    void* slot = nullptr;
    CHECK(Time([&] { slow.Report(1, &slot); }) < seconds(10));
    CHECK(slow.End().end_reason.find("tracing stopped") == 0);
  }
}

TEST_CASE("with on-overflow=drop the first sight of the heap may use twice the bound") {
  Slow slow({.when_full = WhenFull::kDrop}, milliseconds(0));
  slow.sink().hangs = true;
  SeeHeap(slow, 18'000);
  CHECK(slow.session().failure().active());
  CHECK(slow.session().queue().fill() > 1);
  CHECK(slow.End().sync_objects.size() == 18'000);
}

TEST_CASE("who waits for a disk that hangs goes on when tracing ends, with the VM or without") {
  for (const bool abandoned : {false, true}) {
    CAPTURE(abandoned);
    Slow slow({.report_limit = kLong}, milliseconds(0));
    slow.sink().hangs = true;
    void* slot = nullptr;
    std::thread thread([&] { slow.Report(1, &slot); });
    for (int i = 0; i < 20'000 && slow.session().queue().waits() == 0; i++)
      std::this_thread::sleep_for(milliseconds(1));
    REQUIRE(slow.session().queue().waits() > 0);
    const auto took = Time([&] {
      if (abandoned) {
        slow.session().Abandon("the process exited");
      } else {
        slow.session().PrepareStop();
      }
      thread.join();
    });
    CHECK(took < seconds(10));
  }
}

TEST_CASE("the wait for a disk that is slow but steady has an end, too") {
  Slow slow({.when_full = WhenFull::kDrop}, milliseconds(200));
  void* slot = nullptr;
  slow.Report(1, &slot);
  slow.session().Finish("end");
  bool ended = true;
  CHECK(Time([&] { ended = slow.writer().Wait(kLong, milliseconds(400)); }) < seconds(2));
  CHECK_FALSE(ended);
  slow.Hurry();
  CHECK(slow.writer().Wait(kLong));
}

}  // namespace
}  // namespace anttracks::core
