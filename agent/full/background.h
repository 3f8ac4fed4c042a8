// SPDX-License-Identifier: Apache-2.0
// The agent's own Java thread: it walks the old space after the collection of a sync point or an attach, and
// asks the VM for collections. It exists only for traces that rotate, for those that began with an attach,
// and for censuses.
//
//     Loop (the thread) <-- Start(task), RequestCollection, Stop
//
// Thread safety: full. Only the VM thread calls Start, Withdraw and WaitIdle, at a safepoint.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::core {

class Background {
 public:
  // Runs the thread until Stop. The calling thread must be known to the VM, and in native state.
  void Loop(const AntTracksVM& vm);
  void Stop();

  // The task must not throw, and no other task may be running. False after Close: the task will not run.
  bool Start(std::function<void()> task);
  // From now on no task begins.
  void Close();
  bool closed() const;
  // True: the task had not begun, and never will. While the thread asks for a collection it stands still until
  // the safepoint ends, so the VM thread must not wait for it to begin a task.
  bool Withdraw();
  // Waits until no task runs; the task must have been asked to end.
  void WaitIdle();
  // Waits until done() is true, which a running task makes so with Notify.
  void WaitUntil(const std::function<bool()>& done);
  // Runs change(), which makes the condition of a WaitUntil true, and wakes the waiting thread.
  void Notify(const std::function<void()>& change);
  bool busy() const;
  // Asks for a young collection, soon. Requests before it is done count as one.
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
