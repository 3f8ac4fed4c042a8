// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/allocated.h"

#include <fmt/format.h>

#include "analyzer/cli/sampled.h"

namespace anttracks::analyzer {
namespace {

Estimated InBytes(const Estimated& words) { return {words.value * 8, words.low * 8, words.high * 8}; }

std::string Range(const Estimated& number) { return Count(Rounded(number.low)) + " to " + Count(Rounded(number.high)); }

}  // namespace

std::vector<Table::Column> AllocatedColumns(bool estimated) {
  if (!estimated) return {{"Objects"}, {"Share"}, {"Bytes"}, {"Share"}};
  return {{"Est. objects"}, {"95 %"}, {"Share"}, {"Est. bytes"}, {"95 %"}, {"Share"}};
}

std::vector<std::string> AllocatedCells(const Allocated& row, const Allocated& all, bool estimated) {
  if (!estimated) {
    return {Count(row.known.objects), Percent(row.known.objects, all.known.objects), Count(row.known.words * 8),
            Percent(row.known.words, all.known.words)};
  }
  const Estimated bytes = InBytes(row.words), all_bytes = InBytes(all.words);
  return {AboutCount(row.objects.value), Range(row.objects), AboutShare(row.objects.value, all.objects.value),
          AboutCount(bytes.value),       Range(bytes),       AboutShare(bytes.value, all_bytes.value)};
}

std::string AllocatedText(const Allocated& allocated, bool estimated) {
  if (!estimated) return Plural(allocated.known.objects, "object") + ", " + Bytes(allocated.known.words * 8);
  return fmt::format("{} objects ({}), {}", AboutCount(allocated.objects.value), Range(allocated.objects),
                     AboutBytes(allocated.words.value * 8));
}

std::string AllocatedNote(const CountByShape& counts) {
  if (!counts.estimates()) return "";
  return fmt::format("estimates: {} were read by chance, {} were skipped; a range is a 95 % interval\n", Bytes(counts.read_words() * 8),
                     Bytes(counts.skipped_words() * 8));
}

void AddAllocated(nlohmann::ordered_json* json, const Allocated& allocated, bool estimated) {
  if (!estimated) {
    (*json)["objects"] = allocated.known.objects;
    (*json)["bytes"] = allocated.known.words * 8;
    return;
  }
  const auto add = [json](const std::string& name, const Estimated& number) {
    (*json)[name] = Rounded(number.value);
    (*json)[name + "_low"] = Rounded(number.low);
    (*json)[name + "_high"] = Rounded(number.high);
  };
  add("objects", allocated.objects);
  add("bytes", InBytes(allocated.words));
}

void AddAllocatedNote(nlohmann::ordered_json* json, const CountByShape& counts) {
  if (!counts.estimates()) return;
  (*json)["estimated"] = true;
  (*json)["skipped_bytes"] = counts.skipped_words() * 8;
  (*json)["chosen_bytes"] = counts.read_words() * 8;
}

}  // namespace anttracks::analyzer
