// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/fold.h"

namespace anttracks::analyzer {

void Fold::Collect() {
  uint32_t last = Origins::kBeforeTrace;  // origin of the last run
  heap().ForEach([&](const HeapObject& object, bool) {
    if (object.origin == Origins::kBeforeTrace || object.origin == Origins::kFiller) return;
    const uint64_t end = object.word + symbols().shapes().words(object.shape);
    if (!runs_.empty() && runs_.back().end == object.word && last == object.origin) {
      runs_.back().end = end;
      return;
    }
    last = object.origin;
    const Origin& origin = origins()[object.origin];
    runs_.push_back({object.word, end, origin.thread, static_cast<uint64_t>(epoch() - origin.birth)});
  });
}

}  // namespace anttracks::analyzer
