// SPDX-License-Identifier: Apache-2.0
#include "agent/base/doc_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/base/counters.h"
#include "agent/base/option_table.h"

namespace anttracks::core {
namespace {

using trace::Status;

constexpr std::string_view kBegin = "<!-- generated: ", kBeginEnds = " -->\n", kEnd = "<!-- end -->\n";

// As GitHub makes it of a heading.
std::string Anchor(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    if (c == ' ') anchor += '-';
    if (c >= 'A' && c <= 'Z') anchor += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || c == '-') anchor += c;
  }
  return anchor;
}

std::string Code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

std::string_view ModeName(ValidIn mode) {
  switch (mode) {
    case ValidIn::kFull:
      return "full";
    case ValidIn::kSample:
      return "sample";
    case ValidIn::kCensus:
      return "census";
    case ValidIn::kPatched:
      return "full, census";
    case ValidIn::kAll:
      break;
  }
  return "";
}

std::string Meaning(const Option& option, std::string_view reference) {
  std::string text(option.meaning);
  if (option.only_with_maxsize) text += "; only with `maxsize`";
  if (option.changeable) text += "; `anttracks ctl PID set` changes it while a trace runs";
  if (!option.old_name.empty())
    text += fmt::format("; formerly `{}`, which is still accepted", option.old_name);
  if (!option.section.empty())
    text += fmt::format("; see [{}]({}#{})", option.section, reference, Anchor(option.section));
  return text;
}

std::string OptionsTable(std::string_view reference) {
  std::string table = "| option | default | value | mode | meaning |\n|---|---|---|---|---|\n";
  for (const Option& option : OptionRows()) {
    table += fmt::format("| `{}=` | {} | {} | {} | {} |\n", option.name, Code(DefaultValue(option)),
                         ValidValues(option), ModeName(option.valid_in), Meaning(option, reference));
  }
  return table + "| `help` | | | | print this table; the JVM does not start |\n";
}

std::string BasicOptionsTable(std::string_view reference) {
  std::string table = "| option | default | meaning |\n|---|---|---|\n";
  for (const Option& option : OptionRows()) {
    if (!option.basic) continue;
    table += fmt::format("| `{}=` | {} | {} |\n", option.name, Code(DefaultValue(option)),
                         Meaning(option, reference));
  }
  return table;
}

std::string CountersTable() {
  std::string table = "| counter | unit | mode | meaning | if it is not 0 |\n|---|---|---|---|---|\n";
  for (const CounterRow& row : CounterRows()) {
    std::string remedy(row.remedy);
    if (row.severity == Severity::kLoss)
      remedy = "**the trace is incomplete**" + (remedy.empty() ? "" : ": " + remedy);
    table += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.key, row.unit, ModeName(row.valid_in),
                         row.meaning, remedy);
  }
  return table;
}

}  // namespace

trace::Result<std::string> WithTables(std::string_view page, std::string_view reference) {
  std::string made;
  size_t copied = 0;
  for (size_t mark = page.find(kBegin); mark != std::string_view::npos; mark = page.find(kBegin, copied)) {
    const size_t name_at = mark + kBegin.size();
    const size_t name_end = page.find(kBeginEnds, name_at);
    const size_t end = page.find(kEnd, name_at);
    if (end == std::string_view::npos || name_end > end) return Status::Error("a generated section has no end");
    const std::string_view name = page.substr(name_at, name_end - name_at);
    std::string table;
    if (name == "options") table = OptionsTable(reference);
    if (name == "basic options") table = BasicOptionsTable(reference);
    if (name == "counters") table = CountersTable();
    if (table.empty()) return Status::Error("there is no table of " + std::string(name));
    made += page.substr(copied, name_end + kBeginEnds.size() - copied);
    made += "\n" + table + "\n";
    made += kEnd;
    copied = end + kEnd.size();
  }
  if (copied == 0) return Status::Error("it has no generated section");
  made += page.substr(copied);
  return made;
}

}  // namespace anttracks::core
