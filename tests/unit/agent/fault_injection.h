// SPDX-License-Identifier: Apache-2.0
// Makes allocations and file operations fail, one after the other, in a program that is linked with this.
//
// Allocations: operator new, and malloc as the agent's own code calls it. File operations: open, write,
// ftruncate, close, unlink and rename as the agent's own code calls them (the linker's --wrap). They are
// counted while armed; those of a thread that is Outside (the test, the VM) neither count nor fail.
//
// Thread safety: full, but one thread arms and disarms. Units: operations count from 1.
#pragma once

#include <cstdint>
#include <functional>

namespace anttracks::core {

// While it lives its thread is outside the agent, or inside again. Threads begin inside.
class Outside {
 public:
  explicit Outside(bool outside = true);
  ~Outside();
  Outside(const Outside&) = delete;

 private:
  const bool before_;
};

struct AllocationFaults {
  uint64_t first = 0;  // 0: none fails
  uint64_t count = 1;  // so many fail, one behind the other
};

enum class FileFault {
  kNone,
  kError,      // that one fails, with `error`
  kErrorsOn,   // that one and all that follow
  kShort,      // a write writes half
  kPartError,  // a write writes half, the next one fails
  kHang,       // waits for as long as `hang` says, then goes on
  kKill,       // the process is killed before it
  kTear,       // the process is killed after half of the write
};

struct FileFaults {
  uint64_t at = 0;  // 0: none
  FileFault fault = FileFault::kNone;
  int error = 0;
  // Waits until it may go on; gives errno for the operation, 0: none.
  std::function<int()> hang = {};
  // After each operation, also those that failed.
  std::function<void()> after = {};
};

void ArmAllocations(const AllocationFaults& faults);
// How many there were; from now on none fails.
uint64_t DisarmAllocations();

void ArmFiles(const FileFaults& faults);
uint64_t DisarmFiles();

}  // namespace anttracks::core
