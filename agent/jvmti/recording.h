// SPDX-License-Identifier: Apache-2.0
// One trace of this JVM: its files, its writer, its JVM TI environment, and its source, which takes all objects
// or samples. A process makes one after the other.
//
//     Create --> made --Begin--> running --End--> ended --Settle--> nothing touches it: may be destroyed
//                  `--Forget: its files are removed--^
//
// Thread safety: one thread at a time, but ForkedChild. Ownership: owns all it makes, the environment, too,
// which takes its events and tags along. Until Settled what threads of the JVM or the writer may still touch
// must not be destroyed.
#pragma once

#include <jvmti.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/options.h"
#include "agent/io/aside.h"
#include "agent/io/stats_file.h"
#include "agent/io/writer.h"
#include "agent/jvmti/source.h"
#include "trace/status.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::jvmti {

struct RecordingPlan {
  core::Options options;
  std::string text;  // of the options, as it was given
  // Absolute paths: the host may change its folder.
  std::string name;        // file= of options, expanded
  std::string file;        // the trace: the name, or if that is taken and another will do a free one after it
  std::string stats_name;  // stats= of options, expanded; empty: none
  std::string stats;       // as file
};

// At the end of a trace: whether the VM can still be asked.
enum class VmState : bool { kGone, kAlive };

class Recording {
 public:
  // The events are enabled, the files exist, nothing is recorded yet.
  static trace::Result<std::unique_ptr<Recording>> Create(JavaVM* vm, RecordingPlan plan,
                                                          const jvmtiEventCallbacks& callbacks);
  ~Recording();
  Recording(const Recording&) = delete;

  // In the live phase, in a thread of the VM. After an error it has ended, and its files are gone.
  trace::Status Begin(trace::SyncReason reason);
  // What the user should know of how it ended goes to notes. An error: the end of the file could not be
  // written. Takes about as long as within at most, whatever the disk does; see stream/wait_budget.h.
  trace::Status End(VmState vm, std::string_view reason, std::chrono::milliseconds within,
                    std::vector<std::string>* notes);
  // After an End without the VM, last before the process goes on exiting; see core::ExitGate.
  void HoldCollections();
  // In the live phase, after End: waits until no thread of the JVM or the writer is in it, as long as that may
  // be expected to take. False: try again later.
  bool Settle(std::chrono::milliseconds wait);
  // For a trace that never began.
  void Forget();

  // Begins the next data file with a collection, now. cancelled: ends the wait for it.
  trace::Status Rotate(const std::atomic<bool>& cancelled);
  // What may be changed while it runs; see core::ParseChange.
  trace::Status Set(const std::string& change);
  // Into the file of stats=, if there is one. Waits for the disk for a while only.
  void WriteStats(std::string_view state) noexcept;
  nlohmann::ordered_json Counters(std::string_view state) const;
  // Mode, file, options, size, time, failure and counters.
  nlohmann::ordered_json Describe() const;
  // What the user should know at the beginning: that samples are taken because the JVM is not patched, old
  // names of options.
  std::vector<std::string> StartNotes() const;

  const RecordingPlan& plan() const { return plan_; }
  bool failed() const { return source_->events().failure().failed(); }
  // Only what is async-signal-safe: another thread may have held any lock.
  void ForkedChild();

 private:
  Recording(JavaVM* vm, RecordingPlan plan) : java_vm_(vm), plan_(std::move(plan)) {}

  const core::Options& options() const { return plan_.options; }
  trace::Status Prepare(const jvmtiEventCallbacks& callbacks);
  // Whether objects are traced or sampled. Samples are what a JVM without the patch is left with.
  trace::Status ChooseMode();
  trace::Status OpenFile();
  trace::Status Subscribe(jvmtiEventCallbacks callbacks);
  // Empty: no keep=.
  trace::Result<std::string> FoldProgram() const;
  std::string FallbackNote() const;
  void NeverBegan(std::string_view why);
  void ReportCounters(std::vector<std::string>* notes) const;

  JavaVM* const java_vm_;
  RecordingPlan plan_;
  jvmtiEnv* env_ = nullptr;
  const AntTracksVM* vm_ = nullptr;  // nullptr: samples are taken
  std::unique_ptr<io::Sink> sink_;
  io::RotatingTrace* rotating_ = nullptr;  // the sink, if the trace rotates
  std::shared_ptr<io::StatsFile> stats_;   // nullptr: none; a write that hangs shares it
  io::Aside aside_;                        // writes it
  bool fallback_ = false;                  // to samples, because the JVM is not patched
  std::unique_ptr<Source> source_;
  std::unique_ptr<io::Writer> writer_;
  uint64_t ended_ns_ = 0;  // of the session's clock; 0: not yet
};

}  // namespace anttracks::jvmti
