// SPDX-License-Identifier: Apache-2.0
// The commands on a trace of samples: the same questions, answered by estimates that are called so. In text they
// have a head line and a ~ before each number, in JSON "estimated": true and the interval.
//
// Thread safety: none.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/text.h"
#include "analyzer/passes/sampled.h"

namespace anttracks::analyzer {

int RunSampledHeap(Session& session, const HeapArguments& arguments);
int RunSampledGcs(Session& session);
int RunSampledSites(Session& session, const SitesArguments& arguments);
int RunSampledClasses(Session& session, const ClassesArguments& arguments);
int RunSampledThreads(Session& session);

inline uint64_t Rounded(double number) {
  return number >= 0x1p63 ? UINT64_MAX : static_cast<uint64_t>(std::llround(number));  // of impossible intervals
}
// "~1,234", "~1.50 MiB", "~12.3 %"
inline std::string AboutCount(double number) { return "~" + Count(Rounded(number)); }
inline std::string AboutBytes(double bytes) { return "~" + Bytes(Rounded(bytes)); }
std::string AboutShare(double part, double whole);
// "~1,234 objects, ~1.50 MiB"
std::string About(const Estimate& estimate);

// "one per 512 KiB on average", "one per 64.0 KiB to 512 KiB on average", "every object that the JVM reported"
std::string IntervalText(uint64_t least, uint64_t most);
// "estimates from 1,234 samples, one per 512 KiB on average\n"
std::string EstimatesLine(const Sampled& sampled);
// With estimated, the intervals and samples.
nlohmann::ordered_json EstimatesJson(const Sampled& sampled);
// Adds objects, bytes and samples.
void AddEstimate(nlohmann::ordered_json* json, const Estimate& estimate);

}  // namespace anttracks::analyzer
