// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/growth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace anttracks::analyzer {
namespace {

// Collections of any kind since growth began, and survivors: fewer are too coarse to be called even.
constexpr uint32_t kLeastEpochs = 6;
constexpr uint64_t kLeastObjects = 16;
// Growth has to last for one in so many of the old-space collections, so that a phase is not a leak.
constexpr size_t kPartOfOldSpace = 2;
// Of the rates in each third of the time: the last to those before it, and each to the mean.
constexpr double kLeastLastRate = 0.6, kLeastRate = 0.3;
// Start-up may leave more than a slow leak. So if no leak is found, parts of the epochs are left out at the
// start; what then looks even has to be more even, as every curve is straight if one looks at little of it.
constexpr double kStarts[] = {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7};
constexpr double kLastStart = 0.3;  // for growth that began in the first half
constexpr double kLeastLastRateLater = 0.85;
// Growth that lasts for less than that begins late. It may be a phase, or a cache that is used only now, so it
// has to be as even as parts are, to last for a part of all the time and for longer than phases that were seen
// to end, and to have a beginning: before it the population grew by hardly anything for as long. A late cache
// that fills has none where its curve looks straight.
constexpr double kMostRateBefore = 0.25;
constexpr double kLeastLatePart = 0.3;
constexpr double kLeastPhases = 2;
constexpr double kMostFreedLate = 0.1;
// And the program has to have settled: as long as all of the heap grows, growth says nothing of one population.
constexpr size_t kLeastSettled = 3;
constexpr double kMostSettledGrowth = 1.1;
constexpr double kLeastRateLate = 0.5;
// Intervals between old-space collections from which there are survivors.
constexpr double kLeastActive = 0.8;
// The last intervals between old-space collections, in each of which it still has to grow: the one that is
// under way, of whose survivors some may die, and two before it.
constexpr size_t kLastIntervals = 3;
// What was freed, to what has piled up.
constexpr double kMostFreed = 0.25;

// Survivors by the clock at which they were born. Point i is the end of epoch first_epoch + i - 1.
struct Curve {
  std::vector<double> clock, objects, words;

