// SPDX-License-Identifier: Apache-2.0
// Writes the tables of options and counters in the documentation from the rows of option_table.h and
// counters.h.
//
// In a page each table stands between two marks, each on a line of its own:
//
//     <!-- generated: options -->
//     ...
//     <!-- end -->
//
// Thread safety: none needed.
#pragma once

#include <string>
#include <string_view>

#include "trace/status.h"

namespace anttracks::core {

// Returns the page with its tables ("options", "basic options", "counters") written anew. reference: the path
// from the page to docs/agent.md; empty: the page is docs/agent.md. Error: a mark has no end, a mark names no
// table, or there is no mark.
trace::Result<std::string> WithTables(std::string_view page, std::string_view reference);

}  // namespace anttracks::core
