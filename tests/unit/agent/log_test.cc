// SPDX-License-Identifier: Apache-2.0
#include "agent/base/log.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace anttracks::core {
namespace {

TEST_CASE("a stderr that nobody reads costs the message, not the application") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const std::vector<char> bytes(64 << 10, 'x');
  while (write(ends[1], bytes.data(), bytes.size()) > 0) {
  }
  while (write(ends[1], bytes.data(), 1) > 0) {
  }
  fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) & ~O_NONBLOCK);
  const int before = dup(STDERR_FILENO);
  REQUIRE(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
  // So that what waits all the same ends, too late.
  std::atomic<bool> done{false};
  std::thread reader([&] {
    for (int i = 0; i < 1500 && !done; i++) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::vector<char> in(64 << 10);
    while (read(ends[0], in.data(), in.size()) > 0) {
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  LogError("tracing stopped");
  const auto took = std::chrono::steady_clock::now() - begin;
  done = true;
  reader.join();
  dup2(before, STDERR_FILENO);
  for (const int fd : {before, ends[0], ends[1]}) close(fd);
  CHECK(took < std::chrono::seconds(10));
}

// What the call writes to stderr.
template <class Call>
std::string Stderr(Call&& call) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const int before = dup(STDERR_FILENO);
  REQUIRE(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
  call();
  dup2(before, STDERR_FILENO);
  char text[4096];
  const ssize_t size = read(ends[0], text, sizeof text);
  for (const int fd : {before, ends[0], ends[1]}) close(fd);
  return std::string(text, size < 0 ? 0 : static_cast<size_t>(size));
}

TEST_CASE("a message has the project's name and its level, and is left out below the level that was chosen") {
  const auto all = [] {
    LogError("a");
    LogWarn("b");
    LogInfo("c");
    LogDebug("d");
  };
  const std::string lines[] = {"[anttracks] error: a\n", "[anttracks] warning: b\n", "[anttracks] info: c\n",
                               "[anttracks] debug: d\n"};
  std::string expected;
  for (int level = 0; level < 4; level++) {
    SetLogLevel(static_cast<LogLevel>(level));
    expected += lines[level];
    CHECK(Stderr(all) == expected);
  }
  SetLogLevel(LogLevel::kWarn);
}

}  // namespace
}  // namespace anttracks::core