  size_t size() const { return clock.size(); }
};

Curve CurveOf(const GrowthTimeline& timeline, const Population& population, uint32_t end) {
  Curve curve;
  const uint32_t first = timeline.first_epoch;
  double objects = static_cast<double>(population.before.objects);
  double words = static_cast<double>(population.before.words);
  const auto add = [&](uint64_t clock) {
    curve.clock.push_back(static_cast<double>(clock));
    curve.objects.push_back(objects);
    curve.words.push_back(words);
  };
  add(first == 0 ? 0 : timeline.allocated_words[first - 1]);
  auto births = population.births.begin();
  for (uint32_t epoch = first; epoch < end; epoch++) {
    for (; births != population.births.end() && births->epoch <= epoch; ++births) {
      objects += static_cast<double>(births->objects);
      words += static_cast<double>(births->words);
    }
    add(timeline.allocated_words[epoch]);
  }
  return curve;
}

// Least squares of objects = level + slope * max(0, clock - clock[k]), for each k by sums over the points from
// k. Clock and objects count from 0 to 1, or squares of large numbers would eat up the differences.
size_t HingeOf(const Curve& curve, size_t first, size_t last_k) {
  const double clocks = std::max(1.0, curve.clock.back() - curve.clock[first]);
  const double objects = std::max(1.0, curve.objects.back() - curve.objects[first]);
  const auto x_of = [&](size_t i) { return (curve.clock[i] - curve.clock[first]) / clocks; };
  const auto y_of = [&](size_t i) { return (curve.objects[i] - curve.objects[first]) / objects; };
  const auto count = static_cast<double>(curve.size() - first);
  double all_y = 0;
  for (size_t i = first; i < curve.size(); i++) all_y += y_of(i);
  double x = 0, xx = 0, y = 0, xy = 0, from = 0, best = 0;
  size_t at = last_k;
  for (size_t k = curve.size(); k-- > first;) {
    const double c = x_of(k);
    from += 1, x += c, xx += c * c, y += y_of(k), xy += c * y_of(k);
    if (k > last_k) continue;
    const double z = x - from * c, zz = xx - 2 * c * x + from * c * c, zy = xy - c * y;
    const double variance = zz - z * z / count, covariance = zy - z * all_y / count;
    const double explained = variance <= 0 ? 0 : covariance * covariance / variance;
    if (explained < best) continue;
    best = explained;
    at = k;
  }
  return at;
}

constexpr size_t kParts = 3;

// Survivors per word allocated, in each third of the clock from point k on. False: a third is too short.
bool Rates(const Curve& curve, size_t k, std::array<double, kParts>* rates) {
  const double begin = curve.clock[k], end = curve.clock.back();
  size_t from = k;
  for (size_t part = 0; part < kParts; part++) {
    const double bound = begin + (end - begin) * static_cast<double>(part + 1) / kParts;
    size_t to = from;
    const auto off = [&](size_t i) { return std::abs(curve.clock[i] - bound); };
    while (to + 1 < curve.size() && (curve.clock[to + 1] == curve.clock[to] || off(to + 1) < off(to))) to++;
    if (to == from || curve.clock[to] <= curve.clock[from]) return false;
    (*rates)[part] = (curve.objects[to] - curve.objects[from]) / (curve.clock[to] - curve.clock[from]);
    from = to;
  }
  return true;
}

// How many of the intervals between old-space collections from the onset on have survivors.
double Active(const GrowthTimeline& timeline, const Curve& curve, uint32_t onset, uint32_t end) {
  size_t intervals = 0, active = 0;
  uint32_t from = onset;
  for (const GrowthTimeline::OldSpace& old_space : timeline.old_space) {
    if (old_space.epoch <= from) continue;
    const uint32_t to = std::min(old_space.epoch, end);
    if (to <= from) break;
    const double before = curve.objects[from - timeline.first_epoch];
    intervals++;
    if (curve.objects[to - timeline.first_epoch] > before) active++;
    from = to;
  }
  return intervals == 0 ? 0 : static_cast<double>(active) / static_cast<double>(intervals);
}

// Survivors per word that was allocated, between those epochs. More than there are: growth cannot be told.
double RateOf(const GrowthTimeline& timeline, const Population& population, uint32_t from, uint32_t to) {
  const uint64_t begin = from == 0 ? 0 : timeline.allocated_words[from - 1];
  const uint64_t end = timeline.allocated_words[to - 1];
  if (end <= begin) return HUGE_VAL;
  uint64_t objects = 0;
  for (const Births& births : population.births) {
    if (births.epoch >= from && births.epoch < to) objects += births.objects;
  }
  return static_cast<double>(objects) / static_cast<double>(end - begin);
}

// Whether it grew in each of the last intervals between old-space collections, too.
bool StillGrows(const GrowthTimeline& timeline, const Population& population, double mean) {
  const auto& old_space = timeline.old_space;
  for (size_t i = old_space.size() - kLastIntervals; i < old_space.size(); i++) {
    const double rate = RateOf(timeline, population, old_space[i - 1].epoch, old_space[i].epoch);
    if (rate < kLeastRate * mean) return false;
  }
  return true;
}

// By an old-space collection after that epoch.
uint64_t FreedOf(const GrowthTimeline& timeline, const Population& population, uint32_t from) {
  uint64_t freed = 0, still_there = population.before.objects;
  auto births = population.births.begin();
  for (size_t i = 0; i < timeline.old_space.size() && i < population.survived.size(); i++) {
    for (; births != population.births.end() && births->epoch < timeline.old_space[i].epoch_before; ++births) {
      still_there += births->objects;
    }
    if (timeline.old_space[i].epoch <= from) continue;
    if (population.survived[i] > still_there) freed = std::max(freed, population.survived[i] - still_there);
  }
  return freed;
}

// Survivors per word that was allocated before point k: for as long as it has grown since.
double RateBefore(const Curve& curve, size_t k) {
  const double since = curve.clock.back() - curve.clock[k];
  size_t from = k;
  while (from > 0 && curve.clock[k] - curve.clock[from] < since) from--;
  const double before = curve.clock[k] - curve.clock[from];
  return before < since / 2 ? HUGE_VAL : (curve.objects[k] - curve.objects[from]) / before;
}

// How even growth has to be.
struct Demands {
  double last_rate, rate, freed;
};
constexpr Demands kOfAll{kLeastLastRate, kLeastRate, kMostFreed};
constexpr Demands kOfPart{kLeastLastRateLater, kLeastRate, kMostFreed};
constexpr Demands kOfLate{kLeastLastRateLater, kLeastRateLate, kMostFreedLate};

// kLeak: from the onset on it grows evenly.
Verdict JudgeEvenness(const GrowthTimeline& timeline, const Population& population, const Curve& curve,
                      const Growth& growth, const Demands& demands) {
  if (growth.end - growth.onset < kLeastEpochs) return Verdict::kTooFew;
  std::array<double, kParts> rates{};
  const size_t k = growth.onset - timeline.first_epoch;
  if (!Rates(curve, k, &rates)) return Verdict::kTooFew;
  const double mean = (curve.objects.back() - curve.objects[k]) / (curve.clock.back() - curve.clock[k]);
  if (rates[2] < demands.last_rate * std::max(rates[0], rates[1])) return Verdict::kStopped;
  if (!StillGrows(timeline, population, mean)) return Verdict::kStopped;
  if (std::min(rates[0], rates[1]) < demands.rate * mean) return Verdict::kUneven;
  if (Active(timeline, curve, growth.onset, growth.end) < kLeastActive) return Verdict::kUneven;
  if (static_cast<double>(growth.freed) > demands.freed * static_cast<double>(growth.objects))
    return Verdict::kFreed;
  return Verdict::kLeak;
}

// Whether the heap was level before growth began, for as many old-space collections as it has lasted: by the
// means of the first and the second half of them.
bool Settled(const GrowthTimeline& timeline, const Growth& growth) {
  const size_t before = timeline.old_space.size() - growth.collections;
  const size_t half = std::min<size_t>(before, growth.collections) / 2;
  if (half < kLeastSettled) return false;
  double first = 0, second = 0;
  for (size_t i = before - half; i < before; i++) {
    second += static_cast<double>(timeline.old_space[i].live_words);
    first += static_cast<double>(timeline.old_space[i - half].live_words);
  }
  return second <= kMostSettledGrowth * first;
}

// Of growth that began in the second half.
Verdict JudgeLate(const GrowthTimeline& timeline, const Population& population, const Curve& curve,
                  const Growth& growth) {
  if (growth.collections < timeline.least_old_space()) return Verdict::kTooFew;
  const Verdict evenness = JudgeEvenness(timeline, population, curve, growth, kOfLate);
  if (evenness != Verdict::kLeak) return evenness;
  const size_t k = growth.onset - timeline.first_epoch;
  const double lasts = curve.clock.back() - curve.clock[k];
  const double rate = (curve.objects.back() - curve.objects[k]) / lasts;
  if (RateBefore(curve, k) > kMostRateBefore * rate) return Verdict::kUneven;
  const bool long_enough = growth.collections >= timeline.least_late() &&
                           lasts >= kLeastLatePart * (curve.clock.back() - curve.clock.front()) &&
                           lasts >= kLeastPhases * static_cast<double>(timeline.longest_phase_words) &&
                           Settled(timeline, growth);
  return long_enough ? Verdict::kLeak : Verdict::kRecent;
}

// growth: what is the same for every start.
Growth GrowthFrom(const GrowthTimeline& timeline, const Population& population, const Curve& curve,
                  size_t first, Growth growth) {
  const size_t k = HingeOf(curve, first, curve.size() - 2);
  growth.onset = timeline.first_epoch + static_cast<uint32_t>(k);
  growth.objects = static_cast<uint64_t>(curve.objects.back() - curve.objects[k]);
  growth.words = static_cast<uint64_t>(curve.words.back() - curve.words[k]);
  if (timeline.counted) growth.freed = FreedOf(timeline, population, growth.onset);
  growth.collections = 0;
  for (const GrowthTimeline::OldSpace& old_space : timeline.old_space) {
    growth.collections += old_space.epoch > growth.onset;
  }
  const size_t half = std::max(kLeastOldSpaceCollections, timeline.old_space.size() / kPartOfOldSpace);
  if (growth.objects < kLeastObjects) {
    growth.verdict = Verdict::kNone;
  } else if (growth.collections < half) {
    growth.verdict = JudgeLate(timeline, population, curve, growth);
  } else {
    growth.verdict = JudgeEvenness(timeline, population, curve, growth, first == 0 ? kOfAll : kOfPart);
  }
  growth.late = growth.collections < half;
  return growth;
}

// Of two verdicts from different starts the better founded one.
constexpr int kBestRank = 3;
int RankOf(const Growth& growth) {
  if (growth.verdict == Verdict::kLeak) return growth.late ? 2 : kBestRank;
  return growth.verdict == Verdict::kRecent ? 1 : 0;
}

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kTooFew:
      return "too few collections";
    case Verdict::kNone:
      return "hardly grows";
    case Verdict::kStopped:
      return "stopped growing";
    case Verdict::kUneven:
      return "grows in leaps";
    case Verdict::kRecent:
      return "grows of late";
    case Verdict::kFreed:
      return "is freed";
    case Verdict::kSmall:
      return "too small";
    case Verdict::kNotJudged:
      return "not judged";
    case Verdict::kLeak:
      return "leak";
  }
  return "?";
}

