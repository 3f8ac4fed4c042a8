// SPDX-License-Identifier: Apache-2.0
#include "analyzer/attach/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>

#include "analyzer/attach/removed_on_signal.h"

namespace anttracks::analyzer {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using trace::Result;
using trace::Status;

constexpr milliseconds kPause{20};
constexpr milliseconds kBusy{10'000};  // to wait for the requests of others
constexpr size_t kArguments = 3;

Status SystemError(const std::string& what) {
  return Status::Error(what + ": " + std::generic_category().message(errno));
}

bool IsOf(int fd, pid_t server) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == server;
}

std::string SocketOf(const Target& target) {
  return "/tmp/" + target.socket() + " of process " + std::to_string(target.pid);
}

// The socket's file, only at a socket that the JVM's own user made: /tmp is everybody's.
Descriptor FindSocket(const Target& target) {
  const Descriptor tmp = OpenTmp(target);
  Descriptor found(tmp.ok() ? openat(tmp.get(), target.socket().c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1);
  struct stat made {};
  if (!found.ok() || fstat(found.get(), &made) != 0) return {};
  errno = ENOTSOCK;
  if (!S_ISSOCK(made.st_mode) || made.st_uid != target.uid) return {};
  return found;
}

// While others wait for the JVM it takes no more connections. nobody: set when it fails as no such process
// listens there.
Result<Descriptor> Connect(const Target& target, steady_clock::time_point until, bool* nobody = nullptr) {
  const std::string what = SocketOf(target);
  const Descriptor file = FindSocket(target);
  if (nobody != nullptr) *nobody = !file.ok();
  if (!file.ok()) return SystemError("cannot connect to " + what);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  NameOf(file).copy(address.sun_path, sizeof address.sun_path - 1);
  Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.ok()) return SystemError("cannot make a socket");
  while (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (nobody != nullptr) *nobody = errno == ECONNREFUSED || errno == ENOENT;
    if (errno != EAGAIN && errno != EINTR) return SystemError("cannot connect to " + what);
    if (steady_clock::now() >= until) return Status::Error("the JVM is busy with other requests");
    std::this_thread::sleep_for(kPause);
  }
  if (IsOf(fd.get(), target.pid)) return fd;
  if (nobody != nullptr) *nobody = true;
  return Status::Error(what + " is another process' socket");
}

// Waits until the socket is ready for what is asked.
Status Await(int fd, short events, steady_clock::time_point until) {
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now()).count();
    pollfd waiting{fd, events, 0};
    const int ready = left <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(left));
    if (ready > 0) return {};
    if (ready == 0) return Status::Error("the JVM does not answer");
    if (errno != EINTR) return SystemError("cannot wait for the JVM");
  }
}

Status Send(int fd, const std::string& bytes, steady_clock::time_point until) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const Status status = Await(fd, POLLOUT, until);
    if (!status.ok()) return status;
    const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EINTR && errno != EAGAIN) return SystemError("the JVM closed its socket");
    if (n > 0) sent += static_cast<size_t>(n);
  }
  return {};
}

Result<std::string> Receive(int fd, steady_clock::time_point until) {
  std::string text;
  char part[4096];
  while (true) {
    const Status status = Await(fd, POLLIN, until);
    if (!status.ok()) return status;
    const ssize_t n = recv(fd, part, sizeof part, MSG_DONTWAIT);
    if (n == 0) return text;
    if (n < 0 && errno != EINTR && errno != EAGAIN) return SystemError("the JVM closed its socket");
    if (n > 0) text.append(part, static_cast<size_t>(n));
    if (text.size() > kMostAnswer) return Status::Error("the JVM's answer has no end");
  }
}

// An error when there is a socket of the JVM's, but it cannot be reached.
Result<bool> Listens(const Target& target) {
  bool nobody = false;
  const auto fd = Connect(target, steady_clock::now() + kBusy, &nobody);
  if (fd.ok()) return true;
  if (nobody) return false;
  return fd.status();
}

