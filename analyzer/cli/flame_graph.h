// SPDX-License-Identifier: Apache-2.0
// A tree of calls as a flame graph: one HTML file that needs no network and nothing beside it.
//
// Thread safety: none.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/model/call_tree.h"
#include "analyzer/report/page_file.h"
#include "trace/status.h"

namespace anttracks::analyzer {

// The page. heading: lines above the graph. Calls with less than a ten-thousandth of the bytes are left out:
// their callers have them as their own.
std::string FlameGraphHtml(const CallTree& tree, std::string_view heading);

// Writes it, as WritePage does.
trace::Status WriteFlameGraph(const CallTree& tree, std::string_view heading, const std::string& path,
                              Replace replace);

}  // namespace anttracks::analyzer
