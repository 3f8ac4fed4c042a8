// SPDX-License-Identifier: Apache-2.0
// What the agent does in a thread of its own that the VM knows: the walk of the old space after a sync point's
// collection or an attach, and collections on request. There is one such thread; it is made for traces that
// rotate and for those that are attached.
//
//     Loop (the thread) <-- Start(task), RequestCollection, Stop
//
// Thread safety: full. Start, Withdraw and WaitIdle from the VM thread at a safepoint, so never two at a time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

class Background {
 public:
  // The thread's life; returns after Stop. The thread must be one that the VM knows, in native state.
  void Loop(const AntTracksVM& vm);
  void Stop();

  // The task must not throw. Not while another one runs. False after Close: it will not run.
  bool Start(std::function<void()> task);
  // No task begins any more.
  void Close();
  bool closed() const;
  // True: the task had not begun and never will. In collect() the thread stands still until the safepoint ends,
  // so the VM thread must not wait for it to begin one.
  bool Withdraw();
  // Waits until no task runs; the task must have been told to end.
  void WaitIdle();
  // Waits until a task that runs has made it true, with Notify.
  void WaitUntil(const std::function<bool()>& done);
  // Changes what somebody waits for.
  void Notify(const std::function<void()>& change);
  bool busy() const;
  // A young collection, soon. Requests that come before it is done are one.
  void RequestCollection();

 private:
  mutable std::mutex mutex_;
  std::condition_variable work_, idle_;
  // Guarded by mutex_.
  std::function<void()> task_;
  bool busy_ = false;  // a task waits or runs
  bool collect_ = false;
  bool stopped_ = false, closed_ = false;
};

}  // namespace anttracks::core
