// SPDX-License-Identifier: Apache-2.0
// `anttracks fold` as a child process of the traced JVM: when resources are short, the child gives way.
//
// Thread safety: call these before other threads are started, since each thread has its own scheduling class,
// and before much memory is used.
#pragma once

#include <cstdint>
#include <span>

namespace anttracks::analyzer {

// Not with sanitizers: the terabytes of address space that they reserve count as data.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kLimitsData = false;
#else
inline constexpr bool kLimitsData = true;
#endif

// Makes this process the first that the system kills when memory is short (oom_score_adj 1000), limits its data
// to memory_bytes (RLIMIT_DATA; 0, or with a sanitizer: no limit), gives it low priority (SCHED_BATCH, idle I/O
// class), and disables core dumps. What the system refuses is left unchanged.
void LowerThisProcess(uint64_t memory_bytes);

// Calls LowerThisProcess if the arguments of main are those of `fold` with --as-child=BYTES.
void LowerIfAsked(std::span<char* const> arguments);

}  // namespace anttracks::analyzer
