// SPDX-License-Identifier: Apache-2.0
#include "agent/full/run_delay.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

namespace anttracks::core {
namespace {

// "ran waited slices", ns. False: the kernel does not tell.
bool ReadTimes(pid_t thread, uint64_t* ran_ns, uint64_t* waited_ns) {
  char path[64], text[96];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", static_cast<int>(thread));
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, text, sizeof text);
  close(fd);
  if (n <= 0) return false;
  const char* const end = text + n;
  const auto ran = std::from_chars(text, end, *ran_ns);
  if (ran.ec != std::errc() || ran.ptr == end || *ran.ptr != ' ') return false;
  return std::from_chars(ran.ptr + 1, end, *waited_ns).ec == std::errc();
}

}  // namespace

std::optional<double> RunDelay::Share(pid_t thread) {
  uint64_t ran_ns = 0, waited_ns = 0;
  if (!ReadTimes(thread, &ran_ns, &waited_ns)) return 0;
  const uint64_t ran = ran_ns - ran_ns_, waited = waited_ns - waited_ns_;
  if (ran + waited < kLeastNs) return std::nullopt;
  ran_ns_ = ran_ns;
  waited_ns_ = waited_ns;
  return static_cast<double>(waited) / static_cast<double>(ran + waited);
}

}  // namespace anttracks::core
