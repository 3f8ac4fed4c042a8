// SPDX-License-Identifier: Apache-2.0
// What the agent keeps for a thread of the VM: its stream of objects and the buffer that it writes to.
//
// Thread safety: none; touched by the thread itself, and by the VM thread at a safepoint. prev and next belong to
// Session's registry and its mutex. Ownership: Session owns the state, the state its buffer.
#pragma once

#include <cstdint>
#include <string>

#include "agent/core/buffer_queue.h"
#include "trace/object_encoder.h"

namespace anttracks::core {

struct AllocCounts {
  uint64_t objects = 0, words = 0, tlabs = 0, outside = 0, walk_ns = 0;

  void Add(const AllocCounts& other) {
    objects += other.objects;
    words += other.words;
    tlabs += other.tlabs;
    outside += other.outside;
    walk_ns += other.walk_ns;
  }
};

struct alignas(64) ThreadState {
  uint8_t* out = nullptr;    // next byte of the open segment
  uint8_t* limit = nullptr;  // from here on there may be no room for another record
  Buffer* buffer = nullptr;  // may be there without an open segment
  bool open = false;
  bool needs_reset = true;  // the next segment cannot continue the stream
  uint32_t epoch = 0;       // of the last segment
  uint32_t id = 0;
  AllocCounts counts;
  trace::ObjectEncoder encoder;

  uint64_t java_id = 0;
  std::string name;
  ThreadState* prev = nullptr;
  ThreadState* next = nullptr;
};

}  // namespace anttracks::core
