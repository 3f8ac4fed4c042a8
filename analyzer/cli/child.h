// SPDX-License-Identifier: Apache-2.0
// `anttracks fold` as a child of the traced JVM: whatever is short, the child goes first.
//
// Thread safety: to be called before there are threads, since each has a scheduling class of its own, and
// before memory is taken.
#pragma once

#include <cstdint>
#include <span>

namespace anttracks::analyzer {

// Terabytes of address space that a sanitizer takes count as data.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kLimitsData = false;
#else
inline constexpr bool kLimitsData = true;
#endif

// The process becomes the first that the system ends when memory is short (oom_score_adj 1000), gets memory for
// its data up to so many bytes (RLIMIT_DATA; 0, or beside a sanitizer: no limit), interrupts nobody
// (SCHED_BATCH, idle I/O class), and leaves no core dump. What the system does not grant stays as it is.
void LowerThisProcess(uint64_t memory_bytes);

// Does so if the arguments of main are those of `fold` with --as-child=BYTES.
void LowerIfAsked(std::span<char* const> arguments);

}  // namespace anttracks::analyzer
