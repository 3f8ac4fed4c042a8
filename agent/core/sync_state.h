// SPDX-License-Identifier: Apache-2.0
// What a session knows of the sync point that is being written. Belongs to the VM thread during a pause, then to
// the background thread until it is idle again; the atomics are what the two say to each other.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "agent/core/session.h"

namespace anttracks::core {

// Spaces as the VM gives them, in words.
std::vector<trace::Space> InWords(std::span<const AntTracksSpace> spaces);

// What a collection waits for.
enum class Hurry { kNot, kYoung, kAll };

struct Session::Sync {
  Buffer* buffer = nullptr;  // of the open segment
  uint8_t* out = nullptr;
  uint8_t* limit = nullptr;
  uint32_t space = 0;
  uint64_t objects = 0, words = 0;
  // Objects that were listed one by one and are not in the buffer yet.
  struct Listed {
    static constexpr size_t kMost = 1000;
    Stretch range;
    std::vector<uint16_t> ids;
    std::vector<uint32_t> lengths;
  };
  Listed listed;
  std::atomic<bool> first{false};  // not of a rotation
  PushMode mode = PushMode::kGiveUp;
  WaitBudget wait;
  uint64_t run_end = 0;  // word behind the last run of the segment
  KindCache kinds;
  Scratch scratch;

  std::vector<AntTracksSpace> spaces;  // of SYNC_BEGIN, in its order

  std::atomic<bool> stop{false};      // the walk shall end
  std::atomic<Hurry> hurry{Hurry::kNot};
  std::atomic<bool> young_done{true};  // the young spaces are listed
  std::atomic<bool> open{false};       // it was begun, and neither completed nor abandoned
  std::atomic<bool> again{false};      // it was abandoned: another sync point is due, in the same file
  std::atomic<uint64_t> words_read{0}, all_words{0}, bytes_written{0};
};

}  // namespace anttracks::core
