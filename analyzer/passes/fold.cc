// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/fold.h"

#include <algorithm>

namespace anttracks::analyzer {
namespace {

bool Continues(const OriginRun& run, const OriginRun& next) {
  return run.end == next.begin && run.thread == next.thread && run.age == next.age;
}

}  // namespace

void Fold::Collect(uint64_t word) {
  HeapObject object;
  if (!heap().Find(word, &object)) return;
  if (object.origin == Origins::kBeforeTrace || object.origin == Origins::kFiller) return;
  const Origin& origin = origins()[object.origin];
  const OriginRun run{word, word + symbols().shapes().words(object.shape), origin.thread,
                      static_cast<uint64_t>(epoch_ - origin.birth)};
  if (!runs_.empty() && Continues(runs_.back(), run)) {
    runs_.back().end = run.end;
  } else {
    runs_.push_back(run);
  }
}

// Spaces are not listed in the order of their addresses.
void Fold::Join() {
  std::sort(runs_.begin(), runs_.end(), [](const OriginRun& a, const OriginRun& b) { return a.begin < b.begin; });
  size_t joined = 0;
  for (const OriginRun& run : runs_) {
    if (joined != 0 && Continues(runs_[joined - 1], run)) {
      runs_[joined - 1].end = run.end;
    } else {
      runs_[joined++] = run;
    }
  }
  runs_.resize(joined);
}

}  // namespace anttracks::analyzer
