// SPDX-License-Identifier: Apache-2.0
// A process that means harm to who looks at it or asks it something.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <sstream>

#include "analyzer/attach/answer.h"
#include "analyzer/attach/connection.h"
#include "analyzer/attach/process_files.h"
#include "analyzer/attach/target.h"
#include "analyzer/cli/attach_report.h"
#include "tests/unit/analyzer/attach_fakes.h"

namespace anttracks::analyzer {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using std::chrono::milliseconds;

constexpr const char* kVm = "/77/root/jdk 17/lib/server/libjvm.so";
constexpr off_t kEndless = off_t{1} << 40;

// Whether it becomes true in a process of its own, which may take a minute and some memory.
bool Soon(const std::function<bool()>& condition) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGALRM, SIG_DFL);
    alarm(60);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they reserve terabytes
    const rlimit most{rlim_t{1} << 30, rlim_t{1} << 30};
    setrlimit(RLIMIT_AS, &most);
#endif
    bool good = false;
    try {
      good = condition();
    } catch (const std::exception&) {
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void MakeSparse(const std::string& path, off_t size) { REQUIRE(truncate(path.c_str(), size) == 0); }

TEST_CASE("a libjvm.so that is no file, or one without end, neither stops nor fills who looks") {
  const FakeProc proc;
  const std::string vm = proc.folder().path() + kVm;
  const auto unknown = [&proc] { return !proc.Looked().patched.has_value(); };
  CHECK_FALSE(Soon(unknown));
  SUBCASE("a FIFO that nobody writes to") {
    fs::remove(vm);
    REQUIRE(mkfifo(vm.c_str(), 0600) == 0);
  }
  SUBCASE("a link to a device") {
    fs::remove(vm);
    fs::create_symlink("/dev/zero", vm);
  }
  SUBCASE("a hole of a terabyte") { MakeSparse(vm, kEndless); }
  SUBCASE("a folder") {
    fs::remove(vm);
    fs::create_directory(vm);
  }
  CHECK(Soon(unknown));
}

TEST_CASE("no link leads out of the process' root") {
  const FakeProc proc;
  const std::string here = proc.folder().path(), jdk = here + "/77/root/jdk 17", tmp = here + "/77/root/tmp";
  fs::rename(jdk, here + "/jdk");
  SUBCASE("libjvm.so") {
    fs::create_directories(jdk + "/lib/server");
    fs::create_symlink(here + "/jdk/lib/server/libjvm.so", jdk + "/lib/server/libjvm.so");
    CHECK_FALSE(proc.Looked().patched.has_value());
  }
  SUBCASE("its folder") {
    fs::create_directory_symlink(here + "/jdk", jdk);
    CHECK_FALSE(proc.Looked().patched.has_value());
  }
  SUBCASE("the folder of its performance data") {
    fs::rename(tmp + "/hsperfdata_me", here + "/hsperfdata_me");
    fs::create_directory_symlink(here + "/hsperfdata_me", tmp + "/hsperfdata_me");
    CHECK(proc.Looked().perf.empty());
  }
  SUBCASE("its /tmp") {
    fs::rename(tmp, here + "/tmp");
    fs::create_directory_symlink(here + "/tmp", tmp);
    const Target target = proc.Own();
    CHECK(target.perf.empty());
    CHECK_FALSE(OpenTmp(target).ok());
    FakeJvm jvm(here + "/tmp/.java_pid7", "0\nfine\n");
    CHECK_FALSE(Execute(target, {"load"}, milliseconds(20'000)).ok());
    CHECK(jvm.heard().empty());
  }
  SUBCASE("its socket") {
    FakeJvm jvm(here + "/another", "0\nfine\n");
    fs::create_symlink(here + "/another", proc.socket());
    CHECK_FALSE(Execute(proc.Own(), {"load"}, milliseconds(20'000)).ok());
    CHECK(jvm.heard().empty());
  }
}

TEST_CASE("a library is looked for as the process would, by links, too") {
  const FakeProc proc;
  const std::string root = proc.folder().path() + "/77/root";
  const Target target = proc.Looked();
  fs::create_directory(root + "/opt");
  const auto there = [&](const std::string& link_to) {
    fs::remove(root + "/opt/libanttracks.so");
    fs::create_symlink(link_to, root + "/opt/libanttracks.so");
    return CheckLibrary(target, "/opt/libanttracks.so").none();
  };
  CHECK_FALSE(there(proc.folder().path() + "/77/status"));
  CHECK_FALSE(there("../../../../../../../../../../etc/passwd"));
  CHECK_FALSE(there("libanttracks.so"));  // without end
  CHECK_FALSE(there("/dev/null"));
  proc.folder().Write("77/root/real/agent.so", "library");
  CHECK(there("/real/agent.so"));
  CHECK(there("../real/../../../real/./agent.so"));
  CHECK_FALSE(there("/real"));
  REQUIRE(mkfifo((root + "/real/fifo").c_str(), 0600) == 0);
  CHECK_FALSE(there("/real/fifo"));
}

TEST_CASE("links are followed only where they may be, even those that stay within the root") {
  const Folder folder;
  folder.Write("top/folder/file", "text");
  fs::create_symlink("file", folder.path() + "/top/folder/link");
  fs::create_directory_symlink("folder", folder.path() + "/top/also");
  const Descriptor top(open((folder.path() + "/top").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  CHECK(Find(top.get(), "folder/file", Links::kRefused).ok());
  for (const char* path : {"folder/link", "also/file"}) {
    CAPTURE(path);
    CHECK_FALSE(Find(top.get(), path, Links::kRefused).ok());
    CHECK(Find(top.get(), path, Links::kWithinRoot).ok());
  }
}

TEST_CASE("performance data that is no file or without end does no harm, and what begins well is read") {
  const FakeProc proc;
  const std::string perf = proc.folder().path() + "/77/root/tmp/hsperfdata_me/7";
  const auto read = [&proc] { return proc.Looked().perf.size() == 2; };
  CHECK(Soon(read));
  MakeSparse(perf, kEndless);
  CHECK(Soon(read));
  fs::remove(perf);
  REQUIRE(mkfifo(perf.c_str(), 0600) == 0);
  CHECK(Soon([&proc] { return proc.Looked().perf.empty(); }));
}

TEST_CASE("texts of /proc without end are read up to a bound") {
  const FakeProc proc;
  for (const std::string name : {"cmdline", "environ", "status", "maps"}) {
    CAPTURE(name);
    const std::string path = proc.folder().path() + "/77/" + name;
    const auto size = fs::file_size(path);
    MakeSparse(path, kEndless);
    CHECK(Soon([&proc] { return proc.Looked().libjvm == "/jdk 17/lib/server/libjvm.so"; }));
    MakeSparse(path, static_cast<off_t>(size));
  }
}

TEST_CASE("lines are given whole, those that are too long left out") {
  const Folder folder;
  const auto lines = [&folder](const std::string& text, size_t most_line, size_t most) {
    folder.Write("text", text);
    std::string seen;
    EachLine(Descriptor(open((folder.path() + "/text").c_str(), O_RDONLY | O_CLOEXEC)), most_line, most,
             [&seen](std::string_view line) { seen.append(line).append("|"); });
    return seen;
  };
  CHECK(lines("ab\n\ncd\nef", 2, 1000) == "ab||cd|ef|");
  CHECK(lines("ab\nabc\nab\n", 2, 1000) == "ab|ab|");
  CHECK(lines("ab\nab\nab\n", 2, 6) == "ab|ab|");
  CHECK(lines("ab\nab\nabc", 3, 8) == "ab|ab|");
  CHECK(lines(std::string(200'000, 'x') + "\nab\n", 100'000, 1 << 20) == "ab|");
  CHECK(lines(std::string(70'000, 'x') + "\nab\n", 100'000, 1 << 20) == std::string(70'000, 'x') + "|ab|");
  CHECK(lines("", 2, 1000) == "");
}

TEST_CASE("a map whose name only looks like the JVM's counts nothing") {
  const FakeProc proc;
  for (const std::string line :
       {"7f10-7f20 rw-p 00000000 00:00 0 [anon:/x/libjvm.so", "7f10-7f20 r-xp 00000000 fe:01 13 x/libjvm.so",
        "/libjvm.so", "7f10-7f20 r-xp 00000000 fe:01 13 /libjvm.sox"}) {
    CAPTURE(line);
    proc.folder().Write("77/maps", line + "\n");
    CHECK(proc.Looked().libjvm.empty());
  }
}

TEST_CASE("root makes files only where the process may") {
  if (geteuid() != 0) return;
  const FakeProc proc;
  const std::string tmp = proc.folder().path() + "/77/root/tmp";
  Target target = proc.Looked();
  target.uid = target.gid = 1234;
  target.groups = {4321};
  const auto mode_and_group = [&](mode_t mode, gid_t group) {
    REQUIRE((chown(tmp.c_str(), 0, group) == 0 && chmod(tmp.c_str(), mode) == 0));
    return OpenTmp(target).ok();
  };
  CHECK_FALSE(mode_and_group(0755, 0));
  CHECK_FALSE(mode_and_group(0775, 0));
  CHECK_FALSE(mode_and_group(0755, 1234));
  CHECK(mode_and_group(0775, 1234));
  CHECK(mode_and_group(0775, 4321));
  CHECK(mode_and_group(01777, 0));
  REQUIRE((chown(tmp.c_str(), 1234, 0) == 0 && chmod(tmp.c_str(), 0700) == 0));
  CHECK(OpenTmp(target).ok());
}

TEST_CASE("folders of one mount are told from others") {
  const auto folder = [](const char* path) {
    return Descriptor(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  };
  CHECK(SameMount(folder("/proc/self"), folder("/proc")));
  CHECK_FALSE(SameMount(folder("/"), folder("/proc")));
  CHECK_FALSE(SameMount(folder("/none"), folder("/none")));
}

std::atomic<int> quits{0};

TEST_CASE("a signal never goes to another process that has got the number") {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const FakeProc proc;
  Target target = proc.Own();
  target.process = Look(child)->process;
  struct sigaction counts {
  }, before{};
  counts.sa_handler = [](int) { quits++; };
  sigaction(SIGQUIT, &counts, &before);
  CHECK(Signal(target, 0) == 0);
  kill(child, SIGKILL);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK(Signal(target, 0) != 0);
  CHECK(errno == ESRCH);
  CHECK(Wake(target, milliseconds(1)).code == kExitNoProcess);  // its number is this process' now
  CHECK(HasEnded(target));
  sigaction(SIGQUIT, &before, nullptr);
  CHECK(quits == 0);
}

TEST_CASE("an answer without end is given up") {
  const FakeProc proc;
  const Target target = proc.Own();
  FakeJvm jvm(proc.socket(), std::string(4096, '7'), true);
  const auto answer = Execute(target, {"load"}, milliseconds(60'000));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.message() == "the JVM's answer has no end");
  CHECK(jvm.sent() < 16 << 20);
}

// What the command prints for this answer, and its exit code before it.
std::string Printed(const std::string& answer, const std::string& file, const std::string& request = "status",
                    bool json = false) {
  std::ostringstream out, err;
  Session session{out, err};
  session.output = json ? Output::kJson : Output::kText;
  const FakeProc proc;
  const auto parsed = ParseAnswer(answer);
  Obstacle obstacle{kExitNoAnswer, parsed.message()};
  ordered_json reply;
  if (parsed.ok()) obstacle = ParseReply(request, *parsed, file, &reply);
  const int code = obstacle.none() ? Report(session, request, proc.Looked(), reply) : Refuse(session, obstacle);
  return std::to_string(code) + " " + out.str() + err.str();
}

constexpr const char* kDone = "0\nreturn code: 100\n";

TEST_CASE("an agent's answer of another shape is refused in words") {
  const std::string fine =
      R"({"ok": true, "state": "tracing", "notes": ["note"], "trace": {"file": "/f", "mode": "full", "rotates": false,)"
      R"("options": "", "duration_ns": 5, "failure": "", "counters": {"objects": 3, "stored_bytes": 18446744073709551615}}})";
  for (const std::string request : {"status", "attach", "start", "stop", "rotate"}) {
    CAPTURE(request);
    CHECK(Printed(kDone, fine, request).substr(0, 2) == "0 ");
    const auto changed = [&](const std::string& from, const std::string& to) {
      std::string text = fine;
      text.replace(text.find(from), from.size(), to);
      CAPTURE(text);
      const std::string printed = Printed(kDone, text, request);
      CHECK(printed.find("makes no sense") != std::string::npos);
      CHECK(printed.substr(0, 3) == "12 ");
    };
    changed("true", "1");
    changed("true", "[]");
    changed("\"tracing\"", "{}");
    changed("[\"note\"]", "\"note\"");
    changed("[\"note\"]", "[7]");
    changed("\"/f\"", "7");
    changed("false", "\"no\"");
    changed("5", "-5");
    changed("5", "1e300");
    changed("{\"objects\"", "[{\"objects\"");
    changed("3", "\"3\"");
    changed("3", "null");
    changed("\"counters\"", "\"other\"");
    changed("}}}", "}}");
  }
  for (const std::string file :
       {"", "7", "null", "[]", "{}", "{\"ok\": 3}", "{\"ok\": false, \"error\": 7}", "{\"ok\": true", "\xff"}) {
    CAPTURE(file);
    CHECK(Printed(kDone, file).find("makes no sense") != std::string::npos);
  }
  CHECK(Printed(kDone, "{\"ok\": true}", "stop").find("makes no sense") != std::string::npos);
  CHECK(Printed(kDone, "{\"ok\": true, \"stats\": []}", "dump-stats").find("makes no sense") !=
        std::string::npos);
  CHECK(Printed(kDone, "{\"ok\": true, \"stats\": {}}", "dump-stats") == "0 {}\n");
  CHECK(Printed(kDone, "{\"ok\": false}").find("does not say why") != std::string::npos);
}

TEST_CASE("why the JVM did not load the agent is told in the JVM's words") {
  nlohmann::ordered_json reply;
  const Obstacle obstacle = ParseReply("attach", {0, "no such library\n\n"}, "", &reply);
  CHECK(obstacle.code == kExitRefused);
  CHECK(obstacle.message == "the JVM did not load the agent: no such library");
}

TEST_CASE("an agent's answer of any depth or width is read in bounded time and stack") {
  const auto refused = [](const std::string& value) {
    return Soon([&value] {
      const std::string file = "{\"ok\": true, \"stats\": {\"x\": " + value + "}}";
      return Printed(kDone, file, "dump-stats").find("makes no sense") != std::string::npos;
    });
  };
  CHECK_FALSE(refused("[[[]]]"));
  CHECK_FALSE(refused(std::string(50, '[') + std::string(50, ']')));
  CHECK(refused(std::string(100, '[') + std::string(100, ']')));
  CHECK(refused(std::string(500'000, '[') + std::string(500'000, ']')));
  std::string wide = "{\"\": 0";
  for (int i = 0; i < 90'000; i++) wide += ",\"" + std::to_string(i) + "\":0";
  CHECK(refused(wide + "}"));
}

TEST_CASE("nothing that a process says drives the terminal") {
  const std::string evil =
      "a\x1b[31m\r\x07\x7f\xc2\x9b"
      "b";
  const auto clean = [](const std::string& text) {
    for (const char c : text) {
      if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) return false;
    }
    return text.size() > 4;
  };
  CHECK(clean(Printed("0\n" + evil, "")));
  CHECK(clean(Printed(evil, "")));
  const ordered_json trace = {{"file", evil},
                              {"mode", evil},
                              {"options", evil},
                              {"failure", evil},
                              {"counters", ordered_json::object()}};
  ordered_json reply = {{"ok", true},
                        {"state", evil},
                        {"notes", {evil, "two\nlines"}},
                        {"trace", trace},
                        {"stats", {{evil, evil}}}};
  for (const std::string request : {"status", "attach", "stop", "rotate", "dump-stats"}) {
    CAPTURE(request);
    for (const bool json : {false, true}) CHECK(clean(Printed(kDone, reply.dump(), request, json)));
  }
  CHECK(Printed(kDone, reply.dump()).find("two\nlines") != std::string::npos);
  const std::string json = Printed(kDone, reply.dump(), "dump-stats", true);
  CHECK(ordered_json::parse(json.substr(2, json.find("\n}") + 1))[evil] == evil);
  reply["ok"] = false;
  reply["error"] = evil;
  CHECK(clean(Printed(kDone, reply.dump())));
  std::ostringstream out, err;
  Session session{out, err};
  CHECK(Refuse(session, {kExitNotLoaded, "a library " + evil}) == kExitNotLoaded);
  CHECK(clean(err.str()));
}

}  // namespace
}  // namespace anttracks::analyzer
