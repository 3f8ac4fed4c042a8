// SPDX-License-Identifier: Apache-2.0
#include "agent/core/failure.h"

#include "agent/core/log.h"

namespace anttracks::core {

void Failure::Fail(std::string_view reason) noexcept {
  active_.store(false, std::memory_order_release);
  try {
    {
      const std::lock_guard lock(mutex_);
      if (failed_.load(std::memory_order_acquire)) return;
      reason_ = reason;
      failed_.store(true, std::memory_order_release);
    }
    LogError("tracing stopped, the application goes on: " + std::string(reason));
  } catch (...) {
    failed_.store(true, std::memory_order_release);
  }
}

std::string Failure::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

}  // namespace anttracks::core
