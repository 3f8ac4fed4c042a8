// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/profile.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace anttracks::analyzer {

std::string_view BasisText(ExportBasis basis) {
  switch (basis) {
    case ExportBasis::kExact:
      return "exact";
    case ExportBasis::kIncomplete:
      return "incomplete";
    case ExportBasis::kShare:
      return "share";
    case ExportBasis::kSamples:
      return "samples";
    case ExportBasis::kNothing:
      return "census";
  }
  return "";
}

std::string ExportProcess::TraceId() const { return fmt::format("{:016x}", trace_id); }

std::string ExportProcess::Started() const {
  constexpr uint64_t kSecond = 1'000'000'000, kMillisecond = 1'000'000;
  const auto seconds = static_cast<std::time_t>(started_ns / kSecond);
  std::tm time{};
  if (::gmtime_r(&seconds, &time) == nullptr) return "";
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", time, started_ns % kSecond / kMillisecond);
}

}  // namespace anttracks::analyzer
