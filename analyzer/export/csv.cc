// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/csv.h"

#include <fmt/format.h>

#include <vector>

namespace anttracks::analyzer {
namespace {

constexpr std::string_view kColumns[] = {
    "trace",  "pid",  "command", "started", "duration_ns", "basis", "class",        "site",
    "method", "file", "line",    "thread",  "objects",     "bytes", "live_objects", "live_bytes"};

}  // namespace

std::span<const std::string_view> CsvColumns() { return kColumns; }

std::string CsvQuoted(std::string_view text) {
  std::string field(text);
  if (field.find_first_of(",\"") == std::string::npos) return field;
  for (size_t at = 0; (at = field.find('"', at)) != std::string::npos; at += 2) field.insert(at, 1, '"');
  return fmt::format("\"{}\"", field);
}

std::string CsvTable(const ExportProfile& profile) {
  const ExportProcess& process = profile.process;
  std::string header, same;
  for (const ExportLabel& label : process.labels) {
    header += label.name + ",";
    same += CsvQuoted(label.value) + ",";
  }
  std::string text = fmt::format("{}{}\n", header, fmt::join(kColumns, ","));
  same += fmt::format("{},{},{},{},{},{}", process.TraceId(), process.pid, CsvQuoted(process.command),
                      process.Started(), process.duration_ns, BasisText(profile.basis));
  for (const ExportAllocation& row : profile.allocations) {
    const ExportFrame& site = profile.frames[row.site];
    const std::string allocated =
        profile.allocated() ? fmt::format("{},{}", row.allocated.objects, row.allocated.bytes) : ",";
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{},{}\n", same, CsvQuoted(profile.classes[row.of_class]), CsvQuoted(site.text),
        CsvQuoted(site.Function()), CsvQuoted(site.file), site.line < 0 ? "" : std::to_string(site.line),
        CsvQuoted(profile.threads[row.thread].name), allocated, row.live.objects, row.live.bytes);
  }
  return text;
}

}  // namespace anttracks::analyzer
