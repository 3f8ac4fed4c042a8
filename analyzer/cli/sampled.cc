// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/sampled.h"

#include <fmt/format.h>

#include "analyzer/cli/text.h"

namespace anttracks::analyzer {

std::vector<uint64_t> SampledTrace::GcIds() const {
  std::vector<uint64_t> ids;
  for (const Sampled::Gc& gc : sampled.gcs()) ids.push_back(gc.id);
  return ids;
}

std::string IntervalText(uint64_t least, uint64_t most) {
  constexpr const char* kEvery = "every object that the JVM reported";
  if (most == 0) return kEvery;
  if (least == most) return fmt::format("one per {} on average", Bytes(most));
  if (least == 0) return fmt::format("{} to one per {} on average", kEvery, Bytes(most));
  return fmt::format("one per {} to {} on average", Bytes(least), Bytes(most));
}

std::string EstimatesNote(const Sampled& sampled) {
  return fmt::format("estimates from {}, {}", Plural(sampled.samples().size(), "sample"),
                     IntervalText(sampled.least_interval(), sampled.most_interval()));
}

nlohmann::ordered_json EstimatesJson(const Sampled& sampled) {
  return {{"estimated", true},
          {"interval", sampled.interval()},
          {"least_interval", sampled.least_interval()},
          {"most_interval", sampled.most_interval()},
          {"samples", sampled.samples().size()}};
}

}  // namespace anttracks::analyzer
