// SPDX-License-Identifier: Apache-2.0
#include "agent/full/run_delay.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

namespace anttracks::core {

RunDelay::RunDelay() : fd_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {
  last_ = Read().value_or(Times());
}

RunDelay::~RunDelay() {
  if (fd_ >= 0) close(fd_);
}

// "ran waited slices", ns.
std::optional<RunDelay::Times> RunDelay::Read() const {
  char text[96];
  const ssize_t n = fd_ < 0 ? -1 : pread(fd_, text, sizeof text, 0);
  if (n <= 0) return std::nullopt;
  Times times;
  const char* const end = text + n;
  const auto ran = std::from_chars(text, end, times.ran_ns);
  if (ran.ec != std::errc() || ran.ptr == end || *ran.ptr != ' ') return std::nullopt;
  if (std::from_chars(ran.ptr + 1, end, times.waited_ns).ec != std::errc()) return std::nullopt;
  return times;
}

double RunDelay::Share() {
  const std::optional<Times> now = Read();
  if (!now) return 0;
  const auto ran = static_cast<double>(now->ran_ns - last_.ran_ns);
  const auto waited = static_cast<double>(now->waited_ns - last_.waited_ns);
  last_ = *now;
  return ran + waited == 0 ? 0 : waited / (ran + waited);
}

}  // namespace anttracks::core
