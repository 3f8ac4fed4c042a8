// SPDX-License-Identifier: Apache-2.0
// The sampled call stacks of allocations, which the VM takes: numbers them, and writes segments STACKS.
//
// When there are too many different stacks, a new one is recorded by its innermost site alone, with a stack of
// the unknown site as its caller: the bytes of sites are split without favouring callers that were seen early.
//
// Thread safety: full; one mutex, never held while waiting, under which Definitions' is taken.
// Ownership: borrows what it is made with.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>

#include "agent/base/counter.h"
#include "agent/base/counters.h"
#include "agent/heap/definitions.h"
#include "agent/heap/stack_table.h"
#include "agent/stream/outlet.h"
#include "trace/stacks.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

class StackSamples {
 public:
  // most: how many different stacks.
  StackSamples(Definitions& definitions, const Outlet& outlet, uint32_t most)
      : definitions_(definitions), outlet_(outlet), table_(most) {}
  StackSamples(const StackSamples&) = delete;

  // thread: its id in the trace. In the thread itself.
  void Add(uint32_t thread, const AntTracksStack& taken);
  // Queues what was added. Never waits: it is little.
  void HandOver();

  // CPU time, that of the VM included.
  uint64_t ns() const { return ns_.value(); }
  void Count(CounterValues* values) const;

 private:
  static constexpr size_t kSegmentBytes = 8 << 10;

  // The following need mutex_ to be held.
  uint32_t Number(std::span<const uint32_t> sites);
  uint32_t NumberOf(uint32_t caller, uint32_t site, StackTable::Kind kind);
  void Queue();

  Definitions& definitions_;
  const Outlet outlet_;
  mutable std::mutex mutex_;
  StackTable table_;
  trace::StackEncoder encoder_;
  uint32_t interval_ = 0;  // of the stacks that the encoder has
  Counter taken_, cut_, ns_;  // cut: without their callers
};

}  // namespace anttracks::core
