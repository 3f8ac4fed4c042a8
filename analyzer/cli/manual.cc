// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/manual.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "analyzer/cli/command_options.h"
#include "analyzer/cli/command_table.h"

namespace anttracks::analyzer {
namespace {

bool IsFlag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }
bool IsShown(const CLI::Option& option) { return !option.get_group().empty(); }

// "-o" and "--out"
std::vector<std::string> OptionNames(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::string Together(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(between)) + word;
  return text;
}

// Text of a manual page: a backslash and a hyphen are themselves, and no line is a request.
std::string Roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins = out.empty() || out.back() == '\n';
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Options(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (!IsShown(*option)) continue;
    const bool positional = option->get_positional();
    const std::string name = positional ? option->get_name(true, false) : Together(OptionNames(*option), ", ");
    const std::string value =
        positional || IsFlag(*option) ? "" : " \\fI" + Roff(option->get_type_name()) + "\\fR";
    text += fmt::format(".TP\n\\f{}{}\\fR{}\n{}.\n", positional ? "I" : "B", Roff(name), value,
                        Roff(option->get_description()));
  }
  return text;
}

std::string CommandSection(const Command& command, const CLI::App& app) {
  const CLI::App& sub = *app.get_subcommand(command.name);
  std::string words;
  for (const CLI::Option* option : sub.get_options()) {
    if (option->get_positional()) words += " " + option->get_name(true, false);
  }
  return fmt::format(
      ".SS anttracks {}\\fI{}\\fR [\\fIoptions\\fR]\n{}.\n{}.PP\nExample: \\fBanttracks {}\\fR ({})\n",
      command.name, Roff(words), Roff(command.summary), Options(sub), Roff(command.example),
      Roff(command.answers));
}

// Words that a command's option takes; none: a file, or anything.
struct Words {
  std::string_view command, option;
  std::vector<std::string_view> words;
  int place = 0;  // of what is no option: which word on the line it is, `anttracks` being word 0
};
std::vector<Words> WordsOfOptions() {
  return {{"heap", "--by", NamesOf<Field>(kHeapRows)},
          {"lifetimes", "--by", NamesOf<Field>(kLifetimesRows)},
          {"diff", "--by", NamesOf<DiffBy>(kDiffRows)},
          {"sites", "--group-by", NamesOf<Field>(kGroupFields)},
          {"ctl", "ACTION", NamesOf<CtlAction>(kCtlActions), 3},  // follows a process
          {"export", "FORMAT", NamesOf<ExportFormat>(kExportFormats), 2}};
}
std::string WordsOf(std::string_view command, std::string_view option) {
  for (const Words& words : WordsOfOptions()) {
    if (words.command != command || words.option != option) continue;
    return Together({words.words.begin(), words.words.end()}, " ");
  }
  return "";
}

std::string AllNames() {
  const auto names = CommandNames();
  return Together({names.begin(), names.end()}, " ");
}

// Within an action of zsh's _arguments.
std::string Zsh(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string ZshOption(std::string_view command, const CLI::Option& option) {
  const std::string about = Zsh(option.get_description());
  if (option.get_positional()) {
    const std::string name = option.get_name(true, false), words = WordsOf(command, name);
    const bool many = option.get_items_expected_max() > 1;
    return fmt::format("        '{}{}:{}'\n", many ? "*:" : ":", Zsh(name),
                       words.empty() ? "_files" : "(" + words + ")");
  }
  std::string text;
  for (const std::string& name : OptionNames(option)) {
    const std::string words = WordsOf(command, name);
    const std::string value = IsFlag(option) ? ""
                                             : fmt::format(":{}:{}", Zsh(option.get_type_name()),
                                                           words.empty() ? "_files" : "(" + words + ")");
    text += fmt::format("        '{}{}[{}]{}'\n", option.get_items_expected_max() > 1 ? "*" : "", name, about,
                        value);
  }
  return text;
}

}  // namespace

std::string ManualPage(const CLI::App& app, std::string_view exit_codes) {
  std::string text = fmt::format(
      ".\\\" Made from the table of commands.\n.TH ANTTRACKS 1 \"\" \"anttracks {}\" \"User Commands\"\n"
      ".SH NAME\nanttracks \\- {}\n.SH SYNOPSIS\n.B anttracks\n\\fICOMMAND\\fR [\\fIarguments\\fR]\n.SH "
      "DESCRIPTION\n"
      "A trace is written by the agent: \\fBjava \\-agentpath:libanttracks.so=file=app.trace\\fR, or "
      "\\fBanttracks attach PID\\fR for a JVM that runs.\n",
      ANTTRACKS_VERSION, Roff(app.get_description().substr(app.get_name().size() + 1)));
  std::string group;
  for (const Command& command : Commands()) {
    if (const std::string title(GroupTitle(command.group)); title != group)
      text += fmt::format(".SH {}\n", Roff(group = title));
    text += CommandSection(command, app);
  }
  std::string codes(exit_codes.substr(exit_codes.find('\n') + 1));
  return text + fmt::format(
                    ".SH EXIT STATUS\n.nf\n{}.fi\n.SH ENVIRONMENT\n.TP\n\\fBPAGER\\fR\nShows text that is "
                    "longer than the "
                    "terminal; \\fBless \\-FRX\\fR if it is not set. \\fBcat\\fR or nothing: no pager.\n"
                    ".TP\n\\fBNO_COLOR\\fR\nIs respected: no output has colours.\n",
                    Roff(codes));
}

std::string BashCompletion(const CLI::App& app) {
  std::string options, values;
  for (const Command& command : Commands()) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_subcommand(command.name)->get_options()) {
      if (!IsShown(*option) || option->get_positional()) continue;
      for (const std::string& name : OptionNames(*option)) names.push_back(name);
    }
    options += fmt::format("      {}) words=\"{}\" ;;\n", command.name, Together(names, " "));
  }
  for (const Words& words : WordsOfOptions()) {
    const std::string list = Together({words.words.begin(), words.words.end()}, " ");
    const std::string place = words.place == 0 ? fmt::format("{}/{}/*", words.command, words.option)
                                               : fmt::format("{}/*/{}", words.command, words.place);
    values += fmt::format("    {}) COMPREPLY=($(compgen -W \"{}\" -- \"$current\")); return ;;\n", place, list);
  }
  return fmt::format(R"(# Completion of anttracks for bash, made from the table of commands.
_anttracks() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}}/${{COMP_WORDS[COMP_CWORD-1]}}/$COMP_CWORD in
{}  esac
  if [[ $current == -* ]]; then
    case ${{COMP_WORDS[1]}} in
{}    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o filenames -F _anttracks anttracks
)",
                     AllNames(), values, options);
}

std::string ZshCompletion(const CLI::App& app) {
  std::string commands, cases;
  for (const Command& command : Commands()) {
    commands += fmt::format("    '{}:{}'\n", command.name, Zsh(command.summary));
    std::string options;
    for (const CLI::Option* option : app.get_subcommand(command.name)->get_options()) {
      if (IsShown(*option)) options += ZshOption(command.name, *option);
    }
    cases += fmt::format("    {})\n      options=(\n{}      ) ;;\n", command.name, options);
  }
  return fmt::format(R"(#compdef anttracks
# Completion of anttracks for zsh, made from the table of commands.
_anttracks() {{
  local -a commands options
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
{}  esac
  shift words
  (( CURRENT-- ))
  _arguments $options
}}
_anttracks "$@"
)",
                     commands, cases);
}

}  // namespace anttracks::analyzer
