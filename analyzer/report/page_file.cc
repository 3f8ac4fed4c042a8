// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/page_file.h"

#include <algorithm>

namespace anttracks::analyzer {

trace::Status WritePage(std::string_view page, const trace::FileSort& sort, const std::string& path,
                        Replace replace) {
  return trace::WriteFile(path, {reinterpret_cast<const uint8_t*>(page.data()), page.size()}, sort, replace);
}

bool BeginsWith(std::span<const uint8_t> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::equal(text.begin(), text.end(), bytes.begin(),
                                                   [](char a, uint8_t b) { return a == static_cast<char>(b); });
}

}  // namespace anttracks::analyzer