Population PopulationOfCounts(const std::vector<LiveCount>& counts) {
  Population population;
  std::vector<LiveCount> stayed = counts;  // the least from there on
  for (size_t i = stayed.size(); i-- > 1;) {
    stayed[i - 1].objects = std::min(stayed[i - 1].objects, stayed[i].objects);
    stayed[i - 1].words = std::min(stayed[i - 1].words, stayed[i].words);
  }
  for (size_t i = 0; i < counts.size(); i++) {
    population.survived.push_back(counts[i].objects);
    if (i == 0) {
      population.before = {0, stayed[0].objects, stayed[0].words};
      continue;
    }
    const uint64_t objects = stayed[i].objects - stayed[i - 1].objects;
    const uint64_t words = stayed[i].words - stayed[i - 1].words;
    if (objects != 0 || words != 0) population.births.push_back({counts[i].epoch - 1, objects, words});
  }
  return population;
}

Growth JudgeGrowth(const GrowthTimeline& timeline, const Population& population) {
  Growth growth;
  if (timeline.old_space.size() < timeline.least_old_space()) {
    growth.verdict = Verdict::kTooFew;
    return growth;
  }
  growth.end = timeline.old_space[timeline.old_space.size() - 2].epoch;
  growth.freed = FreedOf(timeline, population, 0);
  if (growth.end <= timeline.first_epoch) return growth;
  const Curve curve = CurveOf(timeline, population, growth.end);
  for (const double start : kStarts) {
    const auto first = static_cast<size_t>(start * static_cast<double>(curve.size()));
    if (first + 2 > curve.size()) break;
    if (start > 0 && curve.objects.back() - curve.objects[first] < kLeastObjects) break;
    const Growth found = GrowthFrom(timeline, population, curve, first, growth);
    if (start > kLastStart && !found.late) continue;
    if (start == 0 || RankOf(found) > RankOf(growth)) growth = found;
    if (RankOf(growth) == kBestRank) break;
  }
  return growth;
}

}  // namespace anttracks::analyzer
