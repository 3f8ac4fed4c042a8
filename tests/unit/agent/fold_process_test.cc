// SPDX-License-Identifier: Apache-2.0
// The process that folds, in an application that has children of its own.
#include "agent/io/rotation/fold_process.h"

#include <doctest/doctest.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "tests/unit/agent/recorded.h"

namespace anttracks::core {
namespace {

namespace fs = std::filesystem;

std::string Script(const std::string& body) {
  const std::string path = TemporaryPath();
  std::ofstream(path) << "#!/bin/sh\n" << body;
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

std::set<std::string> OpenFiles() {
  std::set<std::string> open;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = fs::read_symlink(entry.path(), error).string();
    if (target.rfind("/proc/", 0) != 0)
      open.insert(entry.path().filename().string() + " " + target);  // not this listing
  }
  return open;
}

io::FoldProcess::Outcome End(io::FoldProcess& fold) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  io::FoldProcess::Outcome outcome;
  while (!(outcome = fold.Poll()).ended && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return outcome;
}

// A child of that number, which another one had; 0: the system lets nobody choose it.
pid_t ChildOfNumber(pid_t pid) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<uint64_t>(&pid);
  arguments.set_tid_size = 1;
  const long made = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (made != 0) return made < 0 ? 0 : static_cast<pid_t>(made);
  while (true) pause();
}

TEST_CASE("a process is the first to go when memory is short though it does nothing for it itself") {
  io::FoldProcess fold(
      Script("for try in 1 2 3 4 5 6 7 8 9 10; do\n"
             "  read score < /proc/$$/oom_score_adj\n"
             "  [ $score = 1000 ] && break\n"
             "  sleep 0.1\n"
             "done\n"
             "echo $score >&2; exit 1\n"));
  REQUIRE(fold.Start("x", 1).ok());
  CHECK(End(fold).message == "1000");
}

TEST_CASE("an end is told as it was: fine, failed with what it said, killed") {
  {
    io::FoldProcess fold(Script("exit 0\n"));
    REQUIRE(fold.Start("x", 1).ok());
    const auto outcome = End(fold);
    CHECK(outcome.good);
    CHECK(outcome.cpu_ns > 0);
  }
  {
    io::FoldProcess fold(Script("echo no luck >&2; exit 3\n"));
    REQUIRE(fold.Start("x", 1).ok());
    const auto outcome = End(fold);
    CHECK_FALSE(outcome.good);
    CHECK(outcome.message == "no luck");
  }
  io::FoldProcess fold(Script("kill -9 $$\n"));
  REQUIRE(fold.Start("x", 1).ok());
  const auto outcome = End(fold);
  CHECK_FALSE(outcome.good);
  CHECK_FALSE(outcome.unseen);
  CHECK(outcome.message == "it was killed");
}

TEST_CASE("one that is stopped is gone, and leaves no descriptor open") {
  const std::set<std::string> before = OpenFiles();
  for (int i = 0; i < 3; i++) {
    io::FoldProcess fold("/bin/sleep");
    REQUIRE(fold.Start("1000", 1).ok());
    fold.Stop();
    CHECK_FALSE(fold.running());
    CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  }
  CHECK(OpenFiles() == before);
}

TEST_CASE("a child that the application has forked holds nothing of it") {
  io::FoldProcess fold(Script("exec sleep 1000\n"));
  const std::set<std::string> before = OpenFiles();
  REQUIRE(fold.Start("x", 1).ok());
  const pid_t child = fork();
  if (child == 0) {
    fold.ForgetInForkedChild();
    _exit(OpenFiles() == before ? 0 : 1);
  }
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);
  CHECK(state == 0);
}

TEST_CASE("where the application waits for all children, no other process of that number is killed") {
  const std::string path = TemporaryPath();
  io::FoldProcess fold(Script("echo $$ >" + path + "\n"));
  REQUIRE(fold.Start("x", 1).ok());
  int state = 0;
  const pid_t ended = waitpid(-1, &state, 0);
  REQUIRE(ended > 0);
  REQUIRE(ReadFile(path) == std::to_string(ended) + "\n");
  const pid_t other = ChildOfNumber(ended);
  if (other == 0) {
    MESSAGE("not tested: only root can choose a process's number");
    return;
  }
  REQUIRE(other == ended);
  fold.Stop();
  CHECK_FALSE(fold.running());
  CHECK(waitpid(other, &state, WNOHANG) == 0);
  kill(other, SIGKILL);
  CHECK(waitpid(other, &state, 0) == other);
}

}  // namespace
}  // namespace anttracks::core
