// SPDX-License-Identifier: Apache-2.0
// Collapsed stacks, the text that flame graph tools read: "main;run;add;app.Node 96", a line for each path of
// calls that has something of its own, with its bytes.
//
// Thread safety: none.
#pragma once

#include <string>

#include "analyzer/model/call_tree.h"

namespace anttracks::analyzer {

// In a name a semicolon becomes a comma, and a control character a question mark.
std::string CollapsedText(const CallTree& tree);

}  // namespace anttracks::analyzer
