// SPDX-License-Identifier: Apache-2.0
// All commands in one table, from which the help, the parser and the dispatch come.
//
// Thread safety: full.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "analyzer/cli/commands.h"

namespace CLI {
class App;
}

namespace anttracks::analyzer {

enum class Group { kFirstSteps, kMore, kTraceFiles, kRunningJvm };
std::string_view GroupTitle(Group group);

// Who opens the trace that a command reads: the caller of run, or the command.
enum class Opens { kCaller, kItself };

struct Command {
  const char* name;
  const char* summary;  // a line of the help
  Group group;
  const char* example;  // what is typed after "anttracks"
  const char* answers;  // what the example is good for, in a few words
  size_t rows = 0;      // of its table unless --top says otherwise; 0: all. JSON and CSV have all
  Opens opens = Opens::kCaller;
  void (*add_options)(CLI::App& app, Session& session, Arguments& arguments);
  int (*run)(Session& session, const Arguments& arguments);  // on a trace of every object
  // The same on a trace of samples, for commands with Opens::kCaller. nullptr: not possible; the sentence says
  // why.
  int (*run_on_samples)(Session& session, const Arguments& arguments) = nullptr;
  const char* why_not_samples = "";
  // And on a trace of censuses.
  int (*run_on_censuses)(Session& session, const Arguments& arguments) = nullptr;
  const char* why_not_censuses = "";
};

// In the order of the help: by group, first steps first.
std::span<const Command> Commands();
// nullptr: there is none.
const Command* FindCommand(std::string_view name);
std::vector<std::string_view> CommandNames();

// What the words on the command line ask for.
struct Parsed {
  const Command* command = nullptr;  // nullptr: nothing is to be run, as help or an error was printed
  int exit = kExitFine;              // the exit code in that case
};

// Parses the words after the program's name into session and arguments.
Parsed ParseWords(const std::vector<std::string>& words, Session& session, Arguments& arguments);

}  // namespace anttracks::analyzer
