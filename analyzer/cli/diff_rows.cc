// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/diff_rows.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace anttracks::analyzer {
namespace {

// Sites of one method that allocate one class, by line.
using Group = std::vector<const Sides::value_type*>;

bool SameGroup(const Place& a, const Place& b) {
  return std::tie(a.method, a.file, a.class_name) == std::tie(b.method, b.file, b.class_name);
}

DiffRow RowOf(const Sides::value_type* a, const Sides::value_type* b) {
  DiffRow row;
  row.in_a = a != nullptr;
  row.in_b = b != nullptr;
  if (b != nullptr) std::tie(row.place, row.b) = *b;
  if (a != nullptr) row.a = a->second;
  if (a != nullptr && b == nullptr) row.place = a->first;
  row.line_in_a = a != nullptr ? a->first.line : row.place.line;
  return row;
}

bool SameLines(const Group& a, const Group& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto* x, const auto* y) { return x->first.line == y->first.line; });
}

// How well two sites fit: the bytes that they have in common, doubled on the same line.
double Fit(const Sides::value_type* a, const Sides::value_type* b) {
  const double common = 1 + std::min(a->second.allocated.bytes().value, b->second.allocated.bytes().value);
  return a->first.line == b->first.line ? 2 * common : common;
}

void MatchByLine(const Group& a, const Group& b, std::vector<DiffRow>* rows) {
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const bool take_a = j == b.size() || (i < a.size() && a[i]->first.line <= b[j]->first.line);
    const bool take_b = i == a.size() || (j < b.size() && b[j]->first.line <= a[i]->first.line);
    rows->push_back(RowOf(take_a ? a[i] : nullptr, take_b ? b[j] : nullptr));
    i += take_a;
    j += take_b;
  }
}

// In the order of the lines on both sides, with the largest sum of Fit.
void MatchInOrder(const Group& a, const Group& b, std::vector<DiffRow>* rows) {
  constexpr size_t kMost = 1 << 20;  // no method has as many sites
  if (a.size() * b.size() > kMost) return MatchByLine(a, b, rows);
  const size_t width = b.size() + 1;
  std::vector<double> best((a.size() + 1) * width);  // of the rests of a and b that begin at i and j
  const auto at = [&](size_t i, size_t j) -> double& { return best[i * width + j]; };
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      at(i, j) = std::max({at(i + 1, j), at(i, j + 1), Fit(a[i], b[j]) + at(i + 1, j + 1)});
    }
  }
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const bool both = i < a.size() && j < b.size();
    if (both && at(i, j) == Fit(a[i], b[j]) + at(i + 1, j + 1)) {
      rows->push_back(RowOf(a[i++], b[j++]));
    } else if (j == b.size() || (both && at(i, j) == at(i + 1, j))) {
      rows->push_back(RowOf(a[i++], nullptr));
    } else {
      rows->push_back(RowOf(nullptr, b[j++]));
    }
  }
}

// The next group of rows that belong together, if it is the one of this place.
Group TakeGroup(Sides::const_iterator* at, const Sides& sides, const Place& place) {
  Group group;
  for (; *at != sides.end() && SameGroup((*at)->first, place); ++*at) group.push_back(&**at);
  return group;
}

// From A to B, in bytes.
struct Change {
  double by_c2, by_others;

  // Takes away what the one kind of code allocates more and the other less. Returns what other code than C2's
  // allocated more of this.
  double CancelWithin() {
    if (by_c2 * by_others >= 0) return 0;
    const double both = std::copysign(std::min(std::abs(by_c2), std::abs(by_others)), by_others);
    by_c2 += both;
    by_others -= both;
    return both;
  }
};

Change ChangeOf(const DiffRow& row) {
  const double by_c2 = row.b.optimized.bytes().value - row.a.optimized.bytes().value;
  return {by_c2, row.Allocated() - by_c2};
}

bool IsNoise(double difference, double larger, double least, double relative) {
  return std::abs(difference) < least || std::abs(difference) < relative * larger;
}

bool Overlap(const Estimated& a, const Estimated& b, const NoiseRule& rule) {
  const auto low = [](const Estimated& of) { return of.value - NoiseRule::kWider * (of.value - of.low); };
  const auto high = [](const Estimated& of) { return of.value + NoiseRule::kWider * (of.high - of.value); };
  return low(a) <= std::max(high(b), NoiseRule::kWider * rule.unseen_b) &&
         low(b) <= std::max(high(a), NoiseRule::kWider * rule.unseen_a);
}

// One side never allocated there. What only C2 allocates may come from other code that it replaced by its own.
bool IsNewOrGone(const DiffRow& row) {
  const auto is = [](const Side& none, const Side& some) {
    return none.allocated.bytes().value == 0 && some.allocated.bytes().value > some.optimized.bytes().value;
  };
  return is(row.a, row.b) || is(row.b, row.a);
}

bool AllocatedIsNoise(const DiffRow& row, const NoiseRule& rule) {
  const Estimated a = row.a.allocated.bytes(), b = row.b.allocated.bytes();
  const double least = IsNewOrGone(row) ? rule.new_bytes : rule.allocated_bytes;
  return IsNoise(row.Allocated() - row.shifted, std::max(a.value, b.value), least, NoiseRule::kRelative) ||
         Overlap(a, b, rule);
}

bool LiveIsNoise(const DiffRow& row, const NoiseRule& rule) {
  const Estimated a = row.a.live.bytes(), b = row.b.live.bytes();
  return IsNoise(row.Live(), std::max(a.value, b.value), rule.live_bytes, NoiseRule::kLiveRelative) ||
         Overlap(a, b, rule);
}

