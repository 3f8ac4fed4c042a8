// SPDX-License-Identifier: Apache-2.0
#include "agent/base/failure.h"

#include "agent/base/log.h"

namespace anttracks::core {

void Failure::Fail(std::string_view reason) noexcept {
  try {
    {
      const std::lock_guard lock(mutex_);
      if (failed_.load()) return;
      reason_ = reason;
      // In this order, sequentially consistent: Activate does the opposite.
      failed_.store(true);
      active_.store(false);
    }
    LogError("tracing stopped, the application goes on: " + std::string(reason));
  } catch (...) {
    failed_.store(true);
    active_.store(false);
  }
}

std::string Failure::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

}  // namespace anttracks::core
