// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/selection_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

namespace anttracks::analyzer {

void AddWhere(CLI::App& app, std::vector<Condition>* conditions, Threads threads) {
  const auto where = [conditions, threads](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      Wrong why;
      const std::optional<Condition> condition = ParseCondition(text, &why);
      if (!condition) throw CLI::ValidationError("--where", why.text);
      if (condition->field == Field::kThread && threads == Threads::kNotTold)
        throw CLI::ValidationError("--where",
                                   "threads are not told apart here, but in sites, heap and threads");
      conditions->push_back(*condition);
    }
  };
  std::vector<std::string_view> fields;
  for (const std::string_view field : NamesOf<Field>(kFields)) {
    if (threads == Threads::kTold || field != NameOf<Field>(kFields, Field::kThread)) fields.push_back(field);
  }
  app.add_option_function<std::vector<std::string>>(
         "--where", where,
         "Only objects with FIELD=PATTERN, a field being " + Joined(fields) + "; may be given several times")
      ->type_name("FIELD=PATTERN")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void AddWindow(CLI::App& app, Selection* selection, const char* from, const char* to) {
  const auto mark = [](const char* name, std::optional<Mark>* to) {
    return [name, to](const std::string& text) {
      std::string why;
      *to = ParseMark(text, &why);
      if (!*to) throw CLI::ValidationError(name, why);
    };
  };
  app.add_option_function<std::string>("--from", mark("--from", &selection->from), from)->type_name("WHEN");
  app.add_option_function<std::string>("--to", mark("--to", &selection->to), to)->type_name("WHEN");
}
void AddGcWindow(CLI::App& app, Selection* selection) {
  AddWindow(app, selection, "Only what was allocated after this GC (7)",
            "Only what was allocated before this GC");
}

void AddSelection(CLI::App& app, Selection* selection) {
  AddWhere(app, &selection->where, Threads::kTold);
  AddWindow(app, selection);
}

CLI::Option* AddGroupBy(CLI::App& app, std::vector<Field>* group_by, const char* usually,
                        const NotGrouped& not_grouped) {
  std::vector<Choice<Field>> choices;
  const auto refused = [not_grouped](Field field) {
    return std::find(not_grouped.fields.begin(), not_grouped.fields.end(), field) != not_grouped.fields.end();
  };
  for (const Choice<Field>& choice : kGroupFields) {
    if (!refused(choice.value)) choices.push_back(choice);
  }
  const auto parse = [group_by, choices, refused, not_grouped](const std::string& words) {
    std::istringstream in(words);
    for (std::string word; std::getline(in, word, ',');) {
      std::string why;
      const std::optional<Field> known = Choose<Field>(kGroupFields, word, &why);
      if (known && refused(*known)) throw CLI::ValidationError("--group-by", word + ": " + not_grouped.why);
      const std::optional<Field> field = Choose<Field>(choices, word, &why);
      if (!field) throw CLI::ValidationError("--group-by", why);
      const bool twice = std::find(group_by->begin(), group_by->end(), *field) != group_by->end();
      if (twice) throw CLI::ValidationError("--group-by", word + " is there twice");
      group_by->push_back(*field);
    }
  };
  return app
      .add_option_function<std::string>("--group-by", parse,
                                        "A row for each " + Joined(NamesOf<Field>(choices)) +
                                            ", or several of them with commas between (default: " + usually +
                                            ")")
      ->type_name("FIELDS");
}

void AddBy(CLI::App& app, std::span<const Choice<Field>> choices, const std::string& description,
           CLI::Option* group_by, const std::function<void(Field)>& take) {
  const auto parse = [choices, take](const std::string& word) {
    std::string why;
    const std::optional<Field> field = Choose<Field>(choices, word, &why);
    if (!field) throw CLI::ValidationError("--by", why);
    take(*field);
  };
  app.add_option_function<std::string>("--by", parse, description)->type_name("WORD")->excludes(group_by);
}

}  // namespace anttracks::analyzer
