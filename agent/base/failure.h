// SPDX-License-Identifier: Apache-2.0
// The one place where tracing is switched off. Every callback checks active() first; after Fail all callbacks
// return at once, and the application goes on.
//
// Thread safety: full. Invariant: the first reason is kept, and logged once.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>

namespace anttracks::core {

class Failure {
 public:
  bool active() const { return active_.load(std::memory_order_acquire); }
  void Activate() {
    active_.store(true);
    if (failed_.load()) active_.store(false);  // the writer may have failed already
  }
  // For a normal end, which is not a failure.
  void Deactivate() { active_.store(false, std::memory_order_release); }

  void Fail(std::string_view reason) noexcept;
  // Runs the call; an exception that it throws is a failure.
  template <class Call>
  void Guard(Call&& call) noexcept {
    try {
      call();
    } catch (const std::exception& e) {
      Fail(e.what());
    } catch (...) {
      Fail("internal error: unknown exception");
    }
  }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  std::string reason() const;

 private:
  std::atomic<bool> active_{false};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::string reason_;  // guarded by mutex_
};

}  // namespace anttracks::core
