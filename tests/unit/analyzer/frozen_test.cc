// SPDX-License-Identifier: Apache-2.0
// Traces that earlier agents wrote, which must load for ever: frozen/README.md.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/analyzer/small_trace.h"

#ifndef ANTTRACKS_FROZEN
#error "the build defines ANTTRACKS_FROZEN, the folder of the frozen traces"
#endif

namespace anttracks::testing {
namespace {

namespace fs = std::filesystem;

CommandResult Run(const fs::path& trace, std::vector<std::string> arguments) {
  std::ostringstream out, err;
  arguments.insert(arguments.begin() + 1, trace.string());
  const int code = analyzer::Main(arguments, out, err, false);
  const std::string prefix = trace.parent_path().string() + "/";
  return {code, Replace(out.str(), prefix, ""), Replace(err.str(), prefix, "")};
}

std::string Read(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void CheckFrozen(const std::string& name, const std::string& gc, const char* version = "2.0") {
  const fs::path folder = fs::path(ANTTRACKS_FROZEN) / version / name;
  const std::pair<const char*, std::vector<std::string>> expected[] = {
      {"info.json", {"info", "--json"}},
      {"verify.txt", {"verify"}},
      {"heap.json", {"heap", "--json", "--top", "20", "--gc", gc}},
      {"heap_by_thread.json", {"heap", "--json", "--by", "thread", "--gc", gc}},
      {"sites.json", {"sites", "--json", "--top", "20"}}};
  for (const auto& [file_, command] : expected) {
    const auto& file = file_;  // clang 14 captures no binding
    CAPTURE(file);
    const CommandResult result = Run(folder / (name + ".trace"), command);
    CHECK(result.code == 0);
    CHECK(result.err == "");
    CHECK(result.out != "");
    CHECK(result.out == Read(folder / file));
  }
}

TEST_CASE("a frozen trace of every object reads as ever") { CheckFrozen("full", "1"); }

TEST_CASE("a frozen trace of a collector that leaves fillers reads as ever") { CheckFrozen("serial", "1"); }

TEST_CASE("a frozen rotated trace whose first file is gone reads as ever, provenance and all") {
  REQUIRE_FALSE(fs::exists(fs::path(ANTTRACKS_FROZEN) / "2.0/rotated/rotated.trace.0"));
  CheckFrozen("rotated", "31");
}

TEST_CASE("each data file of a frozen rotated trace gives the heap that all of them give") {
  const fs::path folder = fs::path(ANTTRACKS_FROZEN) / "2.0/rotated";
  const std::pair<const char*, const char*> last_gcs[] = {{"1", "24"}, {"2", "34"}, {"3", "44"}, {"4", "53"}};
  for (const auto& [index_, gc] : last_gcs) {
    const auto& index = index_;  // clang 14 captures no binding
    CAPTURE(index);
    const CommandResult all = Run(folder / "rotated.trace", {"heap", "--objects", "--gc", gc});
    const CommandResult one =
        Run(folder / (std::string("rotated.trace.") + index), {"heap", "--objects", "--gc", gc});
    CHECK(one.code == 0);
    CHECK(one.out.size() > 1'000'000);
    CHECK_MESSAGE((one.out == all.out), "other objects");
  }
}

TEST_CASE("a frozen trace of a share reads as ever") { CheckFrozen("share", "5"); }

TEST_CASE("a frozen trace with a budget reads as ever") { CheckFrozen("budget", "5"); }

TEST_CASE("a frozen trace of an agent that was attached reads as ever") { CheckFrozen("attached", "14"); }

TEST_CASE("a frozen trace of samples reads as ever") { CheckFrozen("sampled", "3"); }

TEST_CASE("a frozen trace with call stacks reads as ever") {
  CheckFrozen("stacks", "1", "2.1");
  const fs::path folder = fs::path(ANTTRACKS_FROZEN) / "2.1/stacks";
  const CommandResult tree = Run(folder / "stacks.trace", {"tree", "--json", "--min", "1"});
  CHECK(tree.code == 0);
  CHECK(tree.out == Read(folder / "tree.json"));
}

TEST_CASE("a frozen trace of censuses reads as ever") {
  const fs::path folder = fs::path(ANTTRACKS_FROZEN) / "2.1/census";
  const std::pair<const char*, std::vector<std::string>> expected[] = {
      {"info.json", {"info", "--json"}},
      {"verify.txt", {"verify"}},
      {"heap.json", {"heap", "--json", "--top", "20", "--gc", "8"}},
      {"gcs.json", {"gcs", "--json"}},
      {"leaks.json", {"leaks", "--all", "--json", "--top", "20"}}};
  for (const auto& [file_, command] : expected) {
    const auto& file = file_;  // clang 14 captures no binding
    CAPTURE(file);
    const CommandResult result = Run(folder / "census.trace", command);
    CHECK(result.code == 0);
    CHECK(result.err == "");
    CHECK(result.out == Read(folder / file));
  }
}

TEST_CASE("a frozen trace of format 1 is refused in one sentence") {
  const fs::path trace = fs::path(ANTTRACKS_FROZEN) / "1.0/small.trace";
  for (const char* command : {"info", "verify", "heap", "sites"}) {
    CAPTURE(command);
    const CommandResult result = Run(trace, {command});
    CHECK(result.code == 3);
    CHECK(result.out == "");
    CHECK(result.err ==
          "anttracks: small.trace: trace format 1.0, this anttracks reads 2.0 to 2.2; use the anttracks that "
          "came with the agent\n");
  }
}

}  // namespace
}  // namespace anttracks::testing
