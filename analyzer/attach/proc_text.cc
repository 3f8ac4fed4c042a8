// SPDX-License-Identifier: Apache-2.0
#include "analyzer/attach/proc_text.h"

#include <algorithm>
#include <charconv>
#include <csignal>

namespace anttracks::analyzer {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr int kFieldsBeforePath = 5;  // addresses, rights, offset, device, inode

// Takes the next word off the text; "": there is none.
std::string_view TakeWord(std::string_view* text) {
  constexpr std::string_view kBlanks = " \t";
  text->remove_prefix(std::min(text->find_first_not_of(kBlanks), text->size()));
  const std::string_view word = text->substr(0, text->find_first_of(kBlanks));
  text->remove_prefix(word.size());
  return word;
}

// The words of the line after its name.
std::vector<std::string_view> Words(std::string_view status, std::string_view name) {
  const std::string key = "\n" + std::string(name) + ":";
  const size_t line = status.find(key);
  if (line == std::string_view::npos) return {};
  std::string_view rest = status.substr(line + key.size());
  rest = rest.substr(0, rest.find('\n'));
  std::vector<std::string_view> words;
  for (std::string_view word; !(word = TakeWord(&rest)).empty();) words.push_back(word);
  return words;
}

template <class Value>
Value Number(const std::vector<std::string_view>& words, size_t at, int base = 10) {
  Value number = 0;
  if (at < words.size()) std::from_chars(words[at].data(), words[at].data() + words[at].size(), number, base);
  return number;
}

}  // namespace

void ReadStatus(std::string_view status, Target* target) {
  target->uid = Number<uid_t>(Words(status, "Uid"), 1);
  target->gid = Number<gid_t>(Words(status, "Gid"), 1);
  const auto groups = Words(status, "Groups");
  target->groups.clear();
  for (size_t i = 0; i < groups.size(); i++) target->groups.push_back(Number<gid_t>(groups, i));
  const auto pids = Words(status, "NSpid");
  target->inner_pid = pids.empty() ? target->pid : Number<pid_t>(pids, pids.size() - 1);
  target->catches_quit = (Number<uint64_t>(Words(status, "SigCgt"), 0, 16) >> (SIGQUIT - 1) & 1) != 0;
  const auto state = Words(status, "State");
  if (!state.empty()) target->state = state[0][0];
}

void ReadMapsLine(std::string_view line, Target* target) {
  for (int i = 0; i < kFieldsBeforePath; i++) TakeWord(&line);
  std::string_view path = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  if (path.empty() || path.front() != '/') return;
  const bool deleted = path.ends_with(kDeleted);
  if (deleted) path.remove_suffix(kDeleted.size());
  if (path.ends_with("/libjvm.so")) target->libjvm = path;
  if (!path.ends_with("/libanttracks.so")) return;
  target->agent = path;
  target->agent_deleted = deleted;
}

std::vector<std::string> Strings(std::string_view text) {
  std::vector<std::string> strings;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\0'), text.size());
    if (end != 0) strings.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return strings;
}

void ReadEnvironment(std::string_view environment, Target* target) {
  for (const std::string& variable : Strings(environment)) {
    for (const std::string_view name : {"JAVA_TOOL_OPTIONS=", "JDK_JAVA_OPTIONS=", "_JAVA_OPTIONS="}) {
      if (variable.rfind(name, 0) == 0) target->option_variables.append(1, ' ').append(variable, name.size());
    }
  }
}

}  // namespace anttracks::analyzer
