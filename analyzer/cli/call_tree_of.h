// SPDX-License-Identifier: Apache-2.0
// The tree of calls of what a trace has.
//
// Thread safety: none.
#pragma once

#include <memory>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/content.h"
#include "analyzer/model/call_tree.h"

namespace anttracks::analyzer {

// An amount in whole objects and bytes: estimates are rounded.
CallTotals TotalsOf(const Amount& amount);

// Of what the arguments choose. Each path ends with the class, unless callees come first. It is sorted.
std::unique_ptr<CallTree> CallTreeOf(const Content& content, const TreeArguments& arguments);

}  // namespace anttracks::analyzer
