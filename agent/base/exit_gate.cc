// SPDX-License-Identifier: Apache-2.0
#include "agent/base/exit_gate.h"

#include <algorithm>

namespace anttracks::core {

using std::chrono::steady_clock;

void ExitGate::StayLocked(std::unique_lock<std::mutex>& lock) {
  while (steady_clock::now() < stay_until_) {
    stays_ = true;
    changed_.notify_all();
    changed_.wait_until(lock, steady_clock::time_point(stay_until_));
  }
  stays_ = false;
}

void ExitGate::CollectionBegins() {
  std::unique_lock lock(mutex_);
  StayLocked(lock);
  collecting_ = true;
}

void ExitGate::CollectionEnds() {
  std::unique_lock lock(mutex_);
  collecting_ = false;
  StayLocked(lock);
}

void ExitGate::ProcessExits(const Limits& limits) {
  std::unique_lock lock(mutex_);
  const auto begin = steady_clock::now();
  const auto stays = [this] { return stays_; };
  stay_until_ = begin + std::max(limits.begin, limits.end) + limits.stay;
  if (!changed_.wait_until(lock, begin + limits.begin, stays) && collecting_) {
    changed_.wait_until(lock, begin + limits.end, stays);
  }
  stay_until_ = steady_clock::now() + limits.stay;
  changed_.notify_all();
}

}  // namespace anttracks::core
