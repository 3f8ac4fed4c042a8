// SPDX-License-Identifier: Apache-2.0
// Runs what may hang (it touches a disk) in a thread of its own, so that whoever wants it done can give up
// waiting.
//
// Thread safety: full. Ownership: a task that was given up goes on for as long as it takes, so it must own all
// it uses.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "trace/status.h"

namespace anttracks::io {

class Aside {
 public:
  Aside();
  // Waits for the task's end, and gives its status. An error that begins with `failed`, too, if it takes
  // longer, if an earlier one has not ended (it is not begun then), or if the system has no thread.
  trace::Status Run(const std::string& failed, std::function<trace::Status()> task,
                    std::chrono::milliseconds limit);

 private:
  struct State;
  struct Job;
  static void* Main(void* job);

  const std::shared_ptr<State> state_;
};

}  // namespace anttracks::io