// What tells the JVM that SIGQUIT means to listen. Gone with its owner.
class AttachFile {
 public:
  explicit AttachFile(const Target& target)
      : tmp_(OpenTmp(target)), name_(".attach_pid" + std::to_string(target.inner_pid)) {
    const SignalsHeld held;
    bool believed = false;
    // Another one's may go just now.
    for (int tries = 0; tries < 3 && !made_ && !believed; tries++) {
      if (!tmp_.ok()) break;
      const Descriptor fd(
          openat(tmp_.get(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
      made_ = fd.ok();
      if (made_ || errno != EEXIST) break;
      believed = IsBelieved(target);
      errno = EEXIST;
    }
    if (made_) {
      on_signal_.Remember(tmp_.get(), name_, 0);
      return;
    }
    const std::string what = "the file " + name_ + " in its /tmp, which tells the JVM to listen";
    if (errno != EEXIST) {
      error_ = SystemError("cannot make " + what);
    } else if (!believed) {
      error_ = Status::Error(what +
                             ", is there already and belongs to another user: the JVM would print a thread "
                             "dump instead; delete it");
    }
  }
  ~AttachFile() {
    if (made_) unlinkat(tmp_.get(), name_.c_str(), 0);
  }
  AttachFile(const AttachFile&) = delete;
  const Status& error() const { return error_; }

 private:
  // As HotSpot does: its own user's, or root's.
  bool IsBelieved(const Target& target) const {
    struct stat there {};
    return fstatat(tmp_.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(there.st_mode) &&
           (there.st_uid == target.uid || there.st_uid == 0);
  }

  const Descriptor tmp_;
  const std::string name_;
  RemovedOnSignal on_signal_;
  bool made_ = false;
  Status error_;
};

Obstacle MayBeSignalled(const Target& target) {
  const std::string what = "process " + std::to_string(target.pid);
  const std::optional<bool> forbidden = Forbidden(target);
  if (forbidden == true) {
    return {kExitForbidden,
            what +
                " was started with -XX:+DisableAttachMechanism: nobody can attach; start it without, or with "
                "-agentpath:libanttracks.so"};
  }
  if (!forbidden) {
    return {kExitForbidden,
            what +
                " keeps no performance data (-XX:-UsePerfData) and has options in files, so nobody can tell "
                "whether it "
                "lets itself be attached to; if it does, jcmd " +
                std::to_string(target.pid) +
                " VM.version first makes it listen (if not, that prints a thread dump into its output)"};
  }
  if (target.catches_quit) return {};
  return {
      kExitForbidden,
      what +
          " would be ended by the signal that asks a JVM to listen: it is still starting (try again), or runs "
          "with -Xrs"};
}

}  // namespace

Obstacle Wake(const Target& target, milliseconds wait) {
  const auto unreachable = [&target](const Status& why) {
    return Obstacle{kExitNoAnswer,
                    "process " + std::to_string(target.pid) + " listens, but " + why.message() + "; try again"};
  };
  // Not signalled then: a JVM that listens takes SIGQUIT for the wish to have a thread dump.
  auto listens = Listens(target);
  if (!listens.ok()) return unreachable(listens.status());
  if (*listens) return {};
  Obstacle obstacle = MayBeSignalled(target);
  if (!obstacle.none()) return obstacle;
  const AttachFile file(target);
  if (!file.error().ok()) return {kExitNoAnswer, file.error().message()};
  if (Signal(target, SIGQUIT) != 0) {
    return {errno == ESRCH ? kExitNoProcess : kExitOtherUser,
            SystemError("cannot signal process " + std::to_string(target.pid)).message()};
  }
  for (const auto until = steady_clock::now() + wait; steady_clock::now() < until;
       std::this_thread::sleep_for(kPause)) {
    listens = Listens(target);
    if (!listens.ok()) return unreachable(listens.status());
    if (*listens) return {};
    if (Signal(target, 0) != 0)
      return {kExitNoProcess, "process " + std::to_string(target.pid) + " has ended meanwhile"};
  }
  return {kExitNoAnswer, "process " + std::to_string(target.pid) +
                             " did not open its socket in time: it hangs, or waits in a long pause; try again"};
}

Result<Answer> Execute(const Target& target, const std::vector<std::string>& words, milliseconds wait) {
  const auto until = steady_clock::now() + wait;
  std::string request("1\0", 2);
  for (size_t i = 0; i <= kArguments; i++) request.append(i < words.size() ? words[i] : "").append(1, '\0');
  auto fd = Connect(target, until);
  if (!fd.ok()) return fd.status();
  const Status sent = Send(fd->get(), request, until);
  if (!sent.ok()) return sent;
  auto text = Receive(fd->get(), until);
  if (!text.ok()) return text.status();
  return ParseAnswer(*text);
}

}  // namespace anttracks::analyzer
