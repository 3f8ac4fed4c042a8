// SPDX-License-Identifier: Apache-2.0
// For packages alone: std::random_device of Debian 12's libstdc++, which is linked in, calls arc4random, and
// the C library has that from 2.36 on only. Ubuntu 22.04 has 2.35.
#include <sys/random.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  if (getentropy(&value, sizeof value) == 0) return value;
  timespec now{};  // a sandbox forbids the call: numbers that only differ are enough here
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint32_t>(now.tv_nsec) ^ static_cast<uint32_t>(getpid()) << 16;
}
