// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "analyzer/attach/connection.h"
#include "analyzer/attach/perf_data.h"
#include "analyzer/attach/request.h"
#include "analyzer/attach/target.h"

namespace anttracks::analyzer {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/anttracks-unit-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }
  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }

 private:
  std::string path_;
};

void Put(std::string* out, size_t at, uint32_t number) { std::memcpy(out->data() + at, &number, 4); }

// A file of performance data with these texts, and a number between them.
std::string PerfFile(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::string file(32, '\0');
  std::memcpy(file.data(), "\xca\xfe\xc0\xc0\x01\x02\x00\x01", 8);
  Put(&file, 24, 32);
  Put(&file, 28, static_cast<uint32_t>(2 * texts.size()));
  for (const auto& [name, value] : texts) {
    for (const bool text : {false, true}) {
      std::string entry(20, '\0');
      entry += name + '\0';
      const size_t data = entry.size();
      entry += text ? value + std::string(8, '\0') : std::string(8, '\1');
      Put(&entry, 0, static_cast<uint32_t>(entry.size()));
      Put(&entry, 4, 20);
      Put(&entry, 8, text ? static_cast<uint32_t>(value.size() + 8) : 0);
      entry[12] = text ? 'B' : 'J';
      Put(&entry, 16, static_cast<uint32_t>(data));
      file += entry;
    }
  }
  return file;
}

