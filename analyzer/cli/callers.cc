// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/callers.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/cli/sampled.h"

namespace anttracks::analyzer {
namespace {

// An agent's stacks have 512 frames at most, each of which a few callers were inlined into.
constexpr size_t kMostPlaces = 2048;

}  // namespace

Callers::Callers(const Definitions& definitions, const StackSamples& samples, const Selection& selection)
    : definitions_(&definitions) {
  Selection threads;
  for (const Condition& condition : selection.where) {
    if (condition.field == Field::kThread) threads.where.push_back(condition);
  }
  Chooser chosen(definitions, threads);
  std::unordered_map<uint32_t, StackSamples::Count> counts;
  for (const auto& [key, count] : samples.counts) {
    if (!selection.InWindow(key.passed) || !chosen({key.passed, key.thread, 0})) continue;
    counts[key.stack].Add(count.stacks, count.bytes);
  }
  for (const auto& [stack, count] : counts)
    by_site_[definitions.stack(stack).site].push_back({stack, count.stacks, count.bytes});
  for (auto& [site, sampled] : by_site_)
    std::sort(sampled.begin(), sampled.end(), [](auto& a, auto& b) { return a.stack < b.stack; });
}

const std::vector<Callers::Sampled>& Callers::Of(uint32_t site) const {
  static const std::vector<Sampled> none;
  const auto found = by_site_.find(site);
  return found == by_site_.end() ? none : found->second;
}

std::vector<uint32_t> Callers::Places(uint32_t stack) const {
  std::vector<uint32_t> places;
  for (; stack != 0; stack = definitions_->stack(stack).caller) {
    uint32_t site = definitions_->stack(stack).site;
    do {
      if (places.size() == kMostPlaces) {
        places.push_back(kSiteUnknown);
        return places;
      }
      places.push_back(site);
      site = definitions_->site(site).caller;
    } while (site != 0);
  }
  return places;
}

std::string StacksText(const StackSamples& samples, uint64_t stacks) {
  return fmt::format("{}, {}", Plural(stacks, "stack"),
                     IntervalText(samples.least_interval, samples.most_interval));
}

}  // namespace anttracks::analyzer
