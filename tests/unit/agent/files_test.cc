// SPDX-License-Identifier: Apache-2.0
// Files in a host that has its own ways: closed standard streams, FIFOs in the place of files.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "agent/io/descriptor.h"
#include "agent/io/rotation/rotating_trace.h"
#include "agent/io/stats_file.h"
#include "tests/unit/agent/recorded.h"
#include "trace/file_writer.h"

namespace anttracks::core {
namespace {

namespace fs = std::filesystem;

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
    static auto file = io::TraceFile::Create(path, core::IfExists::kRefuse);
    const uint8_t byte = 1;
    return file.ok() && (*file)->Write({&byte, 1}).ok();
  }));
  CHECK(std::filesystem::file_size(path) == 1);
}

TEST_CASE("a trace is for its owner alone, also where one that others could read was") {
  const std::string path = TemporaryPath();
  const mode_t mask = umask(0);
  { std::ofstream(path) << "ANTTRACK"; }
  const auto file = io::TraceFile::Create(path, core::IfExists::kReplace);
  const auto rotated =
      io::RotatingTrace::Create(path + "r", core::IfExists::kRefuse, {1, 2, 3}, {1 << 20, 0.25});
  umask(mask);
  REQUIRE(file.ok());
  REQUIRE(rotated.ok());
  for (const std::string& made : {path, path + "r", path + "r.0"}) {
    CAPTURE(made);
    CHECK(fs::status(made).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  }
}

TEST_CASE("overwrite replaces traces only, and goes through no link to a file") {
  const std::string path = TemporaryPath(), precious = path + ".precious";
  { std::ofstream(precious) << "precious"; }
  { std::ofstream(path) << "my diary"; }
  const auto diary = io::TraceFile::Create(path, core::IfExists::kReplace);
  REQUIRE_FALSE(diary.ok());
  CHECK(diary.message() == "cannot create trace file " + path +
                               ": it is something else, and overwrite=yes replaces only traces; remove it, or "
                               "choose another name with file=");
  CHECK(ReadFile(path) == "my diary");
  fs::remove(path);
  for (const std::string& target : {precious, path + ".nowhere"}) {
    fs::create_symlink(target, path);
    const auto link = io::TraceFile::Create(path, core::IfExists::kReplace);
    REQUIRE_FALSE(link.ok());
    CHECK(link.message().find("it is a symbolic link") != std::string::npos);
    fs::remove(path);
  }
  CHECK(ReadFile(precious) == "precious");
  CHECK_FALSE(fs::exists(path + ".nowhere"));
  fs::create_symlink("/dev/null", path);
  CHECK(io::TraceFile::Create(path, core::IfExists::kReplace).ok());
  CHECK(fs::is_symlink(path));
}

TEST_CASE("a trace that is replaced stays whole for who reads it, and ends for who writes it") {
  const std::string path = TemporaryPath();
  auto first = io::TraceFile::Create(path, core::IfExists::kRefuse);
  REQUIRE(first.ok());
  REQUIRE((*first)->Write(trace::EncodeFileHeader({})).ok());
  std::ifstream reader(path);
  const auto second = io::TraceFile::Create(path, core::IfExists::kReplace);
  REQUIRE(second.ok());
  CHECK(fs::file_size(path) == 0);
  char start[9] = {};
  reader.read(start, 8);
  CHECK(std::string(start) == "ANTTRACK");
  CHECK_FALSE((*first)->Check().ok());
}

// With which this process has the file open.
int DescriptorOf(const std::string& path) {
  struct stat wanted {
  }, open{};
  if (stat(path.c_str(), &wanted) != 0) return -1;
  for (int fd = 3; fd < 1024; fd++) {
    if (fstat(fd, &open) == 0 && open.st_ino == wanted.st_ino && open.st_dev == wanted.st_dev) return fd;
  }
  return -1;
}

TEST_CASE("a file of the host that gets a trace's descriptor is neither written to nor closed") {
  for (const bool checked : {true, false}) {
    CAPTURE(checked);
    const std::string path = TemporaryPath(), other = path + ".other";
    auto file = io::TraceFile::Create(path, core::IfExists::kRefuse);
    REQUIRE(file.ok());
    const uint8_t byte = 1;
    REQUIRE((*file)->Write({&byte, 1}).ok());
    CHECK((*file)->Check().ok());
    const int fd = DescriptorOf(path), host = open(other.c_str(), O_CREAT | O_WRONLY, 0600);
    REQUIRE((fd >= 0 && host >= 0));
    REQUIRE(dup2(host, fd) == fd);  // closes what was there
    const trace::Status status = checked ? (*file)->Check() : (*file)->Write({&byte, 1});
    REQUIRE_FALSE(status.ok());
    CHECK(status.message() == "the program closed the descriptor of trace file " + path +
                                  ", and opened another file with that number");
    CHECK_FALSE((*file)->Write({&byte, 1}).ok());
    CHECK((*file)->Close().ok());
    CHECK(fcntl(fd, F_GETFD) >= 0);
    CHECK(fs::file_size(other) == 0);
    CHECK(fs::file_size(path) == 1);
    close(fd);
    close(host);
  }
}

// The program closes the trace's descriptor, and opens a file of its own with that number. Returns it.
int TakenByHost(const std::string& trace, const std::string& other) {
  const int fd = DescriptorOf(trace), host = open(other.c_str(), O_CREAT | O_WRONLY, 0600);
  REQUIRE((fd >= 0 && host >= 0));
  REQUIRE(dup2(host, fd) == fd);
  close(host);
  return fd;
}

TEST_CASE(
    "a file of the host that gets a trace's descriptor stays open when the trace ends, unseen until then") {
  for (const bool forked : {true, false}) {
    CAPTURE(forked);
    const std::string path = TemporaryPath();
    auto file = io::TraceFile::Create(path, core::IfExists::kRefuse);
    REQUIRE(file.ok());
    const int fd = TakenByHost(path, path + ".other");
    forked ? (*file)->CloseInForkedChild() : (void)(*file)->Close().ok();
    CHECK(fcntl(fd, F_GETFD) >= 0);
    close(fd);
  }
}

TEST_CASE("a rotated trace that loses both descriptors to the host closes neither") {
  const std::string path = TemporaryPath();
  auto trace = io::RotatingTrace::Create(path, core::IfExists::kRefuse, {1, 2, 3}, {1 << 20, 0.25});
  REQUIRE(trace.ok());
  const int definitions = TakenByHost(path, path + ".other"),
            data = TakenByHost(path + ".0", path + ".another");
  CHECK_FALSE((*trace)->Check().ok());
  (void)(*trace)->Close().ok();
  for (const int fd : {definitions, data}) {
    CHECK(fcntl(fd, F_GETFD) >= 0);
    close(fd);
  }
  CHECK((fs::file_size(path + ".other") == 0 && fs::file_size(path + ".another") == 0));
}

TEST_CASE("a file of the host that gets the descriptor of a FIFO with a trace is not written to") {
  const std::string path = TemporaryPath(), other = path + ".other";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  auto file = io::TraceFile::Create(path, core::IfExists::kReplace);
  REQUIRE(file.ok());
  close(reader);  // now the only descriptor is the trace's
  const int fd = TakenByHost(path, other);
  const uint8_t byte = 1;
  CHECK_FALSE((*file)->Write({&byte, 1}).ok());
  CHECK(fs::file_size(other) == 0);
  CHECK(fcntl(fd, F_GETFD) >= 0);
  close(fd);
}

TEST_CASE("a FIFO that nobody reads is an error, not a wait without end") {
  const std::string path = TemporaryPath();
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const auto file = io::TraceFile::Create(path, core::IfExists::kReplace);
  REQUIRE_FALSE(file.ok());
  CHECK(file.message() == "cannot create trace file " + path +
                              ": No such device or address; a FIFO needs a reader before the trace begins");
  const auto stats = io::StatsFile::Create(path, core::IfExists::kReplace);
  REQUIRE_FALSE(stats.ok());
  CHECK(stats.message().find(path) != std::string::npos);
}

TEST_CASE("a FIFO that is read slowly gets all of the trace") {
  const std::string path = TemporaryPath();
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  fcntl(reader, F_SETFL, 0);
  auto file = io::TraceFile::Create(path, core::IfExists::kReplace);
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

TEST_CASE("a child of a fork closes what is numbered after a trace, and nothing else") {
  const std::string path =
      std::filesystem::canonical(std::filesystem::path(TemporaryPath()).parent_path()) / "forked.trace";
  const auto make = [](const std::string& name) { return io::Open(name, O_CREAT | O_WRONLY); };
  const int data = make(path + ".17"), provenance = make(path + ".17.origins"), definitions = make(path),
            other = make(path + ".old");
  REQUIRE(other >= 0);
  unlink((path + ".17").c_str());
  const pid_t child = fork();
  if (child == 0) {
    io::CloseNumbered(path + ".");
    const auto open = [](int fd) { return fcntl(fd, F_GETFD) >= 0; };
    _exit(!open(data) && !open(provenance) && open(definitions) && open(other) && open(1) ? 0 : 1);
  }
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  for (const int fd : {data, provenance, definitions, other}) close(fd);
}

}  // namespace
}  // namespace anttracks::core
