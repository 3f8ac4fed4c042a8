// SPDX-License-Identifier: Apache-2.0
// The page of `report` as a text: the data as JSON within what analyzer/report/report.html becomes at build
// time.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "analyzer/report/page_content.h"

namespace anttracks::analyzer {

// The page has no more bytes, whatever the trace: there are fewer rows then.
inline constexpr size_t kMostPageBytes = 2'000'000;

std::string PageText(const PageContent& content, const ApplicationFrames& frames);

// Text for a <script type="application/json">: it cannot end the script, nor begin a comment. Bytes that are
// not UTF-8 are replaced.
std::string JsonInScript(const nlohmann::ordered_json& json);

// What the page begins with, by which it is known again.
std::string_view PageBegin();

}  // namespace anttracks::analyzer
