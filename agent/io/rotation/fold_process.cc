// SPDX-License-Identifier: Apache-2.0
#include "agent/io/rotation/fold_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "agent/io/descriptor.h"

namespace anttracks::io {
namespace {

using trace::Status;

constexpr size_t kMostText = 2000;

uint64_t Nanoseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_usec) * 1'000;
}

constexpr int kByDescriptor = 3;  // P_PIDFD

// -1: the system has no such thing, or cannot wait for it.
int OpenProcess(pid_t pid) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  siginfo_t info{};
  if (fd < 0 || syscall(SYS_waitid, kByDescriptor, fd, &info, WEXITED | WNOHANG | WNOWAIT, nullptr) == 0 ||
      errno == ECHILD) {
    return fd;
  }
  close(fd);
  return -1;
}

// The first that the system ends when memory is short. It does so itself, too, but only after its libraries are
// loaded. Without a descriptor nothing: the number may be another process'.
void MakeFirstToGo(pid_t pid, int process) {
  if (process < 0) return;
  const std::string path = "/proc/" + std::to_string(pid) + "/oom_score_adj";
  const int score = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (score < 0) return;
  // It is there, so the number was its own when the file was opened.
  if (syscall(SYS_pidfd_send_signal, process, 0, nullptr, 0) == 0) {
    [[maybe_unused]] const ssize_t written = write(score, "1000", 4);
  }
  close(score);
}

// 0 or an error number.
int Spawn(const std::string& program, char* const* arguments, int error_stream, pid_t* pid) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, error_stream, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  // The writer blocks all signals; the new process must not.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  char* const environment[] = {nullptr};
  const int error = posix_spawn(pid, program.c_str(), &files, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

}  // namespace

Status FoldProcess::Start(const std::string& data_file, uint64_t max_bytes) {
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) pipe[0] = pipe[1] = -1;
  for (int& end : pipe) end = AboveStandardStreams(end);
  if (pipe[0] < 0 || pipe[1] < 0) {
    const int error = errno;
    for (const int end : pipe) close(end);
    return Status::Error("cannot make a pipe: " + std::generic_category().message(error));
  }
  fcntl(pipe[0], F_SETFL, O_NONBLOCK);
  std::string limit = "--max-bytes=" + std::to_string(max_bytes);
  std::string name = "anttracks", command = "fold", force = "-f", file = data_file;
  std::string child = "--as-child=" + std::to_string(memory_bytes_);
  const std::array<char*, 7> arguments = {name.data(), command.data(), force.data(), limit.data(),
                                          file.data(), child.data(),   nullptr};
  const int error = Spawn(program_, arguments.data(), pipe[1], &pid_);
  close(pipe[1]);
  messages_ = pipe[0];
  text_.clear();
  if (error == 0) {
    process_ = AboveStandardStreams(OpenProcess(pid_));
    MakeFirstToGo(pid_, process_);
    return {};
  }
  Close();
  return Status::Error("cannot run " + program_ + ": " + std::generic_category().message(error));
}

// As wait4: the number of the process, 0: it runs, or -1 and errno.
int FoldProcess::Wait(IfRunning if_running, int* state, void* usage) {
  const int how = if_running == IfRunning::kWait ? 0 : WNOHANG;
  if (process_ < 0) return wait4(pid_, state, how, static_cast<rusage*>(usage));
  siginfo_t info{};
  // Only the system call tells what the process has used.
  if (syscall(SYS_waitid, kByDescriptor, process_, &info, WEXITED | how, usage) != 0) return -1;
  if (info.si_pid == 0) return 0;
  *state = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : W_EXITCODE(0, info.si_status & 0x7f);
  return info.si_pid;
}

FoldProcess::Outcome FoldProcess::Poll() {
  if (!running()) return {};
  ReadMessages();
  int state = 0;
  rusage usage{};
  const int done = Wait(IfRunning::kReturn, &state, &usage);
  if (done == 0 || (done < 0 && errno == EINTR)) return {};
  Outcome outcome;
  outcome.ended = true;
  if (done < 0) {
    // Somebody else waits for all children of this process, or wants to hear of none.
    outcome.unseen = true;
    outcome.message = "its end was not seen: " + std::generic_category().message(errno);
  } else {
    outcome.good = WIFEXITED(state) && WEXITSTATUS(state) == 0;
    outcome.cpu_ns = Nanoseconds(usage.ru_utime) + Nanoseconds(usage.ru_stime);
    ReadMessages();
    outcome.message = !text_.empty() ? text_ : WIFSIGNALED(state) ? "it was killed" : "it failed";
  }
  Close();
  return outcome;
}

void FoldProcess::Stop() {
  if (!running()) return;
  if (process_ >= 0) {
    (void)syscall(SYS_pidfd_send_signal, process_, SIGKILL, nullptr, 0);
  } else {
    kill(pid_, SIGKILL);
  }
  int state = 0;
  while (Wait(IfRunning::kWait, &state, nullptr) < 0 && errno == EINTR) {
  }
  Close();
}

void FoldProcess::ForgetInForkedChild() {
  for (const int fd : {process_, messages_}) {
    if (fd >= 0) close(fd);
  }
  process_ = messages_ = -1;
  pid_ = 0;
}

// So much that it never waits for a reader.
void FoldProcess::ReadMessages() {
  std::array<char, 512> block;
  ssize_t n;
  while ((n = read(messages_, block.data(), block.size())) > 0) {
    if (text_.size() < kMostText) text_.append(block.data(), static_cast<size_t>(n));
  }
  while (!text_.empty() && text_.back() == '\n') text_.pop_back();
}

void FoldProcess::Close() { ForgetInForkedChild(); }

}  // namespace anttracks::io
