// SPDX-License-Identifier: Apache-2.0
// The agent in its JVM: options, discovery of the VM interface, start and end.
//
//     --Load--> loaded --VMInit--> running --VMDeath--> ended
//       |          |                  `----Unload without VMDeath--> ended, with a LOSS
//       |          `--Unload: the JVM never came up--> the empty file is removed
//     Attach: Load and VMInit in one.
//
// Thread safety: Load, Begin, End and Unload take one mutex. Ownership: one Agent a process; what threads of
// the JVM or the writer may still touch is never freed.
#pragma once

#include <jvmti.h>

#include <memory>
#include <mutex>
#include <string>

#include "agent/core/options.h"
#include "agent/core/sample_session.h"
#include "agent/core/session.h"
#include "agent/io/sink.h"
#include "agent/io/stats_file.h"
#include "agent/io/writer.h"
#include "agent/jvmti/sampler.h"
#include "trace/status.h"

namespace anttracks::jvmti {

class Agent {
 public:
  static Agent& Get();

  // A return code for Agent_OnLoad and Agent_OnAttach; says why on stderr.
  jint Load(JavaVM* vm, const char* options, bool attach) noexcept;
  void Unload() noexcept;
  // The process runs its exit handlers: the JVM did not come up, or native code called exit.
  void ProcessExit() noexcept;

  // JVMTI events.
  void VmInit() noexcept;
  void VmDeath() noexcept;
  void DataDump() noexcept;

 private:
  enum class State { kIdle, kLoaded, kRunning, kEnded };

  trace::Status LoadLocked(JavaVM* vm, const char* options, bool attach);
  // Whether objects are traced or sampled. Samples are what a JVM without the patch is left with.
  trace::Status ChooseMode();
  // nullptr: the JVM is not patched.
  static jvmtiExtensionFunction FindExtension(jvmtiEnv* env);
  trace::Status FindVm();
  // How much may be queued before threads wait; 0: as much as queue= says.
  size_t WaitBytes() const;
  trace::Status OpenFile();
  void MakeSession();
  Sampler::Config SamplerConfig() const;
  void TellFallback() const;
  trace::Status Subscribe();
  trace::Status StartBackground();
  trace::Status BeginLocked(trace::SyncReason reason);
  trace::Status BeginSampling();
  void EndLocked(bool vm_is_alive, std::string_view reason);
  // Empty: no keep=.
  trace::Result<std::string> FoldProgram() const;
  void WriteStats(std::string_view state);
  void NeverBegan(std::string_view why);
  void ForgetFile();

  static void ForkedChild();

  std::mutex mutex_;
  State state_ = State::kIdle;
  JavaVM* java_vm_ = nullptr;
  jvmtiEnv* env_ = nullptr;
  const AntTracksVM* vm_ = nullptr;
  core::Options options_;
  std::string option_text_;
  std::string path_;
  std::unique_ptr<io::Sink> sink_;
  std::unique_ptr<io::StatsFile> stats_;  // nullptr: none
  bool samples_ = false;      // instead of tracing
  bool fallback_ = false;     // because the JVM is not patched
  // One of the two; source_ is that one.
  std::unique_ptr<core::Session> session_;
  std::unique_ptr<core::SampleSession> sample_session_;
  core::EventSource* source_ = nullptr;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<io::Writer> writer_;
};

}  // namespace anttracks::jvmti
