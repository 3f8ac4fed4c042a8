// SPDX-License-Identifier: Apache-2.0
// The table of commands, its help, and what is said about words that it does not have.
#include "analyzer/cli/command_table.h"

#include <doctest/doctest.h>

#include <set>
#include <sstream>

#include "tests/unit/analyzer/census_trace.h"
#include "tests/unit/analyzer/sampled_trace.h"
#include "trace/format.h"

namespace anttracks::testing {
namespace {

using analyzer::Arguments;
using analyzer::Command;
using analyzer::Commands;
using analyzer::Session;

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

CommandResult Typed(const std::string& text) {
  std::ostringstream out, err;
  const int code = analyzer::Main(Words(text), out, err, false);
  return {code, out.str(), err.str()};
}

// The command that the words name, or nullptr and what was said.
const Command* Parse(const std::string& text, std::string* said) {
  std::ostringstream out, err;
  Session session{out, err};
  Arguments arguments;
  const Command* command = analyzer::ParseWords(Words(text), session, arguments).command;
  *said = out.str() + err.str();
  return command;
}

TEST_CASE("every command has a summary and an example that parses") {
  for (const Command& command : Commands()) {
    CAPTURE(command.name);
    CHECK(std::string(command.summary).size() > 10);
    CHECK(std::string(command.answers).size() > 10);
    std::string said;
    CHECK(Parse(command.example, &said) == &command);
    CHECK(said == "");
  }
}

// The command with what it cannot do without, beside a trace.
std::vector<std::string> WithTheirWords(const Command& command) {
  const std::string name = command.name;
  if (name == "report") return {name, "-o", "-"};
  if (name == "object") return {name, "0x10000000"};
  return {name};
}

TEST_CASE("every command runs on samples or says why not") {
  for (const Command& command : Commands()) {
    if (command.opens == analyzer::Opens::kItself) continue;
    CAPTURE(command.name);
    CHECK((command.run_on_samples != nullptr) == std::string(command.why_not_samples).empty());
    if (std::string_view(command.name) == "export") continue;  // takes a format and a file: export_test.cc
    const CommandResult result = Anttracks(SampledTrace().file(), WithTheirWords(command));
    CHECK(result.code == (command.run_on_samples != nullptr ? 0 : 2));
    CHECK(result.err.find(command.why_not_samples) != std::string::npos);
  }
}

TEST_CASE("every command runs on censuses or says why not") {
  for (const Command& command : Commands()) {
    if (command.opens == analyzer::Opens::kItself) continue;
    CAPTURE(command.name);
    CHECK((command.run_on_censuses != nullptr) == std::string(command.why_not_censuses).empty());
    if (std::string_view(command.name) == "export") continue;
    const CommandResult result = Anttracks(CensusTraceFile(3).file(), WithTheirWords(command));
    CHECK(result.code == (command.run_on_censuses != nullptr ? 0 : 2));
    CHECK(result.err.find(command.why_not_censuses) != std::string::npos);
  }
}

TEST_CASE("names are unique, and commands of a group stand together") {
  std::set<std::string> names;
  std::vector<analyzer::Group> groups;
  for (const Command& command : Commands()) {
    CHECK(names.insert(command.name).second);
    CHECK(analyzer::FindCommand(command.name) == &command);
    if (groups.empty() || groups.back() != command.group) groups.push_back(command.group);
  }
  CHECK(groups.size() == std::set<analyzer::Group>(groups.begin(), groups.end()).size());
  CHECK(analyzer::FindCommand("sits") == nullptr);
}

TEST_CASE("the help has every command, first steps first") {
  const CommandResult help = Typed("--help");
  CHECK(help.code == 0);
  CHECK(help.err == "");
  size_t last = help.out.find("First steps:");
  REQUIRE(last != std::string::npos);
  for (const Command& command : Commands()) {
    CAPTURE(command.name);
    const size_t at = help.out.find("\n  " + std::string(command.name) + " ");
    CHECK(at != std::string::npos);
    CHECK(at > last);
    last = at;
    CHECK(help.out.find(command.summary) != std::string::npos);
  }
  CHECK(help.out.find("Exit codes:") > last);
}

TEST_CASE("the help of a command ends with its example") {
  for (const Command& command : Commands()) {
    const CommandResult help = Typed(std::string(command.name) + " --help");
    CHECK(help.code == 0);
    CHECK(help.out.find(std::string("Example:\n  anttracks ") + command.example + "  ") != std::string::npos);
  }
}

TEST_CASE("the name alone prints the first steps and is wrong usage") {
  const CommandResult result = Typed("");
  CHECK(result.code == 2);
  CHECK(result.out == "");
  CHECK(result.err.find("anttracks sites app.trace --top 10") != std::string::npos);
  CHECK(result.err.find("anttracks --help") != std::string::npos);
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') < 16);
}

TEST_CASE("the version names the trace format that is read") {
  CHECK(Typed("--version")
            .out.find(", trace format " + std::to_string(trace::kMajorVersion) + "." +
                      std::to_string(trace::kMinorVersion) + "\n") != std::string::npos);
}

TEST_CASE("a mistyped word is answered with the nearest one and the help that has it") {
  const std::pair<const char*, const char*> kCases[] = {
      {"sits a.trace", "anttracks: no command 'sits'; did you mean 'sites'?\ntry: anttracks --help\n"},
      {"colours a.trace", "anttracks: no command 'colours'\ntry: anttracks --help\n"},
      {"sites a.trace --tpo 3",
       "anttracks: no option '--tpo'; did you mean '--top'?\ntry: anttracks sites --help\n"},
      {"sites --calers=1",
       "anttracks: no option '--calers'; did you mean '--callers'?\ntry: anttracks sites --help\n"},
      {"heap a.trace --by clas",
       "anttracks: --by: no 'clas'; did you mean 'class'?\ntry: anttracks heap --help\n"},
      {"heap a.trace --by colour",
       "anttracks: --by: no 'colour'; it is one of class, site, thread, space, age\ntry: anttracks heap "
       "--help\n"},
      {"ctl 1 rotat", "anttracks: ACTION: no 'rotat'; did you mean 'rotate'?\ntry: anttracks ctl --help\n"},
      {"--jsn", "anttracks: no option '--jsn'\ntry: anttracks --help\n"},
      {"--json heap a.trace",
       "anttracks: --json stands before the command: options follow heap\ntry: anttracks heap --help\n"}};
  for (const auto& [words_, expected] : kCases) {
    const auto& words = words_;  // clang 14 captures no binding
    CAPTURE(words);
    const CommandResult result = Typed(words);
    CHECK(result.code == 2);
    CHECK(result.out == "");
    CHECK(result.err == expected);
  }
}

TEST_CASE("other wrong usage is told in two lines as well") {
  for (const char* words : {"sites", "heap a.trace --gc x", "heap a.trace --gc 1 --end", "heap a.trace --by",
                            "sites a.trace --gc 1", "leaks a.trace --app", "heap a.trace --json --csv",
                            "ctl x status", "ctl 0 status", "attach 0", "heap -x"}) {
    CAPTURE(words);
    const CommandResult result = Typed(words);
    CHECK(result.code == 2);
    CHECK(result.out == "");
    CHECK(result.err.find("anttracks: ") == 0);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 2);
    CHECK(result.err.find("\ntry: anttracks " + Words(words)[0] + " --help\n") != std::string::npos);
  }
}

TEST_CASE("options of ctl stand with the actions that take them, and set needs one") {
  for (const char* words : {"ctl 1 stop budget=3%", "ctl 1 status log=info", "ctl 1 rotate x"}) {
    CAPTURE(words);
    CHECK(Typed(words).code == 2);
    CHECK(Typed(words).err == "anttracks: only start and set take options\n");
  }
  CHECK(Typed("ctl 1 set").code == 2);
  CHECK(Typed("ctl 1 set").err.find("anttracks: set what? Give budget=3%") == 0);
}

TEST_CASE("tables have thirty rows for people, and all of them in JSON and CSV") {
  const std::pair<const char*, size_t> kCases[] = {
      {"sites a", 30},        {"sites a --json", 0},        {"sites a --csv", 0},
      {"sites a --top 7", 7}, {"sites a --csv --top 7", 7}, {"threads a", 0},
      {"heap a --top 0", 0}};
  for (const auto& [words_, rows] : kCases) {
    const auto& words = words_;  // clang 14 captures no binding
    CAPTURE(words);
    std::ostringstream out, err;
    Session session{out, err};
    Arguments arguments;
    CHECK(analyzer::ParseWords(Words(words), session, arguments).command != nullptr);
    CHECK(session.top == rows);
  }
}

}  // namespace
}  // namespace anttracks::testing
