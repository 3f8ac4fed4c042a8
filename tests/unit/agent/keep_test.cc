// SPDX-License-Identifier: Apache-2.0
// A rotated trace that folds its data files: with a script in the place of anttracks, good and bad ones.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "agent/base/log.h"
#include "agent/io/rotation/fold_process.h"
#include "agent/io/rotation/rotating_trace.h"
#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

namespace fs = std::filesystem;

// $3 is --max-bytes=N, $4 the data file, $5 --as-child=BYTES; $out the file to write, $out$tmp before it is
// whole. A line a call goes to the file `calls`.
constexpr char kHead[] = R"sh(#!/bin/sh
echo "$@" >>"${0%/*}/calls"
n=${3#--max-bytes=}
index=${4##*.}
out=${4%.*}.$((index + 1)).origins
tmp=.tmp-0123456789abcdef
)sh";
constexpr char kGood[] = "head -c $n /dev/zero >$out$tmp && mv $out$tmp $out\n";
constexpr char kFails[] = "head -c 100 /dev/zero >$out$tmp; echo no luck today >&2; exit 1\n";
constexpr char kDies[] = "head -c 100 /dev/zero >$out$tmp; kill -9 $$\n";
constexpr char kLies[] = "exit 0\n";
// Its file is made by the shell itself: no other process may make it once the shell has been killed.
constexpr char kNeverEnds[] = ": >$out$tmp; echo $$ >>${0%/*}/pids; exec sleep 1000\n";
constexpr char kWaits[] =
    "echo $$ >>${0%/*}/pids; while [ ! -e ${0%/*}/go ]; do sleep 0.01; done; head -c $n /dev/zero >$out$tmp && "
    "mv $out$tmp $out\n";

const std::string kUnfinished = ".tmp-0123456789abcdef";

std::string WriteScript(const std::string& folder, const std::string& body) {
  fs::create_directory(folder);
  const std::string path = folder + "/anttracks";
  std::ofstream(path) << kHead << body;
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// A rotated trace of four files that is written on at will.
class Trace {
 public:
  explicit Trace(const std::string& script, const std::string& program = {})
      : path_(TemporaryPath()), folder_(path_ + "-program") {
    const std::string made = WriteScript(folder_, script);
    limits_.fold_program = program.empty() ? made : program;
    SetLogLevel(LogLevel::kError);
    auto created = io::RotatingTrace::Create(path_, core::IfExists::kRefuse, {1, 2, 3}, limits_);
    REQUIRE(created.ok());
    trace_ = std::move(*created);
    trace_->HeapKnown(12345);
  }
  ~Trace() { SetLogLevel(LogLevel::kWarn); }

  io::RotatingTrace& operator*() { return *trace_; }
  io::RotatingTrace* operator->() { return trace_.get(); }
  const io::RotationLimits& limits() const { return limits_; }
  std::string path(int index, const std::string& suffix = {}) const {
    return path_ + "." + std::to_string(index) + suffix;
  }
  std::vector<std::string> lines(const std::string& name) const { return Lines(folder_ + "/" + name); }

  // The files' sizes. One that is renamed in between counts once, one that vanishes counts not.
  uint64_t BytesOnDisk() const {
    std::map<std::string, uint64_t> sizes;
    for (const auto& entry : fs::directory_iterator(fs::path(path_).parent_path())) {
      std::string name = entry.path().string();
      std::error_code error;
      const uint64_t size = entry.is_regular_file(error) ? fs::file_size(name, error) : 0;
      if (error || (name != path_ && name.rfind(path_ + ".", 0) != 0)) continue;
      if (name.ends_with(kUnfinished)) name.resize(name.size() - kUnfinished.size());
      sizes[name] = std::max(sizes[name], size);
    }
    uint64_t sum = 0;
    for (const auto& [name, size] : sizes) sum += size;
    return sum;
  }
  // Indexes in the names that end so.
  std::vector<int> Indexes(const std::string& suffix) const {
    std::vector<int> found;
    for (int i = 0; i < 200; i++) {
      if (fs::exists(path(i, suffix))) found.push_back(i);
    }
    return found;
  }

  // Fills the current file to its share and begins the next one with a sync point.
  void NextFile() {
    const std::vector<uint8_t> bytes(1000, 1);
    while (!trace_->policy().IsFull()) {
      REQUIRE(trace_->MakeRoom(bytes.size(), 1));
      REQUIRE(trace_->Write(bytes).ok());
      trace_->Poll();
      REQUIRE(BytesOnDisk() <= limits_.bound());
    }
    REQUIRE(trace_->NextFile().ok());
    trace_->SyncPointComplete();
  }
  void PollUntil(const std::function<bool()>& done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done()) {
      REQUIRE(std::chrono::steady_clock::now() < limit);
      trace_->Poll();
      REQUIRE(BytesOnDisk() <= limits_.bound());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // The current file leaves no share of the size that was asked for.
  bool NearlyWhole() { return trace_->policy().current().bytes + trace_->policy().share() > limits_.max_bytes; }
  // What kWaits waits for.
  void LetGo() const { std::ofstream(folder_ + "/go").close(); }
  uint64_t tried() const { return trace_->folds().folded + trace_->folds().unfolded; }

 private:
  const std::string path_, folder_;
  io::RotationLimits limits_{1 << 20, 0.25, {}};
  std::unique_ptr<io::RotatingTrace> trace_;
};

TEST_CASE(
    "with keep each data file is folded into the next one, and the bound holds with provenance files of any "
    "size") {
  Trace trace(kGood);
  for (uint64_t i = 1; i <= 12; i++) {
    trace.NextFile();
    trace.PollUntil([&] { return trace->folds().folded == i; });
    // Provenance files go with their data files.
    const std::vector<int> data = trace.Indexes("");
    std::vector<int> provenance = trace.Indexes(".origins");
    REQUIRE(!provenance.empty());
    CHECK(provenance.back() == data.back());
    CHECK(provenance.front() == std::max(data.front(), 1));
    CHECK(provenance.size() == static_cast<size_t>(provenance.back() - provenance.front() + 1));
  }
  CHECK(trace.Indexes("").front() > 5);
  CHECK(trace->folds().unfolded == 0);
  CHECK(trace->folds().cpu_ns > 0);
  CHECK(trace.Indexes(".origins" + kUnfinished).empty());
  REQUIRE(trace->Close().ok());
  const std::vector<std::string> calls = trace.lines("calls");
  REQUIRE(calls.size() == 12);
  for (int i = 0; i < 12; i++) {
    const std::string& call = calls[static_cast<size_t>(i)];
    CAPTURE(call);
    CHECK(call.rfind("fold -f --max-bytes=", 0) == 0);
    const size_t child = call.find(" --as-child=");
    REQUIRE(child != std::string::npos);
    CHECK(call.substr(0, child).ends_with(" " + trace.path(i)));
    CHECK(call.substr(child) == " --as-child=" + std::to_string((256 << 20) + 12345));
  }
}

TEST_CASE("a file that took nearly all of the bound goes when the next one begins, unfolded") {
  Trace trace(kGood);
  const std::vector<uint8_t> bytes(1000, 1);
  while (!trace.NearlyWhole()) REQUIRE(trace->Write(bytes).ok());
  REQUIRE(trace->NextFile().ok());
  CHECK(trace.Indexes("") == std::vector<int>{1});
  CHECK(trace->folds().unfolded == 1);
  trace.NextFile();
  trace.NextFile();
  trace.PollUntil([&] { return trace->folds().folded > 0; });
}

TEST_CASE("a program that ends before it needs half of its files is not folded") {
  Trace trace(kGood);
  trace->SyncPointComplete();
  for (int i = 0; i < 50; i++) trace->Poll();
  CHECK(trace.lines("calls").empty());
  trace.NextFile();  // half of four
  trace.PollUntil([&] { return trace->folds().folded == 1; });
}

TEST_CASE("nothing is folded into a file whose sync point is not complete") {
  Trace trace(kGood);
  trace.NextFile();
  trace.PollUntil([&] { return trace->folds().folded == 1; });
  REQUIRE(trace->NextFile().ok());
  for (int i = 0; i < 50; i++) {
    trace->Poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(trace.lines("calls").size() == 1);
  trace->SyncPointComplete();
  trace.PollUntil([&] { return trace->folds().folded == 2; });
}

TEST_CASE("a fold that fails, dies, lies or cannot start is counted, and leaves nothing") {
  for (const char* script : {kFails, kDies, kLies, "missing"}) {
    CAPTURE(script);
    const bool missing = std::string(script) == "missing";
    Trace trace(missing ? kGood : script, missing ? "/no/such/anttracks" : "");
    for (uint64_t i = 1; i <= 8; i++) {
      trace.NextFile();
      trace.PollUntil([&] { return trace.tried() == i; });
    }
    CHECK(trace->folds().folded == 0);
    CHECK(trace->folds().unfolded == 8);
    CHECK(trace.Indexes(".origins").empty());
    CHECK(trace.Indexes(".origins" + kUnfinished).empty());
    CHECK(trace.Indexes("").size() >= 2);
    REQUIRE(trace->Close().ok());
  }
}

TEST_CASE("what a fold says before it fails is told") {
  const std::string path = TemporaryPath();
  io::FoldProcess fails(WriteScript(path + "-fails", kFails)), dies(WriteScript(path + "-dies", kDies));
  for (io::FoldProcess* fold : {&fails, &dies}) {
    REQUIRE(fold->Start(path + ".0", 1000).ok());
    io::FoldProcess::Outcome outcome;
    while (!(outcome = fold->Poll()).ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK_FALSE(outcome.good);
    CHECK(outcome.message == (fold == &fails ? "no luck today" : "it was killed"));
    CHECK_FALSE(fold->running());
  }
  io::FoldProcess missing("/no/such/anttracks");
  const trace::Status status = missing.Start(path + ".0", 1000);
  REQUIRE_FALSE(status.ok());
  CHECK(status.message() == "cannot run /no/such/anttracks: No such file or directory");
  CHECK_FALSE(missing.running());
}

TEST_CASE("a fold that says more than a pipe holds goes on") {
  const std::string path = TemporaryPath();
  io::FoldProcess fold(WriteScript(path + "-loud", "head -c 300000 /dev/zero | tr '\\0' 'x' >&2; exit 1\n"));
  REQUIRE(fold.Start(path + ".0", 1000).ok());
  io::FoldProcess::Outcome outcome;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!(outcome = fold.Poll()).ended) REQUIRE(std::chrono::steady_clock::now() < limit);
  CHECK(outcome.message.size() < 5000);
  CHECK(outcome.message.find("xxx") == 0);
}

bool Alive(const std::string& pid) { return kill(std::stoi(pid), 0) == 0 || errno != ESRCH; }

TEST_CASE("a fold that never ends stops nobody, and is gone with its file or at the end") {
  Trace trace(kNeverEnds);
  trace.NextFile();
  for (int i = 0; i < 12; i++) {
    const size_t begun = trace.lines("pids").size();
    trace.NextFile();
    // The next one begins when the file that the one before was for has to go.
    if (trace->folds().unfolded != 0)
      trace.PollUntil([&] { return trace.lines("pids").size() >= std::max<size_t>(begun, 2); });
    const std::vector<std::string> pids = trace.lines("pids");
    CHECK(std::count_if(pids.begin(), pids.end(), Alive) <= 1);
    CHECK(trace.Indexes(".origins" + kUnfinished).size() <= 1);
  }
  CHECK(trace->folds().folded == 0);
  CHECK(trace->folds().unfolded > 3);
  trace.PollUntil([&] { return !trace.lines("pids").empty() && Alive(trace.lines("pids").back()); });
  REQUIRE(trace->Close().ok());
  for (const std::string& pid : trace.lines("pids")) CHECK_FALSE_MESSAGE(Alive(pid), pid);
  CHECK(trace.Indexes(".origins").empty());
  CHECK(trace.Indexes(".origins" + kUnfinished).empty());
}

TEST_CASE("a fold into a file that goes before it ends is stopped, counted, and leaves nothing") {
  Trace trace(kWaits);
  trace.NextFile();
  trace.PollUntil([&] { return !trace.lines("pids").empty(); });
  const std::vector<uint8_t> bytes(1000, 1);
  while (!trace.NearlyWhole() && trace->MakeRoom(bytes.size(), 1)) REQUIRE(trace->Write(bytes).ok());
  REQUIRE(trace->NextFile().ok());
  REQUIRE(trace.Indexes("") == std::vector<int>{2});
  CHECK_FALSE(Alive(trace.lines("pids").back()));
  trace.LetGo();
  for (int i = 0; i < 50; i++) {
    trace->Poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(trace.Indexes(".origins").empty());
  CHECK(trace->folds().folded == 0);
  CHECK(trace->folds().unfolded == 2);
}

TEST_CASE("definitions that have no room beside a fold cost events, not the trace") {
  Trace trace(kNeverEnds);
  trace.NextFile();
  const std::vector<uint8_t> bytes(1000, 1);
  while (trace->MakeRoom(bytes.size() + (8 << 10), 1)) REQUIRE(trace->Write(bytes).ok());
  FakeVm vm;
  Session session(vm.vm(), {});
  io::Writer writer(session, *trace, {.compression = Compression::kOff});
  REQUIRE(writer.Start("{}").ok());
  session.Begin(trace::SyncReason::kStart);
  const AntTracksCallbacks callbacks = MakeCallbacks(&session);
  void* slot = nullptr;
  uint64_t at = vm.heap();
  for (uint32_t site = 16; site < 5000; site++) at = vm.Put(at, FakeVm::kPoint, site);
  callbacks.tlab(&session, reinterpret_cast<void*>(1), &slot, vm.heap(), at, 1);
  session.Finish("end");
  REQUIRE(writer.Wait(std::chrono::seconds(20)));
  CHECK(session.failure().reason() == "");
  CHECK(session.output().dropped_chunks > 0);
  CHECK(trace.BytesOnDisk() <= trace.limits().bound());
}

TEST_CASE("a trace that never began leaves no fold and no file") {
  Trace trace(kNeverEnds);
  trace.NextFile();
  trace.PollUntil([&] { return !trace.lines("pids").empty(); });
  trace->Remove();
  CHECK_FALSE(Alive(trace.lines("pids").back()));
  CHECK(trace.Indexes(".origins" + kUnfinished).empty());
}

TEST_CASE("provenance files of an earlier trace are refused; with overwrite they go") {
  for (const std::string& name :
       {std::string(".7.origins"), std::string(".7.origins.tmp"), ".7.origins" + kUnfinished}) {
    const std::string path = TemporaryPath();
    { std::ofstream(path + name) << "ANTTRACK"; }
    { std::ofstream(path + ".x.origins") << "somebody else's"; }
    { std::ofstream(path + ".7.origins.txt") << "somebody else's"; }
    const auto refused =
        io::RotatingTrace::Create(path, core::IfExists::kRefuse, {1, 2, 3}, {1 << 20, 0.25, {}});
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.message().find(path + name) != std::string::npos);
    CHECK(fs::file_size(path + name) == 8);
    CHECK(io::RotatingTrace::Create(path, core::IfExists::kReplace, {1, 2, 3}, {1 << 20, 0.25, {}}).ok());
    CHECK_FALSE(fs::exists(path + name));
    CHECK(fs::exists(path + ".x.origins"));
    CHECK(fs::exists(path + ".7.origins.txt"));
  }
}

}  // namespace
}  // namespace anttracks::core
