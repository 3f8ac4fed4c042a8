// SPDX-License-Identifier: Apache-2.0
#include "agent/jvmti/agent.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "agent/base/log.h"
#include "agent/io/reply.h"

namespace anttracks::jvmti {
namespace {

using core::Command;
using nlohmann::ordered_json;
using trace::Status;
using trace::SyncReason;

// How long a stop waits for threads that are on their way out.
constexpr std::chrono::seconds kSettleWithin{5};
// How long exit() in native code waits for a request in another thread.
constexpr std::chrono::seconds kExitWithin{1};
constexpr std::string_view kBusy = "an earlier request to the agent has not ended yet; does the disk answer?";

void JNICALL OnVmInit(jvmtiEnv*, JNIEnv*, jthread) { Agent::Get().VmInit(); }
void JNICALL OnVmDeath(jvmtiEnv*, JNIEnv*) { Agent::Get().VmDeath(); }
void JNICALL OnDataDump(jvmtiEnv*) { Agent::Get().DataDump(); }

jvmtiEventCallbacks Callbacks() {
  jvmtiEventCallbacks callbacks{};
  callbacks.VMInit = OnVmInit;
  callbacks.VMDeath = OnVmDeath;
  callbacks.DataDumpRequest = OnDataDump;
  return callbacks;
}

// jcmd takes what it is given apart at blanks and at '=', and passes the first piece.
std::string_view HintForJcmd(std::string_view options) {
  if (options.empty() || options.find('=') != std::string_view::npos) return "";
  return "; jcmd passes options whole only in quotes of their own, jcmd PID 'JVMTI.agent_load LIBRARY "
         "\"OPTIONS\"', and "
         "anttracks attach PID OPTIONS needs none";
}

std::chrono::milliseconds Left(std::chrono::steady_clock::time_point until) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
}

// Runs what may throw; whatever it throws is an error.
template <class Call>
Status Caught(Call&& call) noexcept {
  try {
    try {
      return call();
    } catch (const std::exception& e) {
      return Status::Error(std::string("internal error: ") + e.what());
    } catch (...) {
      return Status::Error("internal error: unknown exception");
    }
  } catch (...) {
    return {};  // no memory for words
  }
}

}  // namespace

// Never destroyed: threads of the JVM may come back until the process is gone.
Agent& Agent::Get() {
  static Agent* const agent = new Agent();
  return *agent;
}

std::unique_lock<std::mutex> Agent::LockWithin(std::chrono::milliseconds wait) {
  const auto until = std::chrono::steady_clock::now() + wait;
  std::unique_lock lock(mutex_, std::try_to_lock);
  while (!lock.owns_lock() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    (void)lock.try_lock();
  }
  return lock;
}

jint Agent::Load(JavaVM* vm, const char* options) noexcept {
  bool loaded = false;
  const Status outcome = Caught([&]() -> Status {
    const std::lock_guard lock(mutex_);
    if (recording_) return Status::Error("the agent is loaded already; one -agentpath is enough");
    const auto parsed = core::ParseOptions(options);
    if (parsed.ok() && parsed->help) {
      std::fputs(core::HelpText().c_str(), stdout);
      std::fflush(stdout);
      return {};
    }
    const Status made = MakeLocked(vm, options == nullptr ? "" : options, NoOptions::kDefaults);
    if (!made.ok()) return made;
    state_ = State::kLoaded;
    loaded = true;
    for (const std::string& note : recording_->StartNotes()) core::LogWarn(note);
    return {};
  });
  if (!outcome.ok()) core::LogError(outcome.message());
  return loaded ? JNI_OK : JNI_ERR;
}

