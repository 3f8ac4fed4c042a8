// SPDX-License-Identifier: Apache-2.0
// Collections beside a process that exits. Limits that must not be reached are of minutes.
#include "agent/base/exit_gate.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

namespace anttracks::core {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// By then another thread is in ProcessExits.
constexpr auto kUntilExitWaits = 200ms;

TEST_CASE("Without an exit collections come and go, without collections an exit waits as long as it may") {
  ExitGate gate;
  for (int i = 0; i < 3; i++) {
    gate.CollectionBegins();
    gate.CollectionEnds();
  }
  const auto begin = steady_clock::now();
  gate.ProcessExits({5ms, 10min, 0ms});
  CHECK(steady_clock::now() - begin >= 5ms);
  gate.CollectionBegins();
  gate.CollectionEnds();
}

TEST_CASE("An exit waits for the end of a collection, and the VM thread stays there") {
  ExitGate gate;
  gate.CollectionBegins();
  std::atomic<bool> ends{false};
  const auto begin = steady_clock::now();
  std::thread vm([&] {
    std::this_thread::sleep_for(kUntilExitWaits);
    ends = true;
    gate.CollectionEnds();
  });
  gate.ProcessExits({0ms, 10min, 50ms});
  CHECK(ends);
  vm.join();
  CHECK(steady_clock::now() - begin >= kUntilExitWaits + 50ms);
}

TEST_CASE("An exit waits for a collection that is about to begin, and the VM thread stays before it") {
  ExitGate gate;
  std::atomic<bool> begins{false};
  const auto begin = steady_clock::now();
  std::thread vm([&] {
    std::this_thread::sleep_for(kUntilExitWaits);
    begins = true;
    gate.CollectionBegins();
  });
  gate.ProcessExits({10min, 10min, 50ms});
  CHECK(begins);
  vm.join();
  CHECK(steady_clock::now() - begin >= kUntilExitWaits + 50ms);
}

TEST_CASE("An exit does not wait for ever for a collection, nor a collection for an exit") {
  ExitGate gate;
  gate.CollectionBegins();
  const auto begin = steady_clock::now();
  gate.ProcessExits({0ms, 20ms, 50ms});
  CHECK(steady_clock::now() - begin >= 20ms);
  gate.CollectionEnds();  // not the exit's last moment: the process is still there
  CHECK(steady_clock::now() - begin >= 70ms);
  gate.CollectionBegins();
  gate.CollectionEnds();
}

TEST_CASE("A VM thread that stays goes on soon after the exit, not at the end of what that could have waited") {
  ExitGate gate;
  std::thread vm([&] {
    std::this_thread::sleep_for(kUntilExitWaits);
    gate.CollectionBegins();
  });
  gate.ProcessExits({10min, 20min, 1ms});
  vm.join();
}

}  // namespace
}  // namespace anttracks::core
