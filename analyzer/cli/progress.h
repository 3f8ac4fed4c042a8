// SPDX-License-Identifier: Apache-2.0
// A progress bar on stderr for work that takes longer than a second; erased when done.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <cstdint>

namespace anttracks::analyzer {

class Progress {
 public:
  explicit Progress(bool enabled) : enabled_(enabled) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Update(uint64_t done, uint64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_;
  bool shown_ = false;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
};

}  // namespace anttracks::analyzer
