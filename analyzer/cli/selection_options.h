// SPDX-License-Identifier: Apache-2.0
// The options that choose and group objects: --where, --from, --to, --group-by and --by.
//
// Thread safety: none. What the options are to set is borrowed until the words are parsed.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/cli/selection.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace anttracks::analyzer {

// Whether --where takes threads.
enum class Threads { kNotTold, kTold };

void AddWhere(CLI::App& app, std::vector<Condition>* conditions, Threads threads);
// --from and --to, with their texts in the help.
void AddWindow(CLI::App& app, Selection* selection,
               const char* from = "Only what was allocated after this GC (7), or time (12.5s)",
               const char* to = "Only what was allocated before this GC, or time");
// The same where live objects are told apart by when they were allocated: a heap knows collections only.
void AddGcWindow(CLI::App& app, Selection* selection);
// Conditions and a window of time.
void AddSelection(CLI::App& app, Selection* selection);

// What --group-by of a command does not take, and where it is taken instead.
struct NotGrouped {
  std::vector<Field> fields;
  const char* why;
};

// Fields between commas. usually: what the rows are without it.
CLI::Option* AddGroupBy(CLI::App& app, std::vector<Field>* group_by, const char* usually,
                        const NotGrouped& not_grouped = {});
// --by, of commands in which it was there before --group-by, which it excludes.
void AddBy(CLI::App& app, std::span<const Choice<Field>> choices, const std::string& description,
           CLI::Option* group_by, const std::function<void(Field)>& take);

}  // namespace anttracks::analyzer
