// SPDX-License-Identifier: Apache-2.0
// The agent's own Java thread: it walks the old space after the collection of a sync point or an attach, and
// asks the VM for collections. It exists only for traces that rotate, for those that began with an attach,
// and for censuses.
//
//     Loop (the thread) <-- Start(task), RequestCollection, Stop
//
//     idle --Start--> waits -----> runs, from Pass to Pass --it ends--> idle
//     held:           does not     stands in Pass
//                     begin
//     cancelled:      idle         ends, at the next Pass
//
// Thread safety: full. Only the VM thread calls Start, Hold and Release, at a safepoint. Cancel is also called
// by the thread that ends the trace.
#pragma once

#include <chrono>
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

  // The task must not throw, and no other task may wait or run. False after Close: the task will not run.
  bool Start(std::function<void()> task);
  // From now on Start starts nothing.
  void Close();
  bool closed() const;

  // When it returns the task does nothing until Release: it has not begun, or stands in Pass. A task that has
  // not begun is not waited for, as its thread may ask for a collection, and then stands still until the
  // safepoint ends. False: no task waits or runs.
  bool Hold();
  void Release();
  // Where a task stands while it is held. False: it must end, and use nothing of what it shares with the
  // holder.
  bool Pass();
  // What a task does that waits for something else: for so long, or until it is held or cancelled.
  void Rest(std::chrono::milliseconds limit);
  // A task that waits never begins; one that runs must end, and is waited for. Allocates no memory.
  void Cancel() noexcept;

  // Waits until no task waits or runs.
  void WaitIdle();
  bool busy() const;
  // Asks for a young collection, soon. Requests before it is done count as one.
  void RequestCollection();

 private:
  mutable std::mutex mutex_;
  std::condition_variable work_;  // for the thread, and its task
  std::condition_variable idle_;  // for those who wait for it
  // Guarded by mutex_.
  std::function<void()> task_;  // that has not begun
  bool busy_ = false;           // a task waits or runs
  bool held_ = false, stands_ = false, cancelled_ = false;
  bool collect_ = false;
  bool stopped_ = false, closed_ = false;
};

}  // namespace anttracks::core
