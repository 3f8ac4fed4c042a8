// SPDX-License-Identifier: Apache-2.0
// Files in a host that has its own ways: closed standard streams, FIFOs in the place of files.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "agent/io/fold_process.h"
#include "agent/io/stats_file.h"
#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

// In a child without standard streams: that none of them is a file of the agent's afterwards.
template <class Body>
bool LeavesStandardStreamsClosed(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int fd : {0, 1, 2}) close(fd);
    bool good = body();
    for (const int fd : {0, 1, 2}) good = good && fcntl(fd, F_GETFD) == -1;
    _exit(good ? 0 : 1);
  }
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);
  return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

TEST_CASE("a host that has closed its standard streams does not print into files of the agent") {
  const std::string path = TemporaryPath();
  CHECK(LeavesStandardStreamsClosed([&] {
    static auto file = io::TraceFile::Create(path, false);
    const uint8_t byte = 1;
    return file.ok() && (*file)->Write({&byte, 1}).ok();
  }));
  CHECK(std::filesystem::file_size(path) == 1);
  CHECK(LeavesStandardStreamsClosed([&] {
    static io::FoldProcess fold("/bin/sleep");
    return fold.Start("1000", 1).ok();
  }));
}

TEST_CASE("a FIFO that nobody reads is an error, not a wait without end") {
  const std::string path = TemporaryPath();
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const auto file = io::TraceFile::Create(path, true);
  REQUIRE_FALSE(file.ok());
  CHECK(file.message() == "cannot create trace file " + path +
                              ": No such device or address; a FIFO needs a reader before the trace begins");
  const auto stats = io::StatsFile::Create(path, true);
  REQUIRE_FALSE(stats.ok());
  CHECK(stats.message().find(path) != std::string::npos);
}

TEST_CASE("a FIFO that is read slowly gets all of the trace") {
  const std::string path = TemporaryPath();
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  fcntl(reader, F_SETFL, 0);
  auto file = io::TraceFile::Create(path, true);
  REQUIRE(file.ok());
  size_t seen = 0;
  std::thread thread([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    char block[4096];
    ssize_t n;
    while ((n = read(reader, block, sizeof block)) > 0) seen += static_cast<size_t>(n);
  });
  const std::vector<uint8_t> bytes(1 << 20, 1);
  CHECK((*file)->Write(bytes).ok());
  CHECK((*file)->Close().ok());
  thread.join();
  close(reader);
  CHECK(seen == bytes.size());
}

}  // namespace
}  // namespace anttracks::core
