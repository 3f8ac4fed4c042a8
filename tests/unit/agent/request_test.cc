// SPDX-License-Identifier: Apache-2.0
#include "agent/base/request.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/io/reply.h"
#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

namespace fs = std::filesystem;

TEST_CASE("options without a request are the options of a trace, whatever they are") {
  for (const char* text : {"", "file=a.trace,maxsize=8G", "reply=x", "compress=off,request=stop"}) {
    const auto request = ParseRequest(text);
    REQUIRE(request.ok());
    CHECK(request->command == Command::kNone);
    CHECK(request->options == text);
  }
}

TEST_CASE("a request has a command, a file for the answer, and options") {
  const auto request = ParseRequest("request=attach,reply=/tmp/a/reply,file=a.trace,maxsize=8G");
  REQUIRE(request.ok());
  CHECK(request->command == Command::kAttach);
  CHECK(request->reply == "/tmp/a/reply");
  CHECK(request->options == "file=a.trace,maxsize=8G");
  const auto start = ParseRequest("request=start,reply=/r");
  REQUIRE(start.ok());
  CHECK(start->command == Command::kStart);
  CHECK(start->options.empty());
  const auto unread = ParseRequest("request=stop");
  REQUIRE(unread.ok());
  CHECK(unread->command == Command::kStop);
  CHECK(unread->reply.empty());
}

TEST_CASE("unknown requests, and options where none belong, are named") {
  const auto unknown = ParseRequest("request=halt,reply=/r");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.message().find("halt") != std::string::npos);
  CHECK(unknown.message().find("dump-stats") != std::string::npos);
  const auto extra = ParseRequest("request=stop,reply=/r,file=x");
  REQUIRE_FALSE(extra.ok());
  CHECK(extra.message().find("file=x") != std::string::npos);
}

TEST_CASE("an answer goes into an empty file of one's own only") {
  const std::string path = TemporaryPath();
  CHECK_FALSE(io::WriteReply(path, "text").ok());
  CHECK_FALSE(fs::exists(path));
  std::ofstream(path).close();
  CHECK(io::WriteReply(path, "text").ok());
  CHECK(ReadFile(path) == "text");
  CHECK_FALSE(io::WriteReply(path, "more").ok());
  CHECK(ReadFile(path) == "text");
  const std::string target = path + ".target", link = path + ".link";
  std::ofstream(target).close();
  fs::create_symlink(target, link);
  CHECK_FALSE(io::WriteReply(link, "text").ok());
  CHECK(ReadFile(target).empty());
  for (const std::string& each : {path, target, link}) fs::remove(each);
}

TEST_CASE("the next free name is told by a number before the suffix, and data files count") {
  const std::string folder = TemporaryPath();
  fs::create_directories(folder + "/a.b");
  const std::string path = folder + "/a.b/app.trace", bare = folder + "/a.b/app";
  CHECK(io::FreeName(path) == path);
  std::ofstream(path).close();
  CHECK(io::FreeName(path) == folder + "/a.b/app-2.trace");
  std::ofstream(folder + "/a.b/app-2.trace.0").close();
  CHECK(io::FreeName(path) == folder + "/a.b/app-3.trace");
  std::ofstream(bare).close();
  CHECK(io::FreeName(bare) == folder + "/a.b/app-2");
  fs::remove_all(folder);
}

TEST_CASE("a device can be written again, and has no free names beside it") {
  CHECK(io::FreeName("/dev/null") == "/dev/null");
  const std::string path = TemporaryPath();
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(io::FreeName(path) == path);
}

}  // namespace
}  // namespace anttracks::core
