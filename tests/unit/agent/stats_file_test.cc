// SPDX-License-Identifier: Apache-2.0
#include "agent/io/stats_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

namespace fs = std::filesystem;

const std::string kOld = "{\n  \"trace\": \"another\"\n}\n";

TEST_CASE("counters replace the ones before, as a whole") {
  const fs::path folder = TemporaryPath();
  fs::create_directory(folder);
  const std::string path = folder / "stats";
  auto stats = io::StatsFile::Create(path, core::IfExists::kRefuse);
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
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
}

TEST_CASE("the counters are for the owner alone, and go through no link") {
  const fs::path folder = TemporaryPath();
  fs::create_directory(folder);
  const std::string path = folder / "stats", precious = folder / "precious";
  { std::ofstream(precious) << "precious"; }
  fs::create_symlink(precious, path + ".tmp");
  const mode_t mask = umask(0);
  auto stats = io::StatsFile::Create(path, core::IfExists::kRefuse);
  REQUIRE(stats.ok());
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  REQUIRE((*stats)->Write("counters").ok());
  umask(mask);
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(ReadFile(path) == "counters");
  CHECK(ReadFile(precious) == "precious");
  fs::remove(path);
  fs::create_symlink(precious, path);
  const auto refused = io::StatsFile::Create(path, core::IfExists::kReplace);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.message().find("it is a symbolic link") != std::string::npos);
  CHECK(ReadFile(precious) == "precious");
}

TEST_CASE("overwrite replaces counters only, and what killed agents left goes") {
  const std::string path = TemporaryPath();
  { std::ofstream(path + ".tmp-0123456789abcdef") << "{"; }
  { std::ofstream(path) << "{ \"my\": \"settings\" }"; }
  const auto refused = io::StatsFile::Create(path, core::IfExists::kReplace);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.message() == "cannot write the counters to " + path +
                                 ": it is something else, and overwrite=yes replaces only counters; choose "
                                 "another file with stats=, or remove it");
  CHECK(ReadFile(path) == "{ \"my\": \"settings\" }");
  fs::remove(path);
  CHECK(io::StatsFile::Create(path, core::IfExists::kReplace).ok());
  CHECK(io::StatsFile::Create(path, core::IfExists::kReplace).ok());  // empty: of a JVM that was killed
  CHECK_FALSE(fs::exists(path + ".tmp-0123456789abcdef"));
}

TEST_CASE("the counters cannot go where the trace goes") {
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
  for (const char* name : {"real/t.0", "real/t.17", "link/t.3.origins", "real/t.3.origins.tmp",
                           "real/t.3.origins.tmp-0123456789abcdef"}) {
    CAPTURE(name);
    const trace::Status status = io::StatsFile::CheckName(folder / name, trace, true);
    REQUIRE_FALSE(status.ok());
    CHECK(status.message().find(fs::path(name).filename().string() + ", which may become") !=
          std::string::npos);
    CHECK(io::StatsFile::CheckName(folder / name, trace, false).ok());
  }
  for (const char* name : {"real/t.json", "real/t.0.json", "real/u", "real/u.0", "t", "real/t.tmp"}) {
    CAPTURE(name);
    CHECK(io::StatsFile::CheckName(folder / name, trace, true).ok());
  }
}

TEST_CASE("an existing file is refused unless overwrite, and then kept until there is something to write") {
  const std::string path = TemporaryPath();
  { std::ofstream(path) << kOld; }
  const auto refused = io::StatsFile::Create(path, core::IfExists::kRefuse);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.message() == "cannot write the counters to " + path +
                                 ": File exists; choose another file with stats=, or give overwrite=yes");
  CHECK(ReadFile(path) == kOld);
  auto stats = io::StatsFile::Create(path, core::IfExists::kReplace);
  REQUIRE(stats.ok());
  CHECK(ReadFile(path) == kOld);
  REQUIRE((*stats)->Write("new").ok());
  CHECK(ReadFile(path) == "new");
}

TEST_CASE("a trace that never began takes only a file that was made for it") {
  const std::string path = TemporaryPath();
  {
    auto stats = io::StatsFile::Create(path, core::IfExists::kRefuse);
    REQUIRE(stats.ok());
    CHECK(fs::exists(path));
    (*stats)->Remove();
    CHECK_FALSE(fs::exists(path));
  }
  {
    auto stats = io::StatsFile::Create(path, core::IfExists::kRefuse);
    REQUIRE(stats.ok());
    fs::remove(path);
    { std::ofstream(path) << kOld; }
    (*stats)->Remove();
    CHECK(ReadFile(path) == kOld);
  }
  auto stats = io::StatsFile::Create(path, core::IfExists::kReplace);
  REQUIRE(stats.ok());
  (*stats)->Remove();
  CHECK(ReadFile(path) == kOld);
}

TEST_CASE("what is no regular file is not replaced by one") {
  const auto refused = io::StatsFile::Create("/dev/null", core::IfExists::kReplace);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.message() ==
        "cannot write the counters to /dev/null: it is a device, and overwrite=yes replaces only counters; "
        "choose another file with stats=, or remove it");
}

TEST_CASE("a file that cannot be written is told at once, or when its folder goes") {
  const std::string path = TemporaryPath();
  const auto missing = io::StatsFile::Create(path + "/no/such/folder", core::IfExists::kRefuse);
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.message().find("No such file or directory") != std::string::npos);
  CHECK_FALSE(
      io::StatsFile::Create(fs::path(path).parent_path().string(), core::IfExists::kReplace).ok());  // a folder
  fs::create_directory(path);
  auto stats = io::StatsFile::Create(path + "/stats", core::IfExists::kRefuse);
  REQUIRE(stats.ok());
  fs::remove_all(path);
  const trace::Status status = (*stats)->Write("text");
  REQUIRE_FALSE(status.ok());
  CHECK(status.message().find(path + "/stats") != std::string::npos);
  // What is in the way of the new text does not leave half of it.
  fs::create_directories(path + "/stats/full");
  CHECK_FALSE((*stats)->Write("text").ok());
  CHECK(std::distance(fs::directory_iterator(path), {}) == 1);
}

}  // namespace
}  // namespace anttracks::core
