// SPDX-License-Identifier: Apache-2.0
// Runs a task that may hang (because of a disk) in a thread of its own, so that the caller can stop waiting for
// it.
//
// Thread safety: full. Ownership: a task whose caller has stopped waiting goes on, so a task must own
// everything it uses.
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
  // Waits up to `limit` for the task's end, and returns its status. Also an error, with a text that begins with
  // `failed`: the task takes longer, an earlier task has not ended (then this one is not begun), or no thread
  // can be started.
  trace::Status Run(const std::string& failed, std::function<trace::Status()> task,
                    std::chrono::milliseconds limit);

 private:
  struct State;
  struct Job;
  static void* Main(void* job);

  const std::shared_ptr<State> state_;
};

}  // namespace anttracks::io
