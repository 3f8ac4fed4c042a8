// SPDX-License-Identifier: Apache-2.0
// Which objects a report is about: conditions on class, site, thread, package and tier, and a window of time.
// One parser for --where, --from and --to, and for the conditions of assert.
//
// A pattern with * is compared with the whole name, * standing for any text. Another one matches the whole
// name, or what follows a dot or dollar sign in it: Foo matches com.app.Foo.
//
//   class     com.app.Foo, Foo, int[]
//   site      com.app.Foo.parse, Foo.parse, Foo.java:12, com.app.Foo.parse(Foo.java:12)
//   thread    main, or with its number: main (1)
//   package   of the code that allocates, com.app; com.app.io is in it
//   tier      interpreter, C1, C2, native: what the code ran in
//
// Conditions on the same field: one of them must hold; on several fields: each.
//
// Thread safety: full.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/cli/choice.h"
#include "analyzer/passes/portions.h"

namespace anttracks::analyzer {

// The last three are for grouping only: they are not known of an object by its site-class pair and thread.
enum class Field { kClass, kSite, kThread, kPackage, kTier, kAppSite, kAge, kSpace };
inline constexpr Choice<Field> kFields[] = {{Field::kClass, "class"},
                                            {Field::kSite, "site"},
                                            {Field::kThread, "thread"},
                                            {Field::kPackage, "package"},
                                            {Field::kTier, "tier"}};
// What --group-by takes. app-site: the application's line from which most bytes of the site come.
inline constexpr Choice<Field> kGroupFields[] = {{Field::kClass, "class"},      {Field::kSite, "site"},
                                                 {Field::kAppSite, "app-site"}, {Field::kPackage, "package"},
                                                 {Field::kTier, "tier"},        {Field::kThread, "thread"},
                                                 {Field::kAge, "age"},          {Field::kSpace, "space"}};

struct Condition {
  Field field = Field::kClass;
  std::string pattern;
  bool operator==(const Condition&) const = default;
};

// "class=Foo". None: *why says what is wrong, and where in the text that is.
struct Wrong {
  size_t column = 0;  // from 0
  std::string text;
};
std::optional<Condition> ParseCondition(std::string_view text, Wrong* why);

// "7": the end of the collection with this number; "12.5s": so long after the start of the trace.
std::optional<Mark> ParseMark(std::string_view text, std::string* why);

struct Selection {
  std::vector<Condition> where;
  std::optional<Mark> from, to;  // what was allocated behind from and ahead of to

  bool all() const { return where.empty() && !from && !to; }
  bool threads() const;
  bool times() const;
  // Whether it asks who allocated an object, or when.
  bool births() const { return threads() || from || to; }
  // from and to, those that are there.
  std::vector<Mark> marks() const;
  bool InWindow(Passed passed) const;
  // "class=Foo, from GC 3", for headings; "" if all() is true.
  std::string Text() const;
};

}  // namespace anttracks::analyzer
