// SPDX-License-Identifier: Apache-2.0
// The agent in its JVM: its life cycle, and requests from other processes.
//
//     --OnLoad--> loaded --VMInit--> running --VMDeath--> ended
//     |             |                | ^  `----Unload without VMDeath--> ended, with a LOSS
//     |             |             stop start
//     |             |                v |
//     `--OnAttach---+------------> stopped      (an attach is a start)
//                   `--Unload: the JVM never came up--> the empty file is removed
//
// When it is stopped it costs nothing: no event, thread or buffer is left. Each start makes a new trace
// (Recording).
//
// Thread safety: one mutex guards everything; ForkedChild does not take it. A request that makes files may hold
// it while a disk hangs: the end of the JVM or of the process waits for it within a limit, and ends other
// waits. Ownership: one Agent per process; what threads of the JVM or the writer may still use is never freed.
#pragma once

#include <jvmti.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/request.h"
#include "agent/jvmti/recording.h"
#include "trace/status.h"

namespace anttracks::jvmti {

class Agent {
 public:
  static Agent& Get();

  // Return codes for Agent_OnLoad and Agent_OnAttach; say why on stderr. Attach also takes requests
  // (base/request.h).
  jint Load(JavaVM* vm, const char* options) noexcept;
  jint Attach(JavaVM* vm, const char* options) noexcept;
  void Unload() noexcept;

  // JVMTI events.
  void VmInit() noexcept;
  void VmDeath() noexcept;
  void DataDump() noexcept;

 private:
  enum class State { kStopped, kLoaded, kRunning, kEnded };
  using Notes = std::vector<std::string>;
  // Which options a start without options has: the defaults, or those of the trace before, but with new files.
  enum class NoOptions : bool { kDefaults, kAsBefore };

  // The return code of an attach that answered a request. With 0 the VM would add an entry to its list of
  // agents; with another code it closes the library, which does no harm (-z nodelete).
  static constexpr jint kAnswered = 100;
  // Recordings at a time, running and ended: a forked child can look through a fixed number only.
  static constexpr size_t kMostInUse = 16;

  // Takes the mutex, unless another thread holds it during the whole time.
  std::unique_lock<std::mutex> LockWithin(std::chrono::milliseconds wait);
  jint Answer(JavaVM* vm, const core::Request& request);
  trace::Status Execute(JavaVM* vm, const core::Request& request, nlohmann::ordered_json* reply);
  trace::Result<RecordingPlan> Plan(std::string options, NoOptions none) const;
  trace::Status MakeLocked(JavaVM* vm, const std::string& options, NoOptions none);
  trace::Status StartLocked(JavaVM* vm, const std::string& options, NoOptions none, Notes* notes);
  trace::Status BeginLocked(trace::SyncReason reason);
  trace::Status StopLocked(Notes* notes);
  trace::Status TracedAlready() const;
  void EndLocked(VmState vm, std::string_view reason, std::chrono::milliseconds within);
  void Retire();
  void Reap();
  nlohmann::ordered_json StateJson() const;

  static void ForkedChild();
  // An exit handler: the JVM did not come up, or native code called exit().
  static void ProcessExit() noexcept;
  void ExitedLocked();

  std::mutex mutex_;
  State state_ = State::kStopped;
  std::unique_ptr<Recording> recording_;                      // loaded or running
  std::vector<std::unique_ptr<Recording>> retired_;           // ended, but still in use
  std::array<std::atomic<Recording*>, kMostInUse> in_use_{};  // all of these, for a forked child; nullptr: none
  // About the trace before.
  RecordingPlan last_plan_;
  nlohmann::ordered_json last_;
  uint64_t traces_ = 0;             // begun
  std::atomic<bool> dying_{false};  // the JVM or the process ends: requests wait for nothing any more
};

}  // namespace anttracks::jvmti
