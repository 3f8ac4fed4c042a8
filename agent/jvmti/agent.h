// SPDX-License-Identifier: Apache-2.0
// The agent in its JVM: its life, and what a process that attached asks of it.
//
//     --OnLoad--> loaded --VMInit--> running --VMDeath--> ended
//     |             |                | ^  `----Unload without VMDeath--> ended, with a LOSS
//     |             |             stop start
//     |             |                v |
//     `--OnAttach---+------------> stopped      (an attach is a start)
//                   `--Unload: the JVM never came up--> the empty file is removed
//
// Stopped costs nothing: no event, no thread, no buffer is left. Each start is a trace of its own (Recording).
//
// Thread safety: all under one mutex; ForkedChild without. A request that makes files may hold it for as long
// as a disk hangs: the end of the JVM waits for it within its own limit only, and VMDeath ends other waits.
// Ownership: one Agent a process; what threads of the JVM or the writer may still touch is never freed.
#pragma once

#include <jvmti.h>

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
  // What a start without options means: all defaults, or the options of the trace before, in files of their
  // own.
  enum class NoOptions : bool { kDefaults, kAsBefore };

  // Of an attach that answered a request. Not 0, for which the VM would keep an entry in its list of agents;
  // that it closes the library instead does no harm (-z nodelete).
  static constexpr jint kAnswered = 100;

  // Takes the mutex, unless somebody has it for all that time.
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
  // The process runs its exit handlers: the JVM did not come up, or native code called exit.
  static void ProcessExit() noexcept;
  void ExitedLocked();

  std::mutex mutex_;
  State state_ = State::kStopped;
  std::unique_ptr<Recording> recording_;             // loaded or running
  std::atomic<Recording*> visible_{nullptr};         // the same, for a forked child
  std::vector<std::unique_ptr<Recording>> retired_;  // ended, but somebody may still be in it
  // Of the trace before.
  RecordingPlan last_plan_;
  nlohmann::ordered_json last_;
  uint64_t traces_ = 0;  // begun
  std::atomic<bool> dying_{false};
};

}  // namespace anttracks::jvmti
