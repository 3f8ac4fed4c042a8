// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/phases.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyzer/model/labels.h"

namespace anttracks::analyzer {
namespace {

constexpr uint64_t kLeastWords = 2048, kLeastPart = 100;

// From the last point at which a tenth of the growth was there to the first with nine tenths.
uint64_t RiseTime(const std::vector<uint64_t>& clock, const std::vector<uint64_t>& series, size_t low,
                  size_t high) {
  const double bottom = static_cast<double>(series[low]), rise = static_cast<double>(series[high]) - bottom;
  size_t from = low, to = high;
  for (size_t i = low; i <= high; i++) {
    if (static_cast<double>(series[i]) <= bottom + rise / 10) from = i;
  }
  for (size_t i = high; i > from; i--) {
    if (static_cast<double>(series[i]) >= bottom + rise * 9 / 10) to = i;
  }
  return clock[to] - clock[from];
}

// The names of what one place allocates: pairs of the same names replace each other. Arrays go by the method
// alone: those of a list that grows come from another line once Arrays.copyOf is compiled.
std::pair<std::string, std::string> NamesOf(const Definitions& definitions, const SiteClass& pair) {
  std::string site = SiteLabel(definitions, pair.site), class_name = ClassLabel(definitions, pair.class_id);
  if (class_name.ends_with("[]")) site.resize(std::min(site.find('('), site.size()));
  return {std::move(site), std::move(class_name)};
}

}  // namespace

uint64_t LongestDroppedRise(const std::vector<uint64_t>& clock, const std::vector<uint64_t>& series,
                            const std::vector<uint64_t>& least) {
  uint64_t longest = 0;
  size_t low = 0, high = 0;
  for (size_t i = 1; i < series.size(); i++) {
    const uint64_t rise = series[high] - series[low];
    if (series[i] > series[high]) {
      high = i;
    } else if (rise >= least[high] && series[high] - series[i] >= rise / 2 + rise % 2) {
      longest = std::max(longest, RiseTime(clock, series, low, high));
      low = high = i;
    } else if (series[i] <= series[low]) {
      low = high = i;
    }
  }
  return longest;
}

uint64_t LongestPhase(const Definitions& definitions, const std::vector<HistoryPoint>& points) {
  std::vector<uint64_t> clock, all, least;
  std::unordered_map<uint32_t, std::vector<uint64_t>*> series_of;
  std::map<std::pair<std::string, std::string>, std::vector<uint64_t>> series;
  for (const HistoryPoint& point : points) {
    clock.push_back(point.allocated_words);
    all.push_back(point.live.words);
    least.push_back(std::max(kLeastWords, point.live.words / kLeastPart));
    for (const Level& level : point.levels) {
      if (level.words < least.back() || series_of.contains(level.site_class)) continue;
      std::vector<uint64_t>& one = series[NamesOf(definitions, definitions.site_class(level.site_class))];
      one.resize(points.size());
      series_of.emplace(level.site_class, &one);
    }
  }
  for (size_t i = 0; i < points.size(); i++) {
    for (const Level& level : points[i].levels) {
      const auto found = series_of.find(level.site_class);
      if (found != series_of.end()) (*found->second)[i] += level.words;
    }
  }
  uint64_t longest = LongestDroppedRise(clock, all, least);
  for (const auto& [names, one] : series) longest = std::max(longest, LongestDroppedRise(clock, one, least));
  return longest;
}

}  // namespace anttracks::analyzer
