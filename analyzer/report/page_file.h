// SPDX-License-Identifier: Apache-2.0
// Writes pages for a browser.
//
// Thread safety: none needed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trace/output_file.h"
#include "trace/status.h"

namespace anttracks::analyzer {

using trace::Replace;

// Writes the page beside the path and renames it. Error, with what to do: the path exists, or cannot be
// written. Only a page of the same sort is replaced.
trace::Status WritePage(std::string_view page, const trace::FileSort& sort, const std::string& path,
                        Replace replace);

// Whether the bytes begin with the text.
bool BeginsWith(std::span<const uint8_t> bytes, std::string_view text);

}  // namespace anttracks::analyzer
