// SPDX-License-Identifier: Apache-2.0
#include "analyzer/passes/timeline.h"

#include <algorithm>

namespace anttracks::analyzer {

Timeline::Slot* Timeline::At(uint64_t time) {
  while (time / slot_ns_ >= kMostSlots) {
    for (size_t i = 0; i < slots_.size(); i++) {
      const Slot slot = std::exchange(slots_[i], {});
      slots_[i / 2].Add(slot);
    }
    slots_.resize((slots_.size() + 1) / 2);
    slot_ns_ *= 2;
  }
  const uint64_t at = time / slot_ns_;
  if (at >= slots_.size()) slots_.resize(at + 1);
  return &slots_[at];
}

bool Timeline::Wanted(uint32_t shape) {
  if (shape >= shapes_.size()) shapes_.resize(shape + size_t{1} + shape / 2);
  Is& is = shapes_[shape];
  if (is == Is::kNotKnown) is = wanted_(definitions_->shapes()[shape].site_class) ? Is::kWanted : Is::kNot;
  return is == Is::kWanted;
}

void Timeline::GcBegin(const GcEvent& event) {
  now_ = {event.id, event.kind, event.time, event.time, 0, {}};
  for (const Space& space : event.spaces) now_.used_before += InBytes(space.top - space.bottom);
}

void Timeline::GcEnd(const GcEvent& event) {
  if (event.id != now_.id) now_ = {event.id, event.kind, event.time, event.time, 0, {}};
  now_.end_ns = std::max(now_.begin_ns, event.time);
  now_.used_after = {};
  for (const Space& space : event.spaces) {
    const auto kind = static_cast<size_t>(space.kind);
    if (kind < kSpaces) now_.used_after[kind] += InBytes(space.top - space.bottom);
  }
  collections_.push_back(now_);
}

}  // namespace anttracks::analyzer
