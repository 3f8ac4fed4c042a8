// SPDX-License-Identifier: Apache-2.0
// One trace of this JVM: its files, its writer, its JVM TI environment, and its source of events. A process
// makes one after the other.
//
//     Create --> made --Begin--> running --End--> ended --Settle--> unused: may be destroyed
//                  `--Forget: its files are removed--^
//
// Thread safety: one thread at a time, except ForkedChild. Ownership: owns everything it makes, the environment
// with its events and tags included. Must not be destroyed before Settle has returned true, as threads of the
// JVM or the writer may use it.
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
  std::string text;  // the options as given
  // Absolute paths, since the host may change its working directory.
  std::string name;  // file= of options, expanded
  std::string file;  // of the trace: name, or the next free name if that exists and another one is allowed
  std::string stats_name;  // stats= of options, expanded; empty: none
  std::string stats;       // chosen like file
};

// At the end of a trace: whether the VM can still be asked.
enum class VmState : bool { kGone, kAlive };

class Recording {
 public:
  // Makes the files and enables the events; nothing is recorded yet.
  static trace::Result<std::unique_ptr<Recording>> Create(JavaVM* vm, RecordingPlan plan,
                                                          const jvmtiEventCallbacks& callbacks);
  ~Recording();
  Recording(const Recording&) = delete;

  // In the live phase, by a thread of the VM. cancelled: set to end the wait for the first sync point. After an
  // error the recording has ended, and its files are deleted.
  trace::Status Begin(trace::SyncReason reason, const std::atomic<bool>& cancelled);
  // Adds to notes what the user should know about the end. Error: the end of the file could not be written.
  // Takes about `within` at most, whatever the disk does; see stream/wait_budget.h.
  trace::Status End(VmState vm, std::string_view reason, std::chrono::milliseconds within,
                    std::vector<std::string>* notes);
  // The last call before the process exits, after an End without the VM; see core::ExitGate.
  void HoldCollections();
  // In the live phase, after End: waits up to `wait` until no thread of the JVM and not the writer uses it.
  // False: try again later.
  bool Settle(std::chrono::milliseconds wait);
  // For a trace that never began: deletes its files.
  void Forget();

  // Has a collection done, with which the next data file begins, and waits for it. cancelled: set to end the
  // wait.
  trace::Status Rotate(const std::atomic<bool>& cancelled);
  // Has a census made now, and waits for it. cancelled: set to end the wait.
  trace::Status TakeCensus(const std::atomic<bool>& cancelled);
  // Changes an option of the running trace; see core::ParseChange.
  trace::Status Set(const std::string& change);
  // Writes the file of stats=, if there is one. Waits for the disk for a limited time.
  void WriteStats(std::string_view state) noexcept;
  nlohmann::ordered_json Counters(std::string_view state) const;
  // Mode, file, options, size, time, failure and counters.
  nlohmann::ordered_json Describe() const;
  // What the user should know at the start: samples are taken because the JVM is not patched; options have old
  // names.
  std::vector<std::string> StartNotes() const;

  const RecordingPlan& plan() const { return plan_; }
  bool failed() const { return source_->events().failure().failed(); }
  // Async-signal-safe: takes no lock, since at the fork another thread may have held any.
  void ForkedChild();

 private:
  Recording(JavaVM* vm, RecordingPlan plan) : java_vm_(vm), plan_(std::move(plan)) {}

  const core::Options& options() const { return plan_.options; }
  trace::Status Prepare(const jvmtiEventCallbacks& callbacks);
  // Chooses between tracing and sampling; a JVM without the patch can only be sampled.
  trace::Status ChooseMode();
  trace::Status OpenFile();
  trace::Status Subscribe(jvmtiEventCallbacks callbacks);
  std::string FallbackNote() const;
  void NeverBegan(std::string_view why);
  void ReportCounters(std::vector<std::string>* notes) const;

  JavaVM* const java_vm_;
  RecordingPlan plan_;
  jvmtiEnv* env_ = nullptr;
  const AntTracksVM* vm_ = nullptr;  // nullptr: samples are taken
  std::unique_ptr<io::Sink> sink_;
  io::RotatingTrace* rotating_ = nullptr;  // the sink, if the trace rotates
  std::shared_ptr<io::StatsFile> stats_;   // nullptr: none; shared with a write that hangs
  io::Aside aside_;                        // writes stats_
  bool fallback_ = false;                  // samples are taken because the JVM is not patched
  std::unique_ptr<Source> source_;
  std::unique_ptr<io::Writer> writer_;
  uint64_t ended_ns_ = 0;  // by the session's clock; 0: not ended
};

}  // namespace anttracks::jvmti
