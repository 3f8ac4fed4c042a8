// SPDX-License-Identifier: Apache-2.0
#include "trace/output_file.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "trace/format.h"

namespace anttracks::trace {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "anttracks-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string path(const std::string& name) const { return path_ / name; }
  std::string Make(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::span<const uint8_t> Bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST_CASE("what is written whole is for its owner alone, and replaces a link, not what it points to") {
  const Folder folder;
  const mode_t mask = umask(0);
  const std::string precious = folder.Make("precious", "precious"), path = folder.path("a");
  REQUIRE(symlink(precious.c_str(), path.c_str()) == 0);
  // Where it was written to before it took its place, once.
  REQUIRE(symlink(precious.c_str(), (path + ".tmp").c_str()) == 0);
  CHECK(WriteWhole(path, Bytes("new")) == 0);
  umask(mask);
  CHECK(Read(path) == "new");
  CHECK(fs::is_regular_file(fs::symlink_status(path)));
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(Read(precious) == "precious");
  CHECK(folder.files() == 3);
}

TEST_CASE("a file is never a standard stream, also where those are closed") {
  const Folder folder;
  const int saved = dup(STDIN_FILENO);
  REQUIRE(saved > STDERR_FILENO);
  close(STDIN_FILENO);
  // What has the number of stdin while it is written.
  struct stat stream {};
  int streams = 0;
  std::atomic<bool> ended = false;
  std::thread watch([&] {
    while (!ended)
      streams += fstat(STDIN_FILENO, &stream) == 0 && S_ISREG(stream.st_mode) && stream.st_size != 0 ? 1 : 0;
  });
  const int error = WriteWhole(folder.path("a"), Bytes(std::string(32 << 20, 'x')));
  ended = true;
  watch.join();
  dup2(saved, STDIN_FILENO);
  close(saved);
  CHECK(error == 0);
  CHECK(streams == 0);
}

TEST_CASE("a write that ends in the middle is an error, and leaves nothing") {
  const Folder folder;
  const pid_t child = fork();
  if (child == 0) {
    const rlimit least{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &least);
    signal(SIGXFSZ, SIG_IGN);
    _exit(WriteWhole(folder.path("a"), Bytes(std::string(3000, 'x'))));
  }
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);
  CHECK(WIFEXITED(state));
  CHECK(WEXITSTATUS(state) == EFBIG);
  CHECK(folder.files() == 0);
}

TEST_CASE("what came to the place while a file was written stays, if nothing is to be replaced") {
  const Folder folder;
  const std::string path = folder.path("a");
  {
    UnfinishedFile file(path);
    REQUIRE(file.Create() == 0);
    REQUIRE(file.Write(Bytes("new")) == 0);
    folder.Make("a", "mine");
    CHECK(file.Finish(Replace::kNo) == EEXIST);
  }
  CHECK(Read(path) == "mine");
  CHECK(WriteWhole(path, Bytes("new"), Replace::kNo) == EEXIST);
  CHECK(folder.files() == 1);
  fs::remove(path);
  CHECK(WriteWhole(path, Bytes("new"), Replace::kNo) == 0);
  CHECK(Read(path) == "new");
  CHECK(WriteWhole(path, Bytes("newer")) == 0);
  CHECK(Read(path) == "newer");
  CHECK(folder.files() == 1);
}

TEST_CASE("a file is written where none is, or with replace over one of its sort") {
  const Folder folder;
  const FileSort traces{"a trace", &IsTraceFile}, all{"", [](std::span<const uint8_t>) { return false; }};
  const std::string path = folder.path("a"), text = folder.Make("text", "my diary");
  CHECK(WriteFile(path, Bytes("ANTTRACK1"), traces, Replace::kNo).ok());
  CHECK(WriteFile(path, Bytes("ANTTRACK2"), traces, Replace::kNo).message() ==
        path + " exists already; -f replaces it");
  CHECK(WriteFile(path, Bytes("ANTTRACK3"), traces, Replace::kYes).ok());
  CHECK(Read(path) == "ANTTRACK3");
  CHECK(WriteFile(text, Bytes("ANTTRACK"), traces, Replace::kYes).message() ==
        text + " is something else, not a trace: give another name, or remove it");
  CHECK(WriteFile(text, Bytes("x"), all, Replace::kYes).message() ==
        text + " is something else: give another name, or remove it");
  CHECK(Read(text) == "my diary");
  CHECK(WriteFile(folder.path("no/such"), Bytes("x"), traces, Replace::kNo).message() ==
        "cannot write " + folder.path("no/such") + ": No such file or directory");
}

TEST_CASE("what cannot take its place leaves nothing") {
  const Folder folder;
  fs::create_directories(folder.path("a/full"));
  CHECK(WriteWhole(folder.path("a"), Bytes("new")) == EISDIR);
  CHECK(WriteWhole(folder.path("no/such"), Bytes("new")) == ENOENT);
  CHECK(folder.files() == 1);
}

TEST_CASE("what a killed process left is removed, and nothing else") {
  const Folder folder;
  const std::string precious = folder.Make("precious", "precious");
  folder.Make("a.tmp-0123456789abcdef", "half");
  for (const char* name : {"a", "a.tmp", "a.tmp-0123", "a.tmp-0123456789abcdeg", "ab.tmp-0123456789abcdef",
                           "b.tmp-0123456789abcdef", "a-tmp-0123456789abcdef", "a.tmp-0123456789abcdef0"})
    folder.Make(name, "other");
  REQUIRE(symlink(precious.c_str(), folder.path("a.tmp-00000000000000ff").c_str()) == 0);
  RemoveUnfinished(folder.path("a"));
  CHECK_FALSE(fs::exists(folder.path("a.tmp-0123456789abcdef")));
  CHECK(folder.files() == 10);
}

TEST_CASE("traces, their beginnings and empty files may be replaced, anything else is told by its kind") {
  const Folder folder;
  const std::string magic(kFileMagic, sizeof kFileMagic);
  CHECK(WhyNotReplaced(folder.path("none"), &IsTraceFile) == "");
  for (const std::string& ours : {std::string(), std::string("ANT"), magic, magic + std::string(100, 'x')}) {
    CHECK(WhyNotReplaced(folder.Make("ours", ours), &IsTraceFile) == "");
  }
  CHECK(WhyNotReplaced(folder.Make("text", "ANTTRACE my diary"), &IsTraceFile) == "something else");
  CHECK(WhyNotReplaced(folder.Make("dump", "JAVA PROFILE 1.0.2"), &IsTraceFile) == "a Java heap dump (hprof)");
  REQUIRE(symlink(folder.path("ours").c_str(), folder.path("link").c_str()) == 0);
  REQUIRE(symlink(folder.path("none").c_str(), folder.path("dangling").c_str()) == 0);
  REQUIRE(mkfifo(folder.path("fifo").c_str(), 0600) == 0);
  fs::create_directory(folder.path("folder"));
  CHECK(WhyNotReplaced(folder.path("link"), &IsTraceFile) == "a symbolic link");
  CHECK(WhyNotReplaced(folder.path("dangling"), &IsTraceFile) == "a symbolic link");
  CHECK(WhyNotReplaced(folder.path("fifo"), &IsTraceFile) == "a FIFO");
  CHECK(WhyNotReplaced(folder.path("folder"), &IsTraceFile) == "a folder");
  CHECK(WhyNotReplaced("/dev/null", &IsTraceFile) == "a device");
}

}  // namespace
}  // namespace anttracks::trace
