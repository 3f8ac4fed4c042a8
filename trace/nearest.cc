// SPDX-License-Identifier: Apache-2.0
#include "trace/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace anttracks::trace {

size_t EditDistance(std::string_view a, std::string_view b) {
  // Distances of the beginnings of a from those of b; the three last rows of the table.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); i++) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view Nearest(std::string_view word, std::span<const std::string_view> known) {
  constexpr size_t kLongest = 64;  // nobody mistypes more
  if (word.size() > kLongest) return "";
  std::string_view nearest;
  size_t least = kLongest;
  for (const std::string_view candidate : known) {
    const size_t distance = EditDistance(word, candidate);
    const size_t most = std::max<size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (distance > most || distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> known) {
  const std::string_view nearest = Nearest(word, known);
  return nearest.empty() ? "" : "; did you mean '" + std::string(nearest) + "'?";
}

}  // namespace anttracks::trace
