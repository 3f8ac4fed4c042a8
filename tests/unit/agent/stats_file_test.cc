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
