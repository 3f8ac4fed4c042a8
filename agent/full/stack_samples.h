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
#include "agent/heap/definitions.h"
#include "agent/heap/stack_table.h"
#include "agent/stream/outlet.h"
#include "trace/stacks.h"

namespace anttracks::core {

class StackSamples {
 public:
  struct Config {
    uint32_t interval = 0;  // bytes that a thread allocates between two sample points, on average; 0: none
    uint32_t most = StackTable::kMost;
  };
  StackSamples(Definitions& definitions, const Outlet& outlet, const Config& config)
      : definitions_(definitions), outlet_(outlet), interval_(config.interval), table_(config.most) {}
  StackSamples(const StackSamples&) = delete;

  uint32_t interval() const { return interval_; }

  // thread: its id in the trace. sites: innermost first, as the VM reports them; at least one. points: how many
  // sample points the object contains.
  void Add(uint32_t thread, std::span<const uint32_t> sites, uint32_t points);
  // Queues what was added. Never waits: it is little.
  void HandOver();

  struct Counts {
    uint64_t taken = 0, cut = 0;  // cut: without their callers
    uint64_t distinct = 0, table_bytes = 0;
  };
  Counts counts() const;

 private:
  static constexpr size_t kSegmentBytes = 8 << 10;

  // The following need mutex_ to be held.
  uint32_t Number(std::span<const uint32_t> sites);
  uint32_t NumberOf(uint32_t caller, uint32_t site, StackTable::Kind kind);
  void Queue();

  Definitions& definitions_;
  const Outlet outlet_;
  const uint32_t interval_;
  mutable std::mutex mutex_;
  StackTable table_;
  trace::StackEncoder encoder_;
  Counter taken_, cut_;
};

}  // namespace anttracks::core
