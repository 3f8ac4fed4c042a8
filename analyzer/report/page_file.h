// SPDX-License-Identifier: Apache-2.0
// Writes pages for a browser.
//
// Thread safety: none needed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trace/status.h"

namespace anttracks::analyzer {

// Whether to replace a file.
enum class Replace : bool { kNo, kYes };

// How pages of one sort are known again.
struct PageSort {
  const char* what;                                // "a flame graph"
  bool (*is_one)(std::span<const uint8_t> start);  // of a file's first 64 bytes
};

// Error, with what to do: there is something at the path that is not to be replaced.
trace::Status MayWritePage(const PageSort& sort, const std::string& path, Replace replace);
// Writes the page beside the path and renames it. Error, with what to do: the path exists, or cannot be
// written. Only a page of the same sort is replaced.
trace::Status WritePage(std::string_view page, const PageSort& sort, const std::string& path, Replace replace);

// Whether the bytes begin with the text.
bool BeginsWith(std::span<const uint8_t> bytes, std::string_view text);

}  // namespace anttracks::analyzer
