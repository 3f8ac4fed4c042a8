// SPDX-License-Identifier: Apache-2.0
// What the agent keeps for a thread of the VM: its stream of objects, and what it has not read yet.
//
// Thread safety: none; what is the thread's own is touched by the thread itself, and by the VM thread at a
// safepoint. The stream belongs to whoever Walkers gave it to. prev and next belong to Mutators' registry and
// its mutex. Ownership: Mutators owns the state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/base/counter.h"
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

  // The stream.
  RunStream stream;
  uint32_t id;
  uint32_t share = 0;  // of the open segment
  AllocCounts counts;  // tlabs is the thread's own
  SiteClassCache site_classes;

  // The thread's own.
  WaitBudget wait;  // of the report that is under way
  Batch batch;      // reported, neither read nor given to a walker
  ReadQueue unread;
  std::vector<Stretch> skipped;  // since the last collection
  uint32_t random;               // never 0

  uint64_t java_id = 0;
  std::string name;
  ThreadState* prev = nullptr;
  ThreadState* next = nullptr;
};

}  // namespace anttracks::core
