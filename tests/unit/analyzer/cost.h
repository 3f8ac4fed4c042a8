// SPDX-License-Identifier: Apache-2.0
// What a piece of work costs: memory by operator new, which cost.cc replaces in the whole program, and CPU
// time.
//
// Thread safety: the counters are; one Cost at a time.
#pragma once

#include <cstddef>
#include <ctime>

namespace anttracks::testing {

inline constexpr size_t kMegabyte = size_t{1} << 20;

// How many times as long as usual a piece of work may take.
#ifdef __SANITIZE_THREAD__
inline constexpr double kSlower = 5;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr double kSlower = 3;
#else
inline constexpr double kSlower = 1;
#endif

class Cost {
 public:
  Cost();
  // Bytes, since construction: the most at a time, and all together.
  size_t peak() const;
  size_t allocated() const;
  double seconds() const { return static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC; }

 private:
  size_t live_, allocated_;
  std::clock_t begin_ = std::clock();
};

}  // namespace anttracks::testing