// Both ran the code, and what other than C2's code allocated is the same; C2's did in one of them only. Or C2's
// did in neither, and the one that took longer until C2 had compiled other sites allocated more.
bool OnlyOptimized(const DiffRow& row, const NoiseRule& rule) {
  const double a = row.a.optimized.bytes().value, b = row.b.optimized.bytes().value;
  const double other_a = row.a.allocated.bytes().value - a, other_b = row.b.allocated.bytes().value - b;
  if (other_a <= 0 || other_b <= 0) return false;
  constexpr double kNext = 0.01;  // to nothing
  const double difference = other_b - other_a;
  if (std::max(a, b) <= kNext * std::max(other_a, other_b)) {
    return difference * row.later > 0 && std::abs(difference) <= std::abs(row.later);
  }
  return std::min(a, b) <= kNext * std::max(a, b) &&
         IsNoise(difference, std::max(other_a, other_b), rule.allocated_bytes, NoiseRule::kRelative);
}

}  // namespace

std::vector<DiffRow> MatchRows(const Sides& a, const Sides& b) {
  std::vector<DiffRow> rows;
  auto at_a = a.begin();
  auto at_b = b.begin();
  while (at_a != a.end() || at_b != b.end()) {
    const bool from_a = at_b == b.end() || (at_a != a.end() && at_a->first < at_b->first);
    const Place place = from_a ? at_a->first : at_b->first;
    const Group in_a = TakeGroup(&at_a, a, place), in_b = TakeGroup(&at_b, b, place);
    if (SameLines(in_a, in_b)) {
      MatchByLine(in_a, in_b, &rows);
    } else {
      MatchInOrder(in_a, in_b, &rows);
    }
  }
  return rows;
}

void AddShifts(std::vector<DiffRow>* rows) {
  // What is allocated more and less, in all rows together.
  struct Sums {
    double more_by_c2 = 0, less_by_c2 = 0, more_by_others = 0, less_by_others = 0;
    double to_c2() const { return std::min(more_by_c2, less_by_others); }
    double to_others() const { return std::min(less_by_c2, more_by_others); }
  };
  std::map<std::string_view, Sums> classes;
  double later = 0;
  std::vector<Change> changes;
  for (const DiffRow& row : *rows) {
    Change change = ChangeOf(row);
    later += change.CancelWithin();
    changes.push_back(change);
    Sums& sums = classes[row.place.class_name];
    sums.more_by_c2 += std::max(0.0, change.by_c2);
    sums.less_by_c2 += std::max(0.0, -change.by_c2);
    sums.more_by_others += std::max(0.0, change.by_others);
    sums.less_by_others += std::max(0.0, -change.by_others);
  }
  for (const auto& [name, sums] : classes) later += sums.to_others() - sums.to_c2();
  for (size_t i = 0; i < rows->size(); i++) {
    DiffRow& row = (*rows)[i];
    const Sums& sums = classes[row.place.class_name];
    row.shifted = std::clamp(changes[i].by_c2, -sums.to_others(), sums.to_c2()) +
                  std::clamp(changes[i].by_others, -sums.to_c2(), sums.to_others());
    row.later = later;
  }
}

void AddMadeUp(std::vector<DiffRow>* rows) {
  struct Sums {
    double more = 0, less = 0;
    double both() const { return std::min(more, less); }
  };
  std::map<std::string_view, Sums> classes;
  for (const DiffRow& row : *rows) {
    Sums& sums = classes[row.place.class_name];
    sums.more += std::max(0.0, row.Allocated());
    sums.less += std::max(0.0, -row.Allocated());
  }
  for (DiffRow& row : *rows) {
    const double both = classes[row.place.class_name].both();
    row.optimized = std::clamp(row.Allocated(), -both, both);
  }
}

NoiseRule NoiseRule::Of(const Totals& a, const Totals& b) {
  const double allocated = std::max(a.allocated, b.allocated);
  return {std::max(kLeastBytes, kShare * allocated), std::max(kLeastBytes, kNewShare * allocated),
          std::max({kLeastBytes, kLiveShare * std::max(a.live, b.live), std::min(a.live_range, b.live_range)}),
          a.unseen, b.unseen};
}

Difference Judge(const DiffRow& row, const NoiseRule& rule) {
  if (!AllocatedIsNoise(row, rule)) {
    const double larger = std::max(row.a.allocated.bytes().value, row.b.allocated.bytes().value);
    const bool otherwise_noise = row.optimized != 0 && IsNoise(row.Allocated() - row.optimized, larger,
                                                               rule.allocated_bytes, NoiseRule::kRelative);
    return otherwise_noise || OnlyOptimized(row, rule) ? Difference::kOptimized : Difference::kAllocated;
  }
  return LiveIsNoise(row, rule) ? Difference::kNone : Difference::kLive;
}

void SortRows(std::vector<DiffRow>* rows, const NoiseRule& rule) {
  const auto weight = [&](const DiffRow& row) {
    const Difference difference = Judge(row, rule);
    const int rank = difference == Difference::kNone ? 2 : difference == Difference::kOptimized ? 1 : 0;
    const double bytes = difference == Difference::kLive
                             ? std::abs(row.Live())
                             : std::max(std::abs(row.Allocated()), rank == 0 ? std::abs(row.Live()) : 0);
    return std::pair(rank, -bytes);
  };
  std::vector<std::pair<std::pair<int, double>, DiffRow>> weighed;
  for (DiffRow& row : *rows) {
    const auto key = weight(row);
    weighed.emplace_back(key, std::move(row));
  }
  std::stable_sort(weighed.begin(), weighed.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  rows->clear();
  for (auto& [key, row] : weighed) rows->push_back(std::move(row));
}

}  // namespace anttracks::analyzer
