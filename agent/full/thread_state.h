// SPDX-License-Identifier: Apache-2.0
// The agent's state of one application thread: its stream of objects, and the stretches that are not read yet.
//
// Thread safety: none; the thread's own members are used by the thread itself, and by the VM thread at a
// safepoint. The stream belongs to whom Walkers gave it. The mutex of Mutators' registry guards prev and next.
// Ownership: Mutators owns it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "agent/base/counter.h"
#include "agent/full/run_delay.h"
#include "agent/full/walkers.h"
#include "agent/heap/site_class_table.h"
#include "agent/heap/tlab_walker.h"
#include "agent/stream/segment_stream.h"
#include "agent/stream/wait_budget.h"

namespace anttracks::core {

struct AllocCounts {
  Counter objects, words, tlabs, outside, walk_ns, skipped_words;

  void Add(const AllocCounts& other) {
    objects.Add(other.objects.value());
    words.Add(other.words.value());
    tlabs.Add(other.tlabs.value());
    outside.Add(other.outside.value());
    walk_ns.Add(other.walk_ns.value());
    skipped_words.Add(other.skipped_words.value());
  }
};

struct alignas(64) ThreadState {
  explicit ThreadState(uint32_t number) : id(number), random(number * 0x9E3779B1u | 1) {}

  // The stream, and what is used with it.
  RunStream stream;
  uint32_t id;
  uint32_t share = 0;  // of the open segment
  AllocCounts counts;  // tlabs is the thread's own
  SiteClassCache site_classes;
  std::vector<AddressRange> filled;  // since the last collection, if provenance is kept

  // The thread's own.
  WaitBudget wait;  // of the current report
  Batch batch;      // reported, but neither read nor given to the walkers
  ReadQueue unread;
  std::vector<AddressRange> skipped;  // since the last collection
  uint32_t random;                    // never 0

  pid_t tid = 0;       // of the operating system; 0: it has handed nothing over yet
  RunDelay run_delay;  // the walkers'

  uint64_t java_id = 0;
  std::string name;
  ThreadState* prev = nullptr;
  ThreadState* next = nullptr;
};

}  // namespace anttracks::core
