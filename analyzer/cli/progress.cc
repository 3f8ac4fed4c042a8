// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/progress.h"

#include <cstdio>
#include <string>

namespace anttracks::analyzer {

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1B[K", stderr);
}

void Progress::Update(uint64_t done, uint64_t total) {
  constexpr size_t kWidth = 40;
  if (!enabled_ || total == 0) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(200);
  shown_ = true;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  std::string bar(static_cast<size_t>(share * kWidth), '#');
  bar.resize(kWidth, '.');
  std::fprintf(stderr, "\r[%s] %3.0f %%", bar.c_str(), share * 100);
  std::fflush(stderr);
}

}  // namespace anttracks::analyzer
