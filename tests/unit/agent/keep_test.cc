// SPDX-License-Identifier: Apache-2.0
// The provenance files of a rotated trace (keep=yes).
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "agent/io/rotation/rotating_trace.h"
#include "tests/unit/agent/recorded.h"
#include "trace/provenance.h"
#include "trace/reader.h"

namespace anttracks::core {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMeta = "{}";

std::span<const uint8_t> MetaBytes() { return {reinterpret_cast<const uint8_t*>(kMeta.data()), kMeta.size()}; }

// A rotated trace of four files that is written on at will.
class Trace {
 public:
  Trace() : path_(TemporaryPath()) {
    auto created = io::RotatingTrace::Create(path_, core::IfExists::kRefuse, {1, 2, 3}, limits_);
    REQUIRE(created.ok());
    trace_ = std::move(*created);
  }

  io::RotatingTrace* operator->() { return trace_.get(); }
  const io::RotationLimits& limits() const { return limits_; }
  std::string path(int index) const { return path_ + "." + std::to_string(index); }
  std::string provenance(int index) const { return path(index) + ".origins"; }

  uint64_t BytesOnDisk() const {
    uint64_t sum = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(path_).parent_path())) {
      const std::string name = entry.path().string();
      if (name == path_ || name.rfind(path_ + ".", 0) == 0) sum += entry.file_size();
    }
    return sum;
  }
  size_t Files() const {
    const fs::directory_iterator files(fs::path(path_).parent_path());
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }
  // Fills the current file to its share and begins the next one with a sync point.
  void NextFile() {
    const std::vector<uint8_t> bytes(1000, 1);
    while (!trace_->policy().IsFull()) {
      REQUIRE(trace_->MakeRoom(bytes.size(), 1));
      REQUIRE(trace_->Write(bytes).ok());
    }
    REQUIRE(trace_->NextFile().ok());
    REQUIRE(trace_->SyncPointComplete());
  }
  // Segments with so many runs.
  trace::Status WriteProvenance(uint64_t runs, bool in_part = false) {
    trace::SavedProvenance saved{std::vector<trace::ByteBuffer>(1), in_part};
    trace::ProvenanceEncoder encoder;
    for (uint64_t run = 0; run < runs; run++) {
      const uint64_t begin = (run << 20) + run * run % 4711;  // hardly compresses
      encoder.Run({begin, begin + 1 + run * 7919 % 65521, 1 + run * run % 253, run * 104729 % 65537});
    }
    encoder.Finish(saved.segments.data());
    return trace_->WriteProvenance(MetaBytes(), saved);
  }

 private:
  const std::string path_;
  const io::RotationLimits limits_{1 << 20, 0.25, true};
  std::unique_ptr<io::RotatingTrace> trace_;
};

TEST_CASE("each data file but the first has a provenance file, and the bound holds with them") {
  Trace trace;
  for (int i = 1; i <= 12; i++) {
    trace.NextFile();
    REQUIRE(trace.WriteProvenance(3000).ok());
    CHECK(fs::exists(trace.provenance(i)));
    CHECK(trace.BytesOnDisk() <= trace.limits().bound());
    for (int old = 0; old < i; old++)
      CHECK(fs::exists(trace.provenance(old)) == (old != 0 && fs::exists(trace.path(old))));
  }
  CHECK_FALSE(fs::exists(trace.path(8)));
  CHECK(trace->Close().ok());
}

TEST_CASE("a provenance file is one that a reader takes for the provenance of its data file") {
  Trace trace;
  for (const int index : {1, 2}) {
    const bool in_part = index == 2;
    trace.NextFile();
    REQUIRE(trace.WriteProvenance(3, in_part).ok());
    std::ifstream file(trace.provenance(index), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    REQUIRE(bytes.size() > 64);
    CHECK(bytes.substr(0, 8) == "ANTTRACK");
    CHECK(bytes[40] == index);
    CHECK(trace::GetU64(reinterpret_cast<const uint8_t*>(bytes.data()) + 48) == bytes.size());
    CHECK(bytes[44] == (trace::kFileProvenance | (in_part ? trace::kFileProvenanceInPart : 0)));
    CHECK(fs::status(trace.provenance(index)).permissions() ==
          (fs::perms::owner_read | fs::perms::owner_write));
  }
}

TEST_CASE("a provenance file that would take more than half of a data file is not written") {
  Trace trace;
  trace.NextFile();
  const size_t files = trace.Files();
  const trace::Status status = trace.WriteProvenance(40'000);
  REQUIRE_FALSE(status.ok());
  CHECK(status.message().find("there is no room for " + trace.provenance(1)) == 0);
  CHECK(trace.Files() == files);
  CHECK(trace.WriteProvenance(100).ok());
}

TEST_CASE("a provenance file whose place is taken is not written, and the trace goes on") {
  Trace trace;
  trace.NextFile();
  std::ofstream(trace.provenance(1)) << "ANTTRACK, but somebody else's";
  const size_t files = trace.Files();
  const trace::Status status = trace.WriteProvenance(100);
  REQUIRE_FALSE(status.ok());
  CHECK(status.message().find("cannot write " + trace.provenance(1) + ": ") == 0);
  CHECK(trace.Files() == files);
  trace.NextFile();
  CHECK(trace.WriteProvenance(100).ok());
}

TEST_CASE("provenance files of an earlier trace are refused; with overwrite they go") {
  for (const std::string& name : {std::string(".7.origins"), std::string(".7.origins.tmp"),
                                  std::string(".7.origins.tmp-0123456789abcdef")}) {
    const std::string path = TemporaryPath();
    { std::ofstream(path + name) << "ANTTRACK"; }
    { std::ofstream(path + ".x.origins") << "somebody else's"; }
    { std::ofstream(path + ".7.origins.txt") << "somebody else's"; }
    const auto refused = io::RotatingTrace::Create(path, core::IfExists::kRefuse, {1, 2, 3}, {1 << 20, 0.25});
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.message().find(path + name) != std::string::npos);
    CHECK(fs::file_size(path + name) == 8);
    CHECK(io::RotatingTrace::Create(path, core::IfExists::kReplace, {1, 2, 3}, {1 << 20, 0.25}).ok());
    CHECK_FALSE(fs::exists(path + name));
    CHECK(fs::exists(path + ".x.origins"));
    CHECK(fs::exists(path + ".7.origins.txt"));
  }
}

}  // namespace
}  // namespace anttracks::core
