// SPDX-License-Identifier: Apache-2.0
// What attach and ctl print of an agent's answer, and how they ask for it.
#include "analyzer/cli/attach_report.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "analyzer/attach/request.h"
#include "tests/unit/analyzer/attach_fakes.h"

namespace anttracks::analyzer {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct Printed {
  int code = 0;
  std::string out, err;
};

Printed Print(const std::string& request, const std::string& state, const ordered_json& trace) {
  std::ostringstream out, err;
  Session session{out, err};
  const int code =
      Report(session, request, FakeProc().Looked(), {{"ok", true}, {"state", state}, {"trace", trace}});
  return {code, out.str(), err.str()};
}

ordered_json Trace() {
  return {{"file", "/f"},
          {"mode", "full"},
          {"rotates", true},
          {"options", "a=b"},
          {"duration_ns", 2'000'000'000},
          {"failure", ""},
          {"counters",
           {{"stored_bytes", 3 << 20},
            {"files", 2},
            {"objects", 1000},
            {"bytes", 4096},
            {"sync_points", 1},
            {"sync_objects", 10},
            {"share_ppm", 125'000},
            {"budget_ppm", 30'000},
            {"spent_ppm", 28'400},
            {"collections", 7},
            {"lost_segments", 0},
            {"lost_bytes", 0},
            {"dropped_bytes", 2048}}}};
}

TEST_CASE("the status of a trace has bytes a second, the budget in percent, and what was lost or dropped") {
  const Printed status = Print("status", "tracing", Trace());
  CHECK(status.code == 0);
  CHECK(status.err == "");
  CHECK(status.out == 1 + R"out(
process     77
collector   Serial
state       tracing
mode        every object
file        /f
options     a=b
time        2.00 s
written     3.00 MiB, 1.50 MiB a second, 2 files begun
objects     1,000 allocated, 4.00 KiB; 1 sync point with 10 objects
budget      3 %, 2.8 % spent; 12.5 % of the stretches are read
collections 7
losses      0 segments (0 B) because the file could not be written fast enough, 2.00 KiB at the bound of maxsize
)out");
  ordered_json trace = Trace();
  trace["counters"]["dropped_bytes"] = 0;
  CHECK(Print("status", "tracing", trace).out.find("\nlosses      none\n") != std::string::npos);
  trace["counters"]["lost_segments"] = 1;
  CHECK(Print("status", "tracing", trace).out.find("\nlosses      1 segment (0 B) because") !=
        std::string::npos);
  CHECK(Print("set", "tracing", trace).out ==
        "/f: budget 3 %, 2.8 % spent; 12.5 % of the stretches are read\n");
}

TEST_CASE("a trace that fails as soon as it is begun is a refusal with its reason") {
  ordered_json trace = Trace();
  trace["failure"] = "the disk is full";
  for (const char* request : {"attach", "start"}) {
    const Printed printed = Print(request, "failed", trace);
    CHECK(printed.code == kExitRefused);
    CHECK(printed.out == "");
    CHECK(printed.err == "anttracks: tracing failed at once: the disk is full\n");
  }
  CHECK(Print("stop", "failed", trace).code == 0);
}

// A JVM whose agent writes its answer where the request says.
class FakeAgent {
 public:
  FakeAgent(const FakeProc& proc, std::string reply)
      : root_(proc.folder().path() + "/77/root"),
        reply_(std::move(reply)),
        fd_(Bound(proc.socket(), SOCK_STREAM)) {
    REQUIRE(listen(fd_, 4) == 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeAgent() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  // After the answer has come.
  const std::string& options() const { return options_; }
  mode_t mode() const { return mode_; }

 private:
  // Ask connects once to see whether somebody listens, and once more to ask.
  void Serve() {
    while (options_.empty()) {
      const Descriptor client(accept(fd_, nullptr, nullptr));
      if (!client.ok()) return;
      std::string heard;
      char part[256];
      ssize_t n = 0;
      while (std::count(heard.begin(), heard.end(), '\0') < 5 &&
             (n = read(client.get(), part, sizeof part)) > 0)
        heard.append(part, static_cast<size_t>(n));
      const size_t at = heard.find("request=");
      if (at == std::string::npos) continue;
      options_ = heard.substr(at, heard.find('\0', at) - at);
      const size_t path = options_.find("reply=") + 6;
      const std::string file = root_ + options_.substr(path, options_.find(',', path) - path);
      struct stat made {};
      if (stat(file.c_str(), &made) == 0) mode_ = made.st_mode & 07777;
      std::ofstream(file) << reply_;
      (void)!send(client.get(), "0\nreturn code: 100\n", 19, MSG_NOSIGNAL);
    }
  }

  const std::string root_, reply_;
  std::string options_;
  mode_t mode_ = 0;
  const int fd_;
  std::thread thread_;
};

TEST_CASE("a request goes to the agent with its options, and its answer's file is the user's alone and goes") {
  const FakeProc proc;
  proc.folder().Write("77/root/lib.so", "library");
  const std::string tmp = proc.folder().path() + "/77/root/tmp";
  const mode_t mask = umask(0);
  ordered_json reply;
  {
    FakeAgent agent(proc, ordered_json{{"ok", true}, {"trace", Trace()}}.dump());
    const Obstacle obstacle = Ask(proc.Own(), {"attach", "file=/a,log=info", "/lib.so"}, &reply);
    CHECK(obstacle.message == "");
    CHECK(agent.options().find("request=attach,reply=/tmp/anttracks-7-") == 0);
    CHECK(agent.options().ends_with("/reply,file=/a,log=info"));
    CHECK(agent.mode() == 0600);
  }
  umask(mask);
  CHECK(reply["trace"]["file"] == "/f");
  for (const auto& entry : fs::directory_iterator(tmp)) {
    CHECK_FALSE(entry.path().filename().string().starts_with("anttracks-"));
  }
}

TEST_CASE("of censuses the report says how often there is one, how many there were, and what they cost") {
  ordered_json trace{{"file", "/f"},
                     {"mode", "census"},
                     {"rotates", false},
                     {"every_s", 300},
                     {"options", "mode=census"},
                     {"duration_ns", 2'000'000'000},
                     {"failure", ""},
                     {"counters",
                      {{"stored_bytes", 4096},
                       {"collections", 7},
                       {"censuses", 2},
                       {"abandoned_censuses", 1},
                       {"census_objects", 5000},
                       {"census_ns", 3'000'000}}}};
  const Printed status = Print("status", "tracing", trace);
  CHECK(status.code == 0);
  CHECK(status.out.find("\nmode        censuses, one every 300 s\n") != std::string::npos);
  CHECK(status.out.find("\nobjects     5,000 counted by 2 censuses, 1 abandoned; CPU time 3.00 ms\n") !=
        std::string::npos);
  CHECK(Print("census", "tracing", trace).out == "/f: 2 censuses\n");
  CHECK(Print("attach", "tracing", trace).out ==
        "the live heap of process 77 (Serial) is counted to /f, one every 300 s\n");
  trace["every_s"] = 0;
  CHECK(Print("set", "tracing", trace).out == "/f: from now on after each collection of the old space\n");
}

}  // namespace
}  // namespace anttracks::analyzer
