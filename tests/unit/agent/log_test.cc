// SPDX-License-Identifier: Apache-2.0
#include "agent/base/log.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
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

}  // namespace
}  // namespace anttracks::core
