// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/agent/fault_injection.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>

// The linker's names for what --wrap replaces.
extern "C" {
void* __real_malloc(size_t bytes);
int __real_open64(const char* path, int flags, ...);
ssize_t __real_write(int fd, const void* bytes, size_t size);
int __real_ftruncate64(int fd, off_t size);
int __real_close(int fd);
int __real_unlink(const char* path);
int __real_rename(const char* from, const char* to);
}

namespace anttracks::core {
namespace {

thread_local bool is_outside = false;

std::atomic<bool> allocations_armed{false}, files_armed{false};
std::atomic<uint64_t> allocations{0}, first_failing{0}, last_failing{0};
std::atomic<uint64_t> file_operations{0};
FileFaults plan;  // constant while files_armed

bool AllocationFails() {
  if (is_outside || !allocations_armed.load(std::memory_order_relaxed)) return false;
  const uint64_t n = allocations.fetch_add(1, std::memory_order_relaxed) + 1;
  return n >= first_failing.load(std::memory_order_relaxed) &&
         n <= last_failing.load(std::memory_order_relaxed);
}

void* Allocate(size_t bytes, size_t alignment) {
  if (AllocationFails()) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return __real_malloc(bytes == 0 ? 1 : bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* AllocateOrThrow(size_t bytes, size_t alignment) {
  void* const memory = Allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// What one operation does. size: of a write, else 0.
template <class Operation>
ssize_t WithFaults(size_t size, Operation&& operation) {
  if (is_outside || !files_armed.load(std::memory_order_acquire)) return operation(size);
  const uint64_t n = file_operations.fetch_add(1, std::memory_order_relaxed) + 1;
  const bool here = n == plan.at;
  FileFault fault = here ? plan.fault : FileFault::kNone;
  const bool on = plan.fault == FileFault::kErrorsOn && n > plan.at && plan.at != 0;
  const bool rest = plan.fault == FileFault::kPartError && n == plan.at + 1 && plan.at != 0;
  int error = fault == FileFault::kError || fault == FileFault::kErrorsOn || on || rest ? plan.error : 0;
  if (fault == FileFault::kHang) error = plan.hang();
  if (fault == FileFault::kKill) raise(SIGKILL);
  const bool half = fault == FileFault::kShort || fault == FileFault::kPartError || fault == FileFault::kTear;
  ssize_t done = -1;
  if (error == 0) {
    done = operation(half && size > 1 ? size / 2 : size);
    error = errno;
  }
  if (fault == FileFault::kTear) raise(SIGKILL);
  if (plan.after) {
    const Outside test;
    plan.after();
  }
  if (done < 0) errno = error;
  return done;
}

}  // namespace

Outside::Outside(bool outside) : before_(is_outside) { is_outside = outside; }
Outside::~Outside() { is_outside = before_; }

void ArmAllocations(const AllocationFaults& faults) {
  allocations = 0;
  first_failing = faults.first == 0 ? UINT64_MAX : faults.first;
  const uint64_t most = UINT64_MAX - faults.first;
  last_failing = faults.first + (faults.count < most ? faults.count : most) - 1;
  allocations_armed = true;
}

uint64_t DisarmAllocations() {
  allocations_armed = false;
  return allocations;
}

void ArmFiles(const FileFaults& faults) {
  plan = faults;
  file_operations = 0;
  files_armed.store(true, std::memory_order_release);
}

uint64_t DisarmFiles() {
  files_armed.store(false, std::memory_order_release);
  return file_operations;
}

}  // namespace anttracks::core

using anttracks::core::Allocate;
using anttracks::core::AllocateOrThrow;
using anttracks::core::WithFaults;

extern "C" {

void* __wrap_malloc(size_t bytes) { return Allocate(bytes, 1); }

int __wrap_open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int mode = va_arg(arguments, int);  // the agent always gives one
  va_end(arguments);
  return static_cast<int>(WithFaults(0, [&](size_t) { return __real_open64(path, flags, mode); }));
}
ssize_t __wrap_write(int fd, const void* bytes, size_t size) {
  return WithFaults(size, [&](size_t part) { return __real_write(fd, bytes, part); });
}
int __wrap_ftruncate64(int fd, off_t size) {
  return static_cast<int>(WithFaults(0, [&](size_t) { return __real_ftruncate64(fd, size); }));
}
// Linux closes the descriptor also when it gives an error.
int __wrap_close(int fd) {
  const int closed = __real_close(fd);
  return static_cast<int>(WithFaults(0, [&](size_t) { return closed; }));
}
int __wrap_unlink(const char* path) {
  return static_cast<int>(WithFaults(0, [&](size_t) { return __real_unlink(path); }));
}
int __wrap_rename(const char* from, const char* to) {
  return static_cast<int>(WithFaults(0, [&](size_t) { return __real_rename(from, to); }));
}

}  // extern "C"

void* operator new(size_t bytes) { return AllocateOrThrow(bytes, 1); }
void* operator new[](size_t bytes) { return AllocateOrThrow(bytes, 1); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return AllocateOrThrow(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return AllocateOrThrow(bytes, static_cast<size_t>(alignment));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes, 1); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes, 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