jint Agent::Attach(JavaVM* vm, const char* options) noexcept {
  jint code = JNI_ERR;
  const Status outcome = Caught([&]() -> Status {
    const std::string text = options == nullptr ? "" : options;
    const auto request = core::ParseRequest(text);
    if (!request.ok()) return request.status();
    if (request->command != Command::kNone) {
      code = Answer(vm, *request);
      return {};
    }
    const std::lock_guard lock(mutex_);
    Notes notes;
    Status started = StartLocked(vm, text, NoOptions::kDefaults, &notes);
    for (const std::string& note : notes) core::LogWarn(note);
    if (started.ok()) {
      code = JNI_OK;
      return started;
    }
    return Status::Error(started.message() + std::string(HintForJcmd(text)));
  });
  if (!outcome.ok()) core::LogError(outcome.message());
  return code;
}

// Nobody reads a reply that has no file: errors go to stderr then.
jint Agent::Answer(JavaVM* vm, const core::Request& request) {
  ordered_json reply;
  reply["ok"] = false;
  const Status done = Caught([&] { return Execute(vm, request, &reply); });
  reply["ok"] = done.ok();
  if (!done.ok()) reply["error"] = done.message();
  if (request.reply.empty()) {
    if (!done.ok()) core::LogError(done.message());
    return done.ok() ? JNI_OK : JNI_ERR;
  }
  const Status written =
      io::WriteReply(request.reply, reply.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (written.ok()) return kAnswered;
  core::LogError(written.message());
  return JNI_ERR;
}

Status Agent::Execute(JavaVM* vm, const core::Request& request, ordered_json* reply) {
  const std::lock_guard lock(mutex_);
  Reap();
  Notes notes;
  Status done;
  const bool running = state_ == State::kRunning;
  switch (request.command) {
    case Command::kAttach:
    case Command::kStart:
      done =
          StartLocked(vm, request.options,
                      request.command == Command::kStart ? NoOptions::kAsBefore : NoOptions::kDefaults, &notes);
      break;
    case Command::kStop:
      done = running ? StopLocked(&notes) : Status::Error("nothing is traced, so there is nothing to stop");
      break;
    case Command::kRotate:
      done = running ? recording_->Rotate(dying_)
                     : Status::Error("nothing is traced, so there is nothing to rotate");
      break;
    case Command::kSet:
      done = running ? recording_->Set(request.options)
                     : Status::Error("nothing is traced, so there is nothing to set");
      break;
    case Command::kCensus:
      done = running ? recording_->TakeCensus(dying_)
                     : Status::Error("nothing is traced, so there is no census to be made");
      break;
    case Command::kDumpStats:
      if (!running)
        return Status::Error(
            "nothing is traced; the counters of a trace that has ended are in its END: anttracks info");
      (*reply)["stats"] = recording_->Counters(recording_->failed() ? "failed" : "running");
      return {};
    default:
      break;
  }
  reply->update(StateJson());
  (*reply)["notes"] = notes;
  return done;
}

ordered_json Agent::StateJson() const {
  ordered_json json;
  const bool running = state_ == State::kRunning;
  json["state"] = running                   ? (recording_->failed() ? "failed" : "tracing")
                  : state_ == State::kEnded ? "ended"
                                            : "stopped";
  json["process_id"] = getpid();
  json["traces"] = traces_;
  if (running) {
    json["trace"] = recording_->Describe();
  } else if (!last_.is_null()) {
    json["trace"] = last_;
  }
  return json;
}

trace::Result<RecordingPlan> Agent::Plan(std::string options, NoOptions none) const {
  const bool same = none == NoOptions::kAsBefore && options.empty() && traces_ != 0;
  if (same) options = last_plan_.text;
  auto parsed = core::ParseOptions(options.c_str());
  if (!parsed.ok()) return parsed.status();
  if (parsed->help) return Status::Error(core::HelpText());
  RecordingPlan plan;
  plan.options = *parsed;
  plan.text = options;
  const std::string usual = core::Options().file;
  const bool nameless = parsed->file == usual && traces_ != 0;
  const bool usual_name = std::filesystem::path(parsed->file).filename() == usual && traces_ != 0;
  plan.name = same || nameless ? last_plan_.name : core::AbsolutePath(core::ExpandFile(parsed->file, getpid()));
  plan.file = same || usual_name ? io::FreeName(plan.name) : plan.name;
  if (parsed->stats.empty()) return plan;
  plan.stats_name =
      same ? last_plan_.stats_name : core::AbsolutePath(core::ExpandFile(parsed->stats, getpid()));
  plan.stats = same ? io::FreeName(plan.stats_name) : plan.stats_name;
  const Status distinct = io::StatsFile::CheckName(plan.stats, plan.file, parsed->max_bytes != 0);
  if (!distinct.ok()) return distinct;
  return plan;
}

Status Agent::MakeLocked(JavaVM* vm, const std::string& options, NoOptions none) {
  auto plan = Plan(options, none);
  if (!plan.ok()) return plan.status();
  const auto slot = std::find(in_use_.begin(), in_use_.end(), nullptr);
  if (slot == in_use_.end()) return Status::Error("too many traces have not ended yet; does the disk answer?");
  core::SetLogLevel(plan->options.log);
  auto made = Recording::Create(vm, std::move(*plan), Callbacks());
  if (!made.ok()) return made.status();
  static bool fork_handled = false;
  if (!fork_handled) fork_handled = pthread_atfork(nullptr, nullptr, &Agent::ForkedChild) == 0;
  // Exit handlers run last one first, so this one before the JVM's own objects are destroyed: a collection
  // after that crashes. A destructor of the library would run after that, and make the time longer in which one
  // may come.
  static bool exit_handled = false;
  if (!exit_handled) exit_handled = std::atexit(&Agent::ProcessExit) == 0;
  recording_ = std::move(*made);
  slot->store(recording_.get());
  return {};
}

Status Agent::TracedAlready() const {
  const ordered_json trace = recording_->Describe();
  return Status::Error("this JVM is traced already, to " + trace["file"].get<std::string>() +
                       "; nothing was changed. To begin another trace stop this one first: anttracks ctl " +
                       std::to_string(getpid()) + " stop");
}

Status Agent::StartLocked(JavaVM* vm, const std::string& options, NoOptions none, Notes* notes) {
  if (state_ == State::kEnded || dying_) return Status::Error("the JVM is ending");
  if (recording_) return TracedAlready();
  Status status = MakeLocked(vm, options, none);
  if (status.ok()) status = BeginLocked(SyncReason::kAttach);
  if (status.ok()) *notes = recording_->StartNotes();
  return status;
}

Status Agent::BeginLocked(SyncReason reason) {
  const Status status = Caught([&] { return recording_->Begin(reason, dying_); });
  if (!status.ok()) {
    state_ = State::kStopped;
    Retire();
    return status;
  }
  state_ = State::kRunning;
  traces_++;
  last_plan_ = recording_->plan();
  core::LogInfo("tracing to " + last_plan_.file);
  return {};
}

Status Agent::StopLocked(Notes* notes) {
  const Status status =
      Caught([&] { return recording_->End(VmState::kAlive, "stopped on request", core::limits::kEnd, notes); });
  state_ = State::kStopped;
  last_ = recording_->Describe();
  if (recording_->failed())
    notes->push_back("tracing had stopped before: " + last_["failure"].get<std::string>());
  if (status.ok()) recording_->Settle(kSettleWithin);
  Retire();
  return status;
}

// Destroys the recording, or keeps it for as long as somebody may be in it.
void Agent::Retire() {
  retired_.push_back(std::move(recording_));
  Reap();
}

void Agent::Reap() {
  if (dying_) return;
  std::erase_if(retired_, [this](const auto& recording) {
    if (!recording->Settle(std::chrono::milliseconds(0))) return false;
    std::find(in_use_.begin(), in_use_.end(), recording.get())->store(nullptr);
    return true;
  });
}

void Agent::VmInit() noexcept {
  const Status outcome = Caught([this]() -> Status {
    const std::lock_guard lock(mutex_);
    return state_ == State::kLoaded ? BeginLocked(SyncReason::kStart) : Status();
  });
  if (!outcome.ok()) core::LogError(outcome.message());
}

void Agent::VmDeath() noexcept {
  dying_ = true;
  const Status outcome = Caught([this]() -> Status {
    const auto until = std::chrono::steady_clock::now() + core::limits::kEnd;
    const auto lock = LockWithin(core::limits::kEnd);
    if (!lock.owns_lock()) return Status::Error("the trace has no end: " + std::string(kBusy));
    if (state_ == State::kRunning) EndLocked(VmState::kAlive, "the JVM ended", Left(until));
    state_ = State::kEnded;
    return {};
  });
  if (!outcome.ok()) core::LogError(outcome.message());
}

// Requested by the user: jcmd PID JVMTI.data_dump, or SIGQUIT.
void Agent::DataDump() noexcept {
  const Status outcome = Caught([this]() -> Status {
    const auto lock = LockWithin(core::limits::kStats);
    if (!lock.owns_lock()) return Status::Error("the counters are not written: " + std::string(kBusy));
    if (state_ == State::kRunning) recording_->WriteStats(recording_->failed() ? "failed" : "running");
    return {};
  });
  if (!outcome.ok()) core::LogError(outcome.message());
}

void Agent::Unload() noexcept {
  const Status outcome = Caught([this]() -> Status {
    const auto until = std::chrono::steady_clock::now() + core::limits::kEnd;
    const auto lock = LockWithin(dying_ ? std::chrono::milliseconds(0) : core::limits::kEnd);
    if (!lock.owns_lock()) return {};  // VMDeath has waited for it, and said so
    if (state_ == State::kRunning) EndLocked(VmState::kGone, "the agent was unloaded", Left(until));
    if (state_ == State::kLoaded) recording_->Forget();
    state_ = State::kEnded;
    return {};
  });
  if (!outcome.ok()) core::LogError(outcome.message());
}

void Agent::ProcessExit() noexcept {
  Agent& agent = Get();
  const Status outcome = Caught([&agent]() -> Status {
    const bool told = agent.dying_.exchange(true);  // ends the waits of a request in another thread
    const auto lock = agent.LockWithin(told ? std::chrono::seconds(0) : kExitWithin);
    if (lock.owns_lock()) agent.ExitedLocked();
    // VMDeath has waited for it, and said so; in a forked child nobody will ever leave it.
    if (lock.owns_lock() || told) return {};
    return Status::Error("the trace has no end: " + std::string(kBusy));
  });
  if (!outcome.ok()) core::LogError(outcome.message());
}

void Agent::ExitedLocked() {
  if (state_ == State::kLoaded) recording_->Forget();
  if (state_ == State::kRunning) {
    EndLocked(VmState::kGone, "the process exited without the end of the JVM", core::limits::kEnd);
    recording_->HoldCollections();
  }
  state_ = State::kEnded;
}

// The recording stays: what is in it now may be there until the process is gone.
void Agent::EndLocked(VmState vm, std::string_view reason, std::chrono::milliseconds within) {
  state_ = State::kEnded;
  Notes notes;
  const Status ended = recording_->End(vm, reason, within, &notes);
  if (!ended.ok()) core::LogError(ended.message());
  for (const std::string& note : notes) core::LogWarn(note);
  if (ended.ok() && !recording_->failed())
    core::LogInfo("trace written: " + recording_->Describe()["counters"].dump());
}

// Only what is async-signal-safe: another thread may have held any lock.
void Agent::ForkedChild() {
  Agent& agent = Get();
  for (const std::atomic<Recording*>& slot : agent.in_use_) {
    if (Recording* const recording = slot.load()) recording->ForkedChild();
  }
  agent.state_ = State::kEnded;
  agent.dying_ = true;
}

}  // namespace anttracks::jvmti
