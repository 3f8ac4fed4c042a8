// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/page_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "trace/output_file.h"

namespace anttracks::analyzer {

trace::Status MayWritePage(const PageSort& sort, const std::string& path, Replace replace) {
  using trace::Status;
  std::error_code error;
  if (const std::string what = trace::WhyNotReplaced(path, sort.is_one); !what.empty())
    return Status::Error(path + " is " + what + ", not " + sort.what + ": give another name, or remove it");
  if (replace == Replace::kNo && std::filesystem::exists(path, error))
    return Status::Error(path + " exists already; -f replaces it");
  return {};
}

trace::Status WritePage(std::string_view page, const PageSort& sort, const std::string& path, Replace replace) {
  if (trace::Status status = MayWritePage(sort, path, replace); !status.ok()) return status;
  const int failed = trace::WriteWhole(path, {reinterpret_cast<const uint8_t*>(page.data()), page.size()});
  if (failed == 0) return {};
  return trace::Status::Error("cannot write " + path + ": " + std::generic_category().message(failed));
}

bool BeginsWith(std::span<const uint8_t> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::equal(text.begin(), text.end(), bytes.begin(),
                                                   [](char a, uint8_t b) { return a == static_cast<char>(b); });
}

}  // namespace anttracks::analyzer
