// SPDX-License-Identifier: Apache-2.0
#include "analyzer/attach/open_traces.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/unit/analyzer/attach_fakes.h"
#include "trace/file_writer.h"

namespace anttracks::analyzer {
namespace {

namespace fs = std::filesystem;

std::string Header(uint32_t flags) {
  const auto bytes = trace::EncodeFileHeader({.trace_id = 5, .flags = flags});
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// A process that has these files open.
Folder WithOpen(const std::vector<std::pair<std::string, std::string>>& files) {
  Folder folder;
  fs::create_directories(folder.path() + "/77/fd");
  int descriptor = 3;
  for (const auto& [name, text] : files) {
    folder.Write(name, text);
    fs::create_symlink(folder.path() + "/" + name,
                       folder.path() + "/77/fd/" + std::to_string(descriptor++));
  }
  return folder;
}

TEST_CASE("a process' open traces are found among its files") {
  const Folder folder = WithOpen({{"notes.txt", "a text"}, {"b.trace", Header(0)}, {"a.trace", Header(0)}});
  const std::vector<std::string> expected = {folder.path() + "/a.trace", folder.path() + "/b.trace"};
  CHECK(OpenTraces(77, folder.path()) == expected);
  CHECK(OpenTraces(78, folder.path()).empty());
}

TEST_CASE("a rotated trace that is open is its definitions file, whichever of its files are open") {
  const Folder folder = WithOpen({{"app.trace.4", Header(trace::kFileData)}});
  const std::string definitions = folder.path() + "/app.trace";
  CHECK(OpenTraces(77, folder.path()) == std::vector{definitions + ".4"});  // there is no other
  folder.Write("app.trace", Header(trace::kFileDefinitions));
  CHECK(OpenTraces(77, folder.path()) == std::vector{definitions});
  folder.Write("app.trace", "another file by now");
  CHECK(OpenTraces(77, folder.path()) == std::vector{definitions + ".4"});
}

TEST_CASE("a trace in a file system that only the process sees is named by way of /proc") {
  const Folder folder;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string trace = folder.path() + "/app.trace", header = Header(0);
    bool made = unshare(CLONE_NEWNS) == 0 && mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) == 0 &&
                mount("tmpfs", folder.path().c_str(), "tmpfs", 0, nullptr) == 0;
    const int file = made ? open(trace.c_str(), O_CREAT | O_RDWR, 0600) : -1;
    made = made && write(file, header.data(), header.size()) == static_cast<ssize_t>(header.size());
    (void)!write(ready[1], made ? "y" : "n", 1);
    pause();
    _exit(0);
  }
  char made = 'n';
  REQUIRE(read(ready[0], &made, 1) == 1);
  if (made == 'y') {
    const std::string seen = "/proc/" + std::to_string(child) + "/root" + folder.path() + "/app.trace";
    CHECK(OpenTraces(child) == std::vector{seen});
  } else {
    MESSAGE("not tested: the system lets nobody make namespaces");
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace anttracks::analyzer
