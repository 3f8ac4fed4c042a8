// SPDX-License-Identifier: Apache-2.0
#include "agent/full/stack_samples.h"

namespace anttracks::core {

void StackSamples::Add(uint32_t thread, const AntTracksStack& taken) {
  const std::lock_guard lock(mutex_);
  const std::span<const uint32_t> sites(taken.sites, taken.count);
  uint32_t stack = Number(sites);
  if (stack == 0) {
    cut_.Add(1);
    const uint32_t caller = NumberOf(0, trace::kSiteUnknown, StackTable::Kind::kShort);
    stack = caller == 0 ? 0 : NumberOf(caller, sites.front(), StackTable::Kind::kShort);
  }
  if (stack != 0) {
    taken_.Add(1);
    if (taken.stack_bytes != interval_) Queue();
    interval_ = taken.stack_bytes;
    encoder_.Stack({outlet_.clock.Now(), interval_, thread, stack, taken.points});
    if (encoder_.size() >= kSegmentBytes) Queue();
  }
  const uint64_t now = Clock::ThreadCpu();
  if (now > taken.begin_cpu_ns) ns_.Add(now - taken.begin_cpu_ns);
}

// 0: there is no room for it.
uint32_t StackSamples::Number(std::span<const uint32_t> sites) {
  uint32_t stack = 0;
  for (size_t i = sites.size(); i-- > 0;) {
    stack = NumberOf(stack, sites[i], StackTable::Kind::kLong);
    if (stack == 0) return 0;
  }
  return stack;
}

uint32_t StackSamples::NumberOf(uint32_t caller, uint32_t site, StackTable::Kind kind) {
  if (const uint32_t known = table_.Find(caller, site); known != 0) return known;
  if (!table_.HasRoom(kind)) return 0;
  const uint32_t stack = table_.Add(caller, site);
  definitions_.DefineStack(stack, caller, site);
  return stack;
}

void StackSamples::HandOver() {
  const std::lock_guard lock(mutex_);
  Queue();
}

void StackSamples::Queue() {
  trace::ByteBuffer segment;
  encoder_.Finish(&segment);
  if (!segment.empty()) (void)outlet_.queue.PushSegments(segment.span(), PushMode::kTry);
}

void StackSamples::Count(CounterValues* values) const {
  const std::lock_guard lock(mutex_);
  values->stacks = taken_.value();
  values->cut_stacks = cut_.value();
  values->distinct_stacks = table_.size();
  values->stack_ns = ns_.value();
  values->table_bytes += table_.size() * StackTable::kBytes;
}

}  // namespace anttracks::core
