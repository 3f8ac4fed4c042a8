// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include "analyzer/attach/connection.h"
#include "analyzer/attach/perf_data.h"
#include "analyzer/attach/removed_on_signal.h"
#include "analyzer/attach/request.h"
#include "analyzer/attach/target.h"
#include "tests/unit/analyzer/attach_fakes.h"

namespace anttracks::analyzer {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

std::map<std::string, std::string> Parse(const std::string& file) {
  return PerfTexts({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
}

TEST_CASE("performance data: texts are found among numbers, and damage ends the list") {
  const std::string file =
      PerfFile({{"sun.rt.jvmCapabilities", "1100"}, {"sun.gc.collector.0.name", "PSScavenge"}});
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
  for (const size_t at : {0u, 5u}) {  // the file's mark, the version
    std::string other = file;
    other[at]++;
    CHECK(Parse(other).empty());
  }
}

TEST_CASE("performance data: numbers are no texts, and an entry shorter than its head ends the list") {
  std::string file = PerfFile({{"name", "text"}});
  Put(&file, 32 + 8, 8);  // the number has bytes, as an array of them would
  CHECK(Parse(file).at("name") == "text");
  Put(&file, 28, 1);
  CHECK(Parse(file).empty());
  file[32 + 12] = 'B';
  CHECK(Parse(file).at("name") == std::string(8, '\1'));
  for (const uint32_t bytes : {0u, 19u}) {
    Put(&file, 32, bytes);
    CHECK(Parse(file).empty());
  }
  Put(&file, 32, static_cast<uint32_t>(file.size() - 32 + 1));  // more than there is
  CHECK(Parse(file).empty());
}

TEST_CASE("performance data that another user has made is not believed") {
  if (geteuid() != 0) return;
  const FakeProc proc;
  CHECK_FALSE(proc.Looked().perf.empty());
  REQUIRE(chown((proc.folder().path() + "/77/root/tmp/hsperfdata_me/7").c_str(), 1234, 0) == 0);
  CHECK(proc.Looked().perf.empty());
}

TEST_CASE("a zombie has ended") {
  const FakeProc proc;
  const Target target = proc.Looked();
  CHECK_FALSE(HasEnded(target));
  proc.folder().Write("77/status", "Name:\tjava\nState:\tZ (zombie)\n");
  CHECK(HasEnded(target));
}

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
  CHECK(target.socket() == ".java_pid7");
  CHECK(target.option_variables == " -Da=b -Dc=d");
  CHECK(FakeProc("a stock VM").Looked().patched == false);
  for (const size_t before : {10u, 30u, 40u}) {  // the name reaches over the end of what is read at once
    const FakeProc across(std::string((1u << 20) - before, 'x') +
                          "com.github.anttracks.functions.GetVM and more");
    CHECK(across.Looked().patched == true);
  }
  CHECK(FakeProc("", PerfFile({{"sun.gc.collector.0.name", "G1 young collection pauses"}}))
            .Looked()
            .Collector() == "G1");
  CHECK(FakeProc("", PerfFile({{"sun.gc.collector.0.name", "PSScavenge"}})).Looked().Collector() == "Parallel");
  CHECK_FALSE(Look(78, proc.folder().path()).has_value());
}

TEST_CASE("whether attaching is forbidden: the JVM's own word, then the last flag, then nobody knows") {
  CHECK(Forbidden(FakeProc().Looked()) == false);
  CHECK(Forbidden(FakeProc("", PerfFile({{"sun.rt.jvmCapabilities", "0100"}})).Looked()) == true);
  CHECK(Forbidden(FakeProc("", PerfFile({{"sun.rt.jvmCapabilities", ""}})).Looked()) == false);
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
  for (const char state : {'T', 't'}) {  // by a signal, by a debugger
    stopped.state = state;
    CHECK(code(stopped, root) == kExitNoAnswer);
  }
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
  CHECK(WithAbsolutePaths("maxsize=8G,dev=0.1", "/100%", true) ==
        "maxsize=8G,dev=0.1,file=/100%%/anttracks-%p.trace");
  CHECK(WithAbsolutePaths("file=a,stats=b,log=c", "/here", true) == "file=/here/a,stats=/here/b,log=c");
  CHECK(WithAbsolutePaths("file=/a,stats=/b", "/here", true) == "file=/a,stats=/b");
  CHECK(WithAbsolutePaths("file=a", "", true) == "file=a");
  CHECK(WithAbsolutePaths("file=", "/here", true) == "file=");
  // What the agent refuses stays as it is.
  for (const std::string wrong : {",", ",,", "log=info,", ",log=info", "log=info,,dev=0.1,,"}) {
    CHECK(WithAbsolutePaths(wrong, "/here", false) == wrong);
  }
}

TEST_CASE("a request is sent as the JVM expects it, and its answer read to the end") {
  const FakeProc proc;
  const Target target = proc.Own();
  {
    FakeJvm jvm(proc.socket(), "0\nreturn code: 100\n");
    const auto answer = Execute(target, {"load", "/lib.so", "true", "a=b,c=d"}, milliseconds(20'000));
    REQUIRE(answer.ok());
    CHECK(answer->code == 0);
    CHECK(answer->text == "return code: 100\n");
    CHECK(jvm.heard() == std::string("1\0load\0/lib.so\0true\0a=b,c=d\0", 28));
  }
  fs::remove(proc.socket());
  FakeJvm jvm(proc.socket(), "-1\n/lib.so was not loaded.\n");
  const auto answer = Execute(target, {"load", "/lib.so"}, milliseconds(20'000));
  REQUIRE(answer.ok());
  CHECK(answer->code == -1);
  CHECK(answer->text == "/lib.so was not loaded.\n");
  CHECK(jvm.heard() == std::string("1\0load\0/lib.so\0\0\0", 17));
}

TEST_CASE("a JVM that closes, is silent or is not there is an error, not a wait without end") {
  const FakeProc proc;
  const Target target = proc.Own();
  CHECK_FALSE(Execute(target, {"load"}, milliseconds(20'000)).ok());
  {
    FakeJvm jvm(proc.socket(), "");  // as one that does not know the user
    CHECK_FALSE(Execute(target, {"load"}, milliseconds(20'000)).ok());
  }
  fs::remove(proc.socket());
  const Descriptor silent(Bound(proc.socket(), SOCK_STREAM));
  REQUIRE(listen(silent.get(), 1) == 0);
  const auto answer = Execute(target, {"load"}, milliseconds(50));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.message().find("does not answer") != std::string::npos);
}

TEST_CASE("nothing is sent to a socket that another process listens at, or that another user has made") {
  const FakeProc proc;
  // As /tmp is: so that it is the socket that is not believed.
  std::filesystem::permissions(proc.folder().path() + "/77/root/tmp", std::filesystem::perms::all);
  const FakeJvm jvm(proc.socket(), "0\nfine\n");
  Target target = proc.Own();
  target.uid++;
  CHECK_FALSE(Execute(target, {"load"}, milliseconds(20'000)).ok());
  target = proc.Own();
  target.pid = getppid();
  const auto answer = Execute(target, {"load"}, milliseconds(20'000));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.message().find("is another process' socket") != std::string::npos);
  CHECK(jvm.heard() == "");
}

TEST_CASE("paths and options that a JVM would cut off are refused before it is asked") {
  const FakeProc proc;
  proc.folder().Write("77/root/lib.so", "library");
  const auto asked = [&](const std::string& library, size_t options) {
    Target target = proc.Own();
    target.catches_quit = false;  // so that it is refused at the latest there
    nlohmann::ordered_json reply;
    return Ask(target, {"attach", std::string(options, 'x'), library}, &reply);
  };
  CHECK(asked("/lib.so", 1024 - 64).code == kExitForbidden);
  CHECK(asked("/lib.so", 1024 - 63).message == "a JVM takes options of 960 characters at most");
  const std::string lib = "/lib.so";
  CHECK(asked(std::string(1025 - lib.size(), '/') + lib, 0).message ==
        "a JVM takes paths of 1024 characters at most");
}

TEST_CASE("a JVM that cannot do what is asked for is not asked") {
  const FakeProc proc("code without the interface");
  proc.folder().Write("77/root/lib.so", "library");
  const FakeJvm jvm(proc.socket(), "0\nfine\n");
  nlohmann::ordered_json reply;
  CHECK(Ask(proc.Own(), {"attach", "mode=full", "/lib.so"}, &reply).code == kExitNotPatched);
  CHECK(jvm.heard() == "");
}

TEST_CASE("who ignores a signal still does when it has a file that goes with it") {
  const FakeProc proc;
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGHUP, SIG_IGN);
    std::signal(SIGQUIT, SIG_IGN);
    Wake(proc.Own(), milliseconds(1));
    struct sigaction after {};
    _exit(sigaction(SIGHUP, nullptr, &after) == 0 && after.sa_handler == SIG_IGN ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a JVM that forbids attaching, or would die of the signal, gets none") {
  Target target =
      FakeProc("", PerfFile({{"sun.rt.jvmCapabilities", "0"}})).Own();  // SIGQUIT would end the test
  CHECK(Wake(target, milliseconds(1)).code == kExitForbidden);
  target = FakeProc().Own();
  target.catches_quit = false;
  CHECK(Wake(target, milliseconds(1)).code == kExitForbidden);
}

TEST_CASE("the collector is told by the flags where there is no performance data") {
  Target target = FakeProc("", "").Looked();
  CHECK(target.Collector() == "unknown");
  target.arguments = {"java", "-XX:+UseParallelGC", "Main"};
  CHECK(target.Collector() == "Parallel");
  target.option_variables = " -XX:-UseParallelGC -XX:+UseZGC";
  CHECK(target.Collector() == "Z");
}

TEST_CASE("options for a JVM are read from each variable that a JVM reads") {
  const FakeProc proc;
  proc.folder().Write("77/environ",
                      std::string("_JAVA_OPTIONS=-Da\0JDK_JAVA_OPTIONS=-Db\0MY_JAVA_OPTIONS=-Dc\0", 59));
  CHECK(proc.Looked().option_variables == " -Da -Db");
}

TEST_CASE("who has waited for a JVM in vain leaves nothing behind") {
  const FakeProc proc;
  const pid_t waiting = fork();
  if (waiting == 0) {
    std::signal(SIGQUIT, SIG_IGN);
    _exit(Wake(proc.Own(), milliseconds(1)).code);  // it has no socket there, ever
  }
  int status = 0;
  REQUIRE(waitpid(waiting, &status, 0) == waiting);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == kExitNoAnswer);
  CHECK_FALSE(fs::exists(proc.folder().path() + "/77/root/tmp/.attach_pid7"));
}

TEST_CASE("a JVM that ends while it is waited for is not waited for any longer") {
  const FakeProc proc;
  const std::string attach_file = proc.folder().path() + "/77/root/tmp/.attach_pid7";
  const pid_t jvm = fork();
  if (jvm == 0) {
    std::signal(SIGQUIT, SIG_IGN);
    pause();
    _exit(0);
  }
  Target target = proc.Own();
  target.process = Look(jvm)->process;
  std::thread ends([&] {
    for (int i = 0; i < 5000 && !fs::exists(attach_file); i++) std::this_thread::sleep_for(milliseconds(1));
    kill(jvm, SIGKILL);
    waitpid(jvm, nullptr, 0);
  });
  CHECK(Wake(target, milliseconds(20'000)).code == kExitNoProcess);
  ends.join();
}

TEST_CASE("at a signal files and folders go that were to be removed, youngest first, and none that may stay") {
  const Folder folder;
  for (const char* name : {"stays", "goes/reply"}) folder.Write(name, "text");
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGTERM, SIG_DFL);
    const Descriptor outer(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const Descriptor inner(open((folder.path() + "/goes").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    RemovedOnSignal stays, goes, reply;
    stays.Remember(outer.get(), "stays", 0);
    stays.Forget();
    goes.Remember(outer.get(), "goes", AT_REMOVEDIR);
    reply.Remember(inner.get(), "reply", 0);
    raise(SIGTERM);
    _exit(1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(fs::exists(folder.path() + "/stays"));
  CHECK_FALSE(fs::exists(folder.path() + "/goes"));
}

std::atomic<int> quits{0};

// Wakes this process, with the root folder of a fake one, and expects that it is not signalled.
Obstacle WakeUnsignalled(const FakeProc& proc) {
  const Target target = proc.Own();
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
  const pid_t waiting = fork();
  if (waiting == 0) {
    std::signal(SIGINT, SIG_DFL);  // not the test program's
    std::signal(SIGQUIT, SIG_IGN);
    Wake(proc.Own(), milliseconds(30'000));  // it has no socket there, ever
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
    const Descriptor unreachable(Bound(proc.socket(), SOCK_DGRAM));
    const Obstacle obstacle = WakeUnsignalled(proc);
    CHECK(obstacle.code == kExitNoAnswer);
    CHECK(obstacle.message.find("listens, but cannot connect") != std::string::npos);
  }
  SUBCASE("it does not believe what says that it shall listen") {
    fs::create_symlink("/dev/null", tmp + "/.attach_pid7");
    const Obstacle obstacle = WakeUnsignalled(proc);
    CHECK(obstacle.code == kExitNoAnswer);
    CHECK(obstacle.message.find(".attach_pid7") != std::string::npos);
    CHECK(fs::is_symlink(tmp + "/.attach_pid7"));
  }
  SUBCASE("that is another user's") {
    if (geteuid() != 0) return;
    proc.folder().Write("77/root/tmp/.attach_pid7", "");
    REQUIRE(chown((tmp + "/.attach_pid7").c_str(), 1234, 0) == 0);
    const Obstacle obstacle = WakeUnsignalled(proc);
    CHECK(obstacle.code == kExitNoAnswer);
    CHECK(obstacle.message.find("belongs to another user") != std::string::npos);
  }
}

}  // namespace
}  // namespace anttracks::analyzer
