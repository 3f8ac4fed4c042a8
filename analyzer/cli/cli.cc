// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <new>
#include <ostream>

#include "analyzer/cli/command_table.h"
#include "analyzer/cli/manual.h"
#include "analyzer/cli/printable_stream.h"
#include "trace/nearest.h"

namespace anttracks::analyzer {
namespace {

constexpr const char* kPurpose =
    "anttracks rebuilds the heap of a Java program from its trace and shows where the memory comes from";

constexpr const char* kExitCodes =
    "Exit codes:\n"
    "  0  fine; a trace that ends in the middle of a chunk (killed process) is fine too\n"
    "  1  verify found errors; assert: something does not hold, or is not known;\n"
    "     the ledger of lifetimes does not balance; there is no census; join could not write its export\n"
    "  2  wrong usage\n"
    "  3  a file cannot be read or is not a trace\n"
    "  4  damaged trace; the results cover what precedes the damage\n"
    "  attach, ctl and top:\n"
    "  5  no such process                     6  it is not a HotSpot JVM\n"
    "  7  it belongs to another user          8  it is in another namespace (a container), out of reach\n"
    "  9  it forbids attaching               10  mode=full or census, but it is not the patched JDK\n"
    " 11  it does not answer                 12  the agent refused: options, files, or traced already\n"
    " 13  no agent: none in the process (ctl), or none to load (attach); it writes no trace (top)\n";

// What somebody sees who types the name only.
std::string FirstScreen() {
  std::string text = std::string(kPurpose) + ".\n\nFirst steps:\n";
  for (const Command& command : Commands()) {
    if (command.group != Group::kFirstSteps) continue;
    text += fmt::format("  anttracks {:<30}{}\n", command.example, command.answers);
  }
  return text +
         "\n"
         "A trace is written by the agent: java -agentpath:libanttracks.so=file=app.trace ..., or\n"
         "anttracks attach PID for a JVM that runs.\n"
         "\n"
         "All commands: anttracks --help        One of them: anttracks sites --help\n";
}

void AddCommands(CLI::App& app, Session& session, Arguments& arguments) {
  for (const Command& command : Commands()) {
    CLI::App* added = app.add_subcommand(command.name, command.summary);
    added->group(std::string(GroupTitle(command.group)));
    added->footer(fmt::format("Example:\n  anttracks {}    {}\n", command.example, command.answers));
    command.add_options(*added, session, arguments);
  }
}

// What the build asks for; nullopt: something else.
std::optional<std::string> Made(const CLI::App& app, const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--man"}) return ManualPage(app, kExitCodes);
  if (words == std::vector<std::string>{"--completion", "bash"}) return BashCompletion(app);
  if (words == std::vector<std::string>{"--completion", "zsh"}) return ZshCompletion(app);
  return std::nullopt;
}

bool IsOption(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

// The command among the words; end: there is none.
std::vector<std::string>::const_iterator FindWord(const std::vector<std::string>& words) {
  return std::find_if(words.begin(), words.end(), [](const std::string& word) { return !IsOption(word); });
}

// What is wrong with an option that the command does not know, or "". Only long ones are looked at.
std::string UnknownOption(const CLI::App& command, const std::string& word) {
  if (word.size() < 3 || word.substr(0, 2) != "--") return "";
  const std::string name = word.substr(0, word.find('='));
  if (command.get_option_no_throw(name) != nullptr) return "";
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& long_name : option->get_lnames()) {
      if (!option->get_group().empty()) known.push_back("--" + long_name);
    }
  }
  return "no option '" + name + "'" +
         trace::DidYouMean(name, std::vector<std::string_view>(known.begin(), known.end()));
}

// What is wrong with the words, in a sentence.
std::string WhatIsWrong(CLI::App& app, const std::vector<std::string>& words, const CLI::ParseError& error) {
  const auto word = FindWord(words);
  for (auto before = words.begin(); before != word; ++before) {
    const std::string wrong = UnknownOption(app, *before);
    if (wrong.empty()) continue;
    const bool known = word != words.end() && FindCommand(*word) != nullptr;
    return known ? *before + " stands before the command: options follow " + *word : wrong;
  }
  if (word == words.end()) return error.what();
  if (FindCommand(*word) == nullptr)
    return "no command '" + *word + "'" + trace::DidYouMean(*word, CommandNames());
  for (auto after = word + 1; after != words.end() && *after != "--"; ++after) {
    const std::string wrong = UnknownOption(*app.get_subcommand(*word), *after);
    if (!wrong.empty()) return wrong;
  }
  return error.what();
}

int UsageError(CLI::App& app, const std::vector<std::string>& words, const CLI::ParseError& error,
               Session& session) {
  const auto word = FindWord(words);
  const bool known = word != words.end() && FindCommand(*word) != nullptr;
  session.err << "anttracks: " << WhatIsWrong(app, words, error) << "\n"
              << "try: anttracks " << (known ? *word + " " : "") << "--help\n";
  return kExitUsage;
}

int Run(const Command& command, Session& session, const Arguments& arguments) {
  if (command.opens == Opens::kItself) return command.run(session, arguments);
  if (!session.Open()) return kExitUnreadable;
  if (session.census && command.run_on_censuses == nullptr)
    return session.NotInCensuses(command.why_not_censuses);
  if (session.census) return command.run_on_censuses(session, arguments);
  if (!session.sampled) return command.run(session, arguments);
  if (command.run_on_samples == nullptr) return session.NotInSamples(command.why_not_samples);
  return command.run_on_samples(session, arguments);
}

}  // namespace

Parsed ParseWords(const std::vector<std::string>& words, Session& session, Arguments& arguments) {
  if (words.empty()) {
    session.err << FirstScreen();
    return {nullptr, kExitUsage};
  }
  CLI::App app(kPurpose, "anttracks");
  app.set_version_flag("--version", fmt::format("anttracks {}, trace format {}.{}", ANTTRACKS_VERSION,
                                                trace::kMajorVersion, trace::kMinorVersion));
  app.require_subcommand(1);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.footer(kExitCodes);
  AddCommands(app, session, arguments);
  if (const auto text = Made(app, words)) {
    session.out << *text;
    return {nullptr, kExitFine};
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return {nullptr, app.exit(error, session.out, session.err)};
    return {nullptr, UsageError(app, words, error, session)};
  }
  const CLI::App* parsed = app.get_subcommands().front();
  const Command* command = FindCommand(parsed->get_name());
  const CLI::Option* top = parsed->get_option_no_throw("--top");
  const bool top_given = top != nullptr && top->count() != 0;
  if (!top_given) session.top = session.output == Output::kText ? command->rows : 0;
  return {command, kExitFine};
}

int Main(const std::vector<std::string>& words, std::ostream& raw_out, std::ostream& raw_err,
         bool show_progress, const std::string& program) {
  PrintableStream out(raw_out), err(raw_err);
  Session session{.out = out, .err = err, .show_progress = show_progress, .program = program};
  Arguments arguments;
  try {
    const Parsed parsed = ParseWords(words, session, arguments);
    return parsed.command == nullptr ? parsed.exit : Run(*parsed.command, session, arguments);
  } catch (const std::bad_alloc&) {
    err << "anttracks: not enough memory\n";
    return kExitUnreadable;
  } catch (const std::exception& error) {
    err << "anttracks: internal error: " << error.what() << "\n";
    return kExitUnreadable;
  }
}

}  // namespace anttracks::analyzer