std::map<std::string, std::string> Parse(const std::string& file) {
  return PerfTexts({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
}

TEST_CASE("performance data: texts are found among numbers, and damage ends the list") {
  const std::string file = PerfFile({{"sun.rt.jvmCapabilities", "1100"}, {"sun.gc.collector.0.name", "PSScavenge"}});
  const auto texts = Parse(file);
  CHECK(texts.size() == 2);
  CHECK(texts.at("sun.rt.jvmCapabilities") == "1100");
  CHECK(texts.at("sun.gc.collector.0.name") == "PSScavenge");
  for (size_t bytes = 0; bytes < file.size(); bytes++) CHECK(Parse(file.substr(0, bytes)).size() <= 2);
  for (size_t at = 0; at < file.size(); at++) {
    std::string damaged = file;
    damaged[at] = '\xff';
    CHECK(Parse(damaged).size() <= 4);
  }
  CHECK(Parse("").empty());
}

// A process 77 that calls itself 7, with a libjvm.so.
class FakeProc {
 public:
  explicit FakeProc(const std::string& vm = "code com.github.anttracks.functions.GetVM code",
                    const std::string& perf = PerfFile({{"sun.rt.jvmCapabilities", "1"}, {"sun.gc.collector.0.name", "Copy"}})) {
    const std::string me = std::to_string(geteuid());
    folder_.Write("77/status", "Name:\tjava\nState:\tS (sleeping)\nUid:\t1\t" + me + "\t3\t4\nGid:\t5\t6\t7\t8\nNSpid:\t77\t7\n" +
                                   "SigCgt:\t0000000000000004\n");
    folder_.Write("77/maps",
                  "7f00-7f10 r-xp 00000000 fe:01 12 /usr/lib/libc.so\n7f10-7f20 r-xp 00000000 fe:01 13    /jdk 17/lib/server/libjvm.so\n"
                  "7f20-7f30 rw-p 00000000 00:00 0\n7f30-7f40 r-xp 00000000 fe:01 14 /opt/libanttracks.so (deleted)\n");
    folder_.Write("77/cmdline", std::string("java\0-Xmx1g\0Main\0", 17));
    folder_.Write("77/environ", std::string("PATH=/bin\0JAVA_TOOL_OPTIONS=-Da=b -Dc=d\0", 40));
    folder_.Write("77/root/jdk 17/lib/server/libjvm.so", vm);
    if (!perf.empty()) folder_.Write("77/root/tmp/hsperfdata_me/7", perf);
  }
  const Folder& folder() const { return folder_; }
  Target Looked() const { return *Look(77, folder_.path()); }

 private:
  Folder folder_;
};

TEST_CASE("a process is looked at through /proc") {
  const FakeProc proc;
  const Target target = proc.Looked();
  CHECK(target.inner_pid == 7);
  CHECK(target.uid == geteuid());
  CHECK(target.gid == 6);
  CHECK(target.state == 'S');
  CHECK(target.catches_quit);
  CHECK(target.readable);
  CHECK(target.libjvm == "/jdk 17/lib/server/libjvm.so");
  CHECK(target.patched == true);
  CHECK(target.agent == "/opt/libanttracks.so");
  CHECK(target.agent_deleted);
  CHECK(target.Collector() == "Serial");
  CHECK(target.socket() == proc.folder().path() + "/77/root/tmp/.java_pid7");
  CHECK(target.option_variables == " -Da=b -Dc=d");
  CHECK(FakeProc("a stock VM").Looked().patched == false);
  CHECK(FakeProc("", PerfFile({{"sun.gc.collector.0.name", "G1 young collection pauses"}})).Looked().Collector() == "G1");
  CHECK_FALSE(Look(78, proc.folder().path()).has_value());
}

TEST_CASE("whether attaching is forbidden: the JVM's own word, then the last flag, then nobody knows") {
  CHECK(Forbidden(FakeProc().Looked()) == false);
  CHECK(Forbidden(FakeProc("", PerfFile({{"sun.rt.jvmCapabilities", "0100"}})).Looked()) == true);
  Target target = FakeProc("", "").Looked();
  CHECK(Forbidden(target) == false);
  target.arguments = {"java", "-XX:+DisableAttachMechanism", "Main"};
  CHECK(Forbidden(target) == true);
  target.arguments.insert(target.arguments.begin() + 2, "-XX:-DisableAttachMechanism");
  CHECK(Forbidden(target) == false);
  target.option_variables = " -XX:+DisableAttachMechanism";
  CHECK(Forbidden(target) == true);
  target.option_variables = "";
  target.arguments = {"java", "@options", "Main"};
  CHECK_FALSE(Forbidden(target).has_value());
}

TEST_CASE("each obstacle has its own code and says what to do") {
  const Target fine = FakeProc().Looked();
  const Caller own{fine.uid, fine.gid}, root{0, 0};
  const auto code = [&](Target target, const Caller& caller) { return CheckProcess(target, 77, caller).code; };
  CHECK(code(fine, own) == 0);
  CHECK(code(fine, root) == 0);
  CHECK(CheckProcess(std::nullopt, 77, root).code == kExitNoProcess);
  Target other = fine;
  other.uid = 1000;
  CHECK(code(other, {1001, fine.gid}) == kExitOtherUser);
  CHECK(code(other, {1000, 1}) == kExitOtherUser);  // the JVM asks for the group, too
  CHECK(code(other, root) == 0);
  CHECK(CheckProcess(other, 77, {1001, 1}).message.find("sudo") != std::string::npos);
  Target zombie = fine, stopped = fine, sleep = fine, hidden = fine;
  zombie.state = 'Z';
  CHECK(code(zombie, root) == kExitNoProcess);
  stopped.state = 'T';
  CHECK(code(stopped, root) == kExitNoAnswer);
  sleep.libjvm.clear();
  CHECK(code(sleep, root) == kExitNotJava);
  hidden.readable = false;
  CHECK(code(hidden, own) == kExitOtherNamespace);
}

TEST_CASE("a process that ends while it is looked at is no process of another namespace") {
  const FakeProc proc;
  proc.folder().Write("77/maps", "");
  fs::remove_all(proc.folder().path() + "/77/root");
  const Target target = proc.Looked();
  CHECK(CheckProcess(target, 77, {0, 0}).code == kExitNoProcess);
  fs::remove(proc.folder().path() + "/77/maps");  // not to be read
  CHECK(CheckProcess(proc.Looked(), 77, {0, 0}).code == kExitOtherNamespace);
}

TEST_CASE("a library that the process cannot see, and mode=full without the patch, are obstacles") {
  const FakeProc proc;
  Target target = proc.Looked();
  CHECK(CheckLibrary(target, "/opt/libanttracks.so").code != 0);
  target.same_mounts = false;
  CHECK(CheckLibrary(target, "/opt/libanttracks.so").code == kExitOtherNamespace);
  proc.folder().Write("77/root/opt/libanttracks.so", "library");
  CHECK(CheckLibrary(target, "/opt/libanttracks.so").none());
  CHECK(CheckMode(target, "mode=full").none());
  target.patched = false;
  CHECK(CheckMode(target, "file=x,mode=full,log=info").code == kExitNotPatched);
  CHECK(CheckMode(target, "file=mode=full").none());
  CHECK(CheckMode(target, "").none());
  target.patched.reset();
  CHECK(CheckMode(target, "mode=full").none());
}

TEST_CASE("paths of options become absolute, and a trace gets a default one") {
  CHECK(WithAbsolutePaths("", "/here", true) == "file=/here/anttracks-%p.trace");
  CHECK(WithAbsolutePaths("", "/here", false) == "");
  CHECK(WithAbsolutePaths("maxsize=8G,dev=0.1", "/100%", true) == "maxsize=8G,dev=0.1,file=/100%%/anttracks-%p.trace");
  CHECK(WithAbsolutePaths("file=a,stats=b,log=c", "/here", true) == "file=/here/a,stats=/here/b,log=c");
  CHECK(WithAbsolutePaths("file=/a,stats=/b", "/here", true) == "file=/a,stats=/b");
  CHECK(WithAbsolutePaths("file=a", "", true) == "file=a");
  CHECK(WithAbsolutePaths("file=", "/here", true) == "file=");
}

// Listens where a JVM would; answers one request.
class FakeJvm {
 public:
  FakeJvm(const std::string& path, std::string answer) : answer_(std::move(answer)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(fd_, 4) == 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeJvm() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  const std::string& heard() const { return heard_; }

 private:
  void Serve() {
    const int client = accept(fd_, nullptr, nullptr);
    if (client < 0) return;
    char part[256];
    for (int nuls = 0; nuls < 5;) {
      const ssize_t n = read(client, part, sizeof part);
      if (n <= 0) break;
      heard_.append(part, static_cast<size_t>(n));
      for (ssize_t i = 0; i < n; i++) nuls += part[i] == '\0';
    }
    for (const char c : answer_) (void)!write(client, &c, 1);  // in many pieces
    close(client);
  }

  const std::string answer_;
  std::string heard_;
  int fd_ = -1;
  std::thread thread_;
};

TEST_CASE("a request is sent as the JVM expects it, and its answer read to the end") {
  const Folder folder;
  const std::string path = folder.path() + "/socket";
  {
    FakeJvm jvm(path, "0\nreturn code: 100\n");
    const auto answer = Execute(path, getpid(), {"load", "/lib.so", "true", "a=b,c=d"}, milliseconds(20'000));
    REQUIRE(answer.ok());
    CHECK(answer->code == 0);
    CHECK(answer->text == "return code: 100\n");
    CHECK(jvm.heard() == std::string("1\0load\0/lib.so\0true\0a=b,c=d\0", 28));
  }
  fs::remove(path);
  FakeJvm jvm(path, "-1\n/lib.so was not loaded.\n");
  const auto answer = Execute(path, getpid(), {"load", "/lib.so"}, milliseconds(20'000));
  REQUIRE(answer.ok());
  CHECK(answer->code == -1);
  CHECK(answer->text == "/lib.so was not loaded.\n");
  CHECK(jvm.heard() == std::string("1\0load\0/lib.so\0\0\0", 17));
}

TEST_CASE("a JVM that closes, is silent or is not there is an error, not a wait without end") {
  const Folder folder;
  const std::string path = folder.path() + "/socket";
  CHECK_FALSE(Execute(path, getpid(), {"load"}, milliseconds(20'000)).ok());
  {
    FakeJvm jvm(path, "");  // as one that does not know the user
    CHECK_FALSE(Execute(path, getpid(), {"load"}, milliseconds(20'000)).ok());
  }
  fs::remove(path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  REQUIRE(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(listen(fd, 1) == 0);
  const auto answer = Execute(path, getpid(), {"load"}, milliseconds(50));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.message().find("does not answer") != std::string::npos);
  close(fd);
}

TEST_CASE("a JVM that forbids attaching, or would die of the signal, gets none") {
  // Process 77 of this machine, whatever it is, must not be signalled: the fake one has another root, and no socket.
  Target target = FakeProc("", PerfFile({{"sun.rt.jvmCapabilities", "0"}})).Looked();
  target.pid = getpid();  // SIGQUIT would end the test
  CHECK(Wake(target, milliseconds(1)).code == kExitForbidden);
  target = FakeProc().Looked();
  target.pid = getpid();
  target.catches_quit = false;
  CHECK(Wake(target, milliseconds(1)).code == kExitForbidden);
}

std::atomic<int> quits{0};

// Wakes this process, with the root folder of a fake one, and expects that it is not signalled.
Obstacle WakeUnsignalled(const FakeProc& proc) {
  Target target = proc.Looked();
  target.pid = getpid();
  struct sigaction counts {
  }, before{};
  counts.sa_handler = [](int) { quits++; };
  sigaction(SIGQUIT, &counts, &before);
  const Obstacle obstacle = Wake(target, milliseconds(1));
  sigaction(SIGQUIT, &before, nullptr);
  CHECK(quits.exchange(0) == 0);
  return obstacle;
}

TEST_CASE("who is interrupted while it waits for a JVM leaves nothing behind") {
  const FakeProc proc;
  const std::string attach_file = proc.folder().path() + "/77/root/tmp/.attach_pid7";
  Target target = proc.Looked();
  const pid_t waiting = fork();
  if (waiting == 0) {
    std::signal(SIGINT, SIG_DFL);  // not the test program's
    std::signal(SIGQUIT, SIG_IGN);
    target.pid = getpid();  // has no socket there, ever
    Wake(target, milliseconds(30'000));
    _exit(1);
  }
  for (int i = 0; i < 5000 && !fs::exists(attach_file); i++) std::this_thread::sleep_for(milliseconds(1));
  CHECK(fs::exists(attach_file));
  kill(waiting, SIGINT);
  int status = 0;
  REQUIRE(waitpid(waiting, &status, 0) == waiting);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGINT);
  CHECK_FALSE(fs::exists(attach_file));
}

TEST_CASE("a JVM that would take the signal for the wish to have a thread dump gets none") {
  const FakeProc proc;
  const std::string tmp = proc.folder().path() + "/77/root/tmp";
  SUBCASE("it listens, but cannot be reached now") {
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = tmp + "/.java_pid7";
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    REQUIRE(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    const Obstacle obstacle = WakeUnsignalled(proc);
    CHECK(obstacle.code == kExitNoAnswer);
    CHECK(obstacle.message.find("listens, but cannot connect") != std::string::npos);
    close(fd);
  }
  SUBCASE("it does not believe what says that it shall listen") {
    fs::create_symlink("/dev/null", tmp + "/.attach_pid7");
    const Obstacle obstacle = WakeUnsignalled(proc);
    CHECK(obstacle.code == kExitNoAnswer);
    CHECK(obstacle.message.find(".attach_pid7") != std::string::npos);
    CHECK(fs::is_symlink(tmp + "/.attach_pid7"));
  }
}

}  // namespace
}  // namespace anttracks::analyzer
