// SPDX-License-Identifier: Apache-2.0
#include "agent/base/doc_tables.h"

#include <doctest/doctest.h>

namespace anttracks::core {
namespace {

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_CASE("the tables of a page are written between their marks, and nothing else changes") {
  const std::string page =
      "# Title\n<!-- generated: basic options -->\nold\n<!-- end -->\nbetween\n<!-- generated: counters "
      "-->\n<!-- end -->\nlast\n";
  const auto made = WithTables(page, "docs/agent.md");
  REQUIRE(made.ok());
  CHECK(*made != page);
  CHECK(made->starts_with("# Title\n<!-- generated: basic options -->\n\n| option |"));
  CHECK(made->ends_with("|\n\n<!-- end -->\nlast\n"));
  CHECK(Contains(*made, "|\n\n<!-- end -->\nbetween\n<!-- generated: counters -->\n\n| counter |"));
  CHECK(Contains(*made, "| `maxsize=` | `0` | "));
  CHECK(Contains(*made, "see [Rotation](docs/agent.md#rotation)"));
  CHECK(Contains(*made, "| `lost_segments` | segments |  | "));
  CHECK(Contains(*made, "**the trace is incomplete**: "));
  CHECK_FALSE(Contains(*made, "old\n"));
  CHECK(*WithTables(*made, "docs/agent.md") == *made);
}

TEST_CASE("the table of all options has what may be given, and their old names") {
  const std::string made = *WithTables("<!-- generated: options -->\n<!-- end -->\n", "");
  CHECK(Contains(made, "| `buffer=` | `64K` | a size from 1K to 4M | full | event buffer of a thread |\n"));
  CHECK(Contains(made, "formerly `readers`, which is still accepted"));
  CHECK(Contains(made, "see [How long the program may wait](#how-long-the-program-may-wait)"));
  CHECK(Contains(made, "| `stats=` |  | a path"));
}

TEST_CASE("a page whose marks make no sense is refused") {
  for (const char* page :
       {"", "no marks\n", "<!-- generated: options -->\n", "<!-- generated: options\n<!-- end -->\n",
        "<!-- generated: nothing -->\n<!-- end -->\n"}) {
    CAPTURE(page);
    CHECK_FALSE(WithTables(page, "").ok());
  }
}

}  // namespace
}  // namespace anttracks::core
