// SPDX-License-Identifier: Apache-2.0
#include "agent/io/stats_file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

namespace fs = std::filesystem;

TEST_CASE("counters replace the ones before, as a whole") {
  const std::string path = TemporaryPath();
  auto stats = io::StatsFile::Create(path, false);
  REQUIRE(stats.ok());
  CHECK(fs::exists(path));
  REQUIRE((*stats)->Write("a long first text").ok());
  CHECK(ReadFile(path) == "a long first text");
  std::ifstream reader(path);  // of one who reads meanwhile
  REQUIRE((*stats)->Write("short").ok());
  CHECK(ReadFile(path) == "short");
  std::string seen;
  std::getline(reader, seen);
  CHECK(seen == "a long first text");
  CHECK_FALSE(fs::exists(path + ".tmp"));
}

TEST_CASE("the counters cannot go where the trace goes, or for a moment be what it has") {
  const fs::path folder = TemporaryPath();
  fs::create_directories(folder / "real");
  fs::create_directory_symlink("real", folder / "link");
  const std::string trace = folder / "real/t";
  for (const char* name : {"real/t", "real/./t", "link/t", "link/../real/t"}) {
    CAPTURE(name);
    for (const bool rotates : {false, true}) {
      const trace::Status status = io::StatsFile::CheckName(folder / name, trace, rotates);
      REQUIRE_FALSE(status.ok());
      CHECK(status.message() == "options file and stats name the same file");
    }
  }
  CHECK_FALSE(io::StatsFile::CheckName(folder / "real/t", folder / "real/t.tmp", false).ok());
  for (const char* name : {"real/t.0", "real/t.17", "link/t.3.origins", "real/t.3.origins.tmp"}) {
    CAPTURE(name);
    const trace::Status status = io::StatsFile::CheckName(folder / name, trace, true);
    REQUIRE_FALSE(status.ok());
    CHECK(status.message().find(fs::path(name).filename().string() + ", which may become") != std::string::npos);
    CHECK(io::StatsFile::CheckName(folder / name, trace, false).ok());
  }
  for (const char* name : {"real/t.json", "real/t.0.json", "real/u", "real/u.0", "t", "real/t.tmp"}) {
    CAPTURE(name);
    CHECK(io::StatsFile::CheckName(folder / name, trace, true).ok());
  }
}

TEST_CASE("an existing file is refused unless overwrite, and then kept until there is something to write") {
  const std::string path = TemporaryPath();
  { std::ofstream(path) << "precious"; }
  const auto refused = io::StatsFile::Create(path, false);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.message() == "cannot write the counters to " + path +
                                 ": File exists; choose another file with stats=, or give overwrite=yes");
  CHECK(ReadFile(path) == "precious");
  auto stats = io::StatsFile::Create(path, true);
  REQUIRE(stats.ok());
  CHECK(ReadFile(path) == "precious");
  REQUIRE((*stats)->Write("new").ok());
  CHECK(ReadFile(path) == "new");
}

TEST_CASE("a trace that never began takes only a file that was made for it") {
  const std::string path = TemporaryPath();
  {
    auto stats = io::StatsFile::Create(path, false);
    REQUIRE(stats.ok());
    CHECK(fs::exists(path));
    (*stats)->Remove();
    CHECK_FALSE(fs::exists(path));
  }
  {
    auto stats = io::StatsFile::Create(path, false);
    REQUIRE(stats.ok());
    fs::remove(path);
    { std::ofstream(path) << "another"; }
    (*stats)->Remove();
    CHECK(ReadFile(path) == "another");
  }
  auto stats = io::StatsFile::Create(path, true);
  REQUIRE(stats.ok());
  (*stats)->Remove();
  CHECK(ReadFile(path) == "another");
}

TEST_CASE("what is no regular file is not replaced by one") {
  const auto refused = io::StatsFile::Create("/dev/null", true);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.message() == "cannot write the counters to /dev/null: it is no regular file; choose another file with stats=");
}

TEST_CASE("a file that cannot be written is told at once, or when its folder goes") {
  const std::string path = TemporaryPath();
  const auto missing = io::StatsFile::Create(path + "/no/such/folder", false);
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.message().find("No such file or directory") != std::string::npos);
  CHECK_FALSE(io::StatsFile::Create(fs::path(path).parent_path().string(), true).ok());  // a folder
  fs::create_directory(path);
  auto stats = io::StatsFile::Create(path + "/stats", false);
  REQUIRE(stats.ok());
  fs::remove_all(path);
  const trace::Status status = (*stats)->Write("text");
  REQUIRE_FALSE(status.ok());
  CHECK(status.message().find(path + "/stats") != std::string::npos);
  // What is in the way of the new text does not leave half of it.
  fs::create_directories(path + "/stats/full");
  CHECK_FALSE((*stats)->Write("text").ok());
  CHECK_FALSE(fs::exists(path + "/stats.tmp"));
}

}  // namespace
}  // namespace anttracks::core
