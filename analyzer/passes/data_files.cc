// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/data_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "trace/events.h"
#include "trace/json_text.h"

namespace anttracks::analyzer {

std::string DataFilesText(uint64_t from, uint64_t to) {
  return to - from == 1 ? fmt::format("data file {}", from) : fmt::format("data files {} to {}", from, to - 1);
}

uint64_t DataFilesBegun(std::span<const uint8_t> end_payload) {
  trace::EndEvent end;
  if (!trace::ReadEnd(end_payload, &end).ok()) return 0;
  const auto counters = trace::ParseJson<nlohmann::json>(end.counters);
  if (!counters.is_object()) return 0;
  const auto files = counters.find("files");
  return files != counters.end() && files->is_number_unsigned() ? files->get<uint64_t>() : 0;
}

}  // namespace anttracks::analyzer
