// SPDX-License-Identifier: Apache-2.0
// The tables of options and counters in the documentation, made from the rows of option_table.h and counters.h.
//
// A page has them between two marks, each a line of its own:
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

// The page with its tables written anew: "options", "basic options", "counters". reference: where, seen from
// the page, docs/agent.md lies; empty: it is the page. An error: a mark has no end, names no table, or there is
// none.
trace::Result<std::string> WithTables(std::string_view page, std::string_view reference);

}  // namespace anttracks::core
