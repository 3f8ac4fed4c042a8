// SPDX-License-Identifier: Apache-2.0
// What reports on a trace of samples have in common: notes that their numbers are estimates, from how many
// samples, with which interval.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/cli/session.h"
#include "analyzer/passes/sampled.h"

namespace anttracks::analyzer {

// A trace of samples, read as a whole.
struct SampledTrace {
  Problems problems;
  Definitions definitions{problems};
  Sampled sampled;
  PassSummary summary;

  explicit SampledTrace(Session& session)
      : sampled(definitions, problems, session.sampled->interval),
        summary(session.Run(definitions, problems, sampled)) {}
  SampledTrace(const SampledTrace&) = delete;
  SampledTrace& operator=(const SampledTrace&) = delete;

  // The ids of the collections that ended.
  std::vector<uint64_t> GcIds() const;
  // A note for reports of the heap if events were lost, else "".
  std::string Caveat() const { return sampled.lost() ? " (events were lost before)" : ""; }
};

// "one per 512 KiB on average", "one per 64.0 KiB to 512 KiB on average", "every object that the JVM reported"
std::string IntervalText(uint64_t least, uint64_t most);
// "estimates from 1,234 samples, one per 512 KiB on average"
std::string EstimatesNote(const Sampled& sampled);
// The members "estimated", intervals and samples of the JSON.
nlohmann::ordered_json EstimatesJson(const Sampled& sampled);

}  // namespace anttracks::analyzer
