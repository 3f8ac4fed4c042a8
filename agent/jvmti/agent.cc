// SPDX-License-Identifier: Apache-2.0
#include "agent/jvmti/agent.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "agent/core/callbacks.h"
#include "agent/core/log.h"
#include "agent/io/rotating_trace.h"
#include "agent/io/trace_file.h"
#include "agent/jvmti/meta.h"
#include "trace/file_writer.h"

namespace anttracks::jvmti {
namespace {

using trace::Status;

constexpr std::chrono::seconds kEndWithoutProgress{30};

using GetVm = jvmtiError(JNICALL*)(jvmtiEnv*, jint, const AntTracksVM**);

void JNICALL OnVmInit(jvmtiEnv*, JNIEnv*, jthread) { Agent::Get().VmInit(); }
void JNICALL OnVmDeath(jvmtiEnv*, JNIEnv*) { Agent::Get().VmDeath(); }
void JNICALL OnDataDump(jvmtiEnv*) { Agent::Get().DataDump(); }

void FreeExtension(jvmtiEnv* env, jvmtiExtensionFunctionInfo& info) {
  const auto free = [env](void* memory) { env->Deallocate(static_cast<unsigned char*>(memory)); };
  for (jint i = 0; i < info.param_count; i++) free(info.params[i].name);
  free(info.id);
  free(info.short_description);
  free(info.params);
  free(info.errors);
}

uint64_t RandomId() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

// Never destroyed: threads of the JVM may come back until the process is gone.
Agent& Agent::Get() {
  static Agent* const agent = new Agent();
  return *agent;
}

jint Agent::Load(JavaVM* vm, const char* options, bool attach) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kIdle) {
      core::LogError("the agent is loaded already; it traces a JVM once");
      return JNI_ERR;
    }
    const Status status = LoadLocked(vm, options, attach);
    if (status.ok()) return JNI_OK;
    if (!options_.help) core::LogError(status.message());
    if (state_ == State::kLoaded) {
      ForgetFile();
      state_ = State::kIdle;
    }
    // Only one environment can have the right to sample: somebody may try again.
    if (state_ == State::kIdle && samples_) env_->DisposeEnvironment();
    samples_ = false;
    options_ = core::Options();
  } catch (const std::exception& e) {
    core::LogError(e.what());
  } catch (...) {
    core::LogError("internal error: unknown exception");
  }
  return JNI_ERR;
}

Status Agent::LoadLocked(JavaVM* vm, const char* options, bool attach) {
  auto parsed = core::ParseOptions(options);
  if (!parsed.ok()) return parsed.status();
  options_ = *parsed;
  option_text_ = options == nullptr ? "" : options;
  if (options_.help) {
    std::fputs(core::OptionTable().c_str(), stdout);
    std::fflush(stdout);
    return Status::Error("help was asked for");
  }
  core::SetLogLevel(options_.log);
  java_vm_ = vm;
  if (vm->GetEnv(reinterpret_cast<void**>(&env_), JVMTI_VERSION_11) != JNI_OK) {
    return Status::Error("this JVM has no JVMTI 11");
  }
  Status status = ChooseMode();
  if (status.ok()) status = OpenFile();
  if (!status.ok()) return status;
  state_ = State::kLoaded;
  if (!options_.stats.empty()) {
    auto stats = io::StatsFile::Create(core::ExpandFile(options_.stats, getpid()), options_.overwrite);
    if (!stats.ok()) return stats.status();
    stats_ = std::move(*stats);
  }
  MakeSession();
  writer_ = std::make_unique<io::Writer>(*source_, *sink_,
                                         io::WriterConfig{.compression = options_.compression,
                                                          .threshold = options_.threshold,
                                                          .compressors = options_.compressors});
  static bool fork_handled = false;
  if (!fork_handled) fork_handled = pthread_atfork(nullptr, nullptr, &Agent::ForkedChild) == 0;
  status = Subscribe();
  if (!status.ok()) return status;
  if (fallback_) TellFallback();
  if (!attach) return {};
  return BeginLocked(trace::SyncReason::kAttach);
}

void Agent::MakeSession() {
  if (samples_) {
    sample_session_ = std::make_unique<core::SampleSession>(
        core::SampleConfig{.queue_bytes = options_.queue_bytes, .when_full = options_.when_full});
    sampler_ = std::make_unique<Sampler>(env_, *sample_session_, SamplerConfig());
    source_ = sample_session_.get();
    return;
  }
  session_ = std::make_unique<core::Session>(
      *vm_, core::SessionConfig{.buffer_bytes = options_.buffer_bytes,
                                 .queue_bytes = options_.queue_bytes,
                                 .wait_bytes = WaitBytes(),
                                 .fuzz = options_.fuzz,
                                 .when_full = options_.when_full,
                                 .stretch_bytes = options_.stretch_bytes,
                                 .readers = std::thread::hardware_concurrency() > 1 ? options_.readers : 0});
  source_ = session_.get();
}

size_t Agent::WaitBytes() const {
  if (options_.max_bytes == 0) return 0;
  const io::RotationLimits limits{.max_bytes = options_.max_bytes, .deviation = options_.deviation};
  return std::clamp<size_t>(limits.backlog(), 4 * options_.buffer_bytes, options_.queue_bytes);
}

jvmtiExtensionFunction Agent::FindExtension(jvmtiEnv* env) {
  jint count = 0;
  jvmtiExtensionFunctionInfo* infos = nullptr;
  if (env->GetExtensionFunctions(&count, &infos) != JVMTI_ERROR_NONE) return nullptr;
  jvmtiExtensionFunction found = nullptr;
  for (jint i = 0; i < count; i++) {
    if (std::strcmp(infos[i].id, ANTTRACKS_EXTENSION_ID) == 0) found = infos[i].func;
    FreeExtension(env, infos[i]);
  }
  env->Deallocate(reinterpret_cast<unsigned char*>(infos));
  return found;
}

Sampler::Config Agent::SamplerConfig() const { return {.interval = options_.interval, .depth = options_.depth}; }

Status Agent::ChooseMode() {
  fallback_ = options_.mode == core::Mode::kAuto && FindExtension(env_) == nullptr;
  samples_ = fallback_ || options_.mode == core::Mode::kSample;
  if (!samples_) return FindVm();
  // Of the options that are ignored: one file, and nothing to keep.
  options_.max_bytes = 0;
  options_.keep = false;
  return Sampler::Prepare(env_, SamplerConfig());
}

void Agent::TellFallback() const {
  const uint64_t interval = options_.interval;
  std::string text = "this JVM is not patched for AntTracks: samples (";
  text += interval == 0 ? "every object that JVM TI reports" : "one in " + std::to_string(interval) + " bytes";
  text +=
      ") instead of every object, so estimates instead of exact numbers, and no addresses or moves; for all of that run "
      "build/jdk/bin/java, which scripts/quickstart builds (mode=full insists on that, mode=sample is silent)";
  std::string ignored;
  for (const std::string& name : options_.full_only) ignored += (ignored.empty() ? "; ignored: " : ", ") + name;
  core::LogWarn(text + ignored);
}

Status Agent::FindVm() {
  const auto function = reinterpret_cast<GetVm>(reinterpret_cast<void*>(FindExtension(env_)));
  if (function == nullptr) {
    return Status::Error(
        "this JVM is not patched for AntTracks: run the patched JDK instead, build/jdk/bin/java after "
        "scripts/quickstart (see README), or leave out mode=full to sample");
  }
  const jvmtiError error = function(env_, ANTTRACKS_ABI_VERSION, &vm_);
  if (error != JVMTI_ERROR_NONE || vm_ == nullptr || vm_->version != ANTTRACKS_ABI_VERSION ||
      vm_->size < sizeof(AntTracksVM)) {
    return Status::Error(
        "the patched JVM and this agent have different versions of their interface: build both from the same "
        "sources (scripts/build)");
  }
  if (vm_->unsupported != nullptr) {
    return Status::Error("this JVM cannot be traced as it is set up: " + std::string(vm_->unsupported) +
                         "; mode=sample takes it as it is");
  }
  return {};
}

Status Agent::OpenFile() {
  path_ = core::ExpandFile(options_.file, getpid());
  trace::FileHeader header;
  header.wall_clock_ns = core::Clock::Wall();
  header.trace_id = RandomId();
  header.process_id = static_cast<uint64_t>(getpid());
  if (options_.max_bytes != 0) {
    const auto program = FoldProgram();
    if (!program.ok()) return program.status();
    auto rotating = io::RotatingTrace::Create(
        path_, options_.overwrite, header,
        {.max_bytes = options_.max_bytes, .deviation = options_.deviation, .fold_program = *program});
    if (!rotating.ok()) return rotating.status();
    sink_ = std::move(*rotating);
    return {};
  }
  auto file = io::TraceFile::Create(path_, options_.overwrite);
  if (!file.ok()) return file.status();
  sink_ = std::move(*file);
  const Status status = sink_->Write(trace::EncodeFileHeader(header));
  if (!status.ok()) ForgetFile();
  return status;
}

// The analyzer is built beside the agent.
trace::Result<std::string> Agent::FoldProgram() const {
  if (!options_.keep) return std::string();
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&Agent::ForkedChild), &info) == 0 || info.dli_fname == nullptr) {
    return Status::Error("keep=yes: the system does not tell where the agent's library is");
  }
  const std::string library = info.dli_fname;
  const size_t slash = library.rfind('/');
  const std::string program = (slash == std::string::npos ? "./" : library.substr(0, slash + 1)) + "anttracks";
  if (access(program.c_str(), X_OK) == 0) return program;
  return Status::Error("keep=yes needs the program anttracks beside the agent, but there is no " + program +
                       "; copy or link it there");
}

void Agent::WriteStats(std::string_view state) {
  if (!stats_) return;
  nlohmann::ordered_json json;
  json["trace"] = path_;
  json["state"] = state;
  json["duration_ns"] = source_->clock().Now();
  json["counters"] = nlohmann::ordered_json::parse(source_->CountersJson());
  const Status status = stats_->Write(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (!status.ok()) core::LogWarn(status.message());
}

Status Agent::Subscribe() {
  jvmtiEventCallbacks callbacks{};
  callbacks.VMInit = OnVmInit;
  callbacks.VMDeath = OnVmDeath;
  callbacks.DataDumpRequest = OnDataDump;
  if (samples_) Sampler::SetCallbacks(&callbacks);
  jvmtiError error = env_->SetEventCallbacks(&callbacks, sizeof callbacks);
  for (const jvmtiEvent event : {JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_DATA_DUMP_REQUEST}) {
    if (error == JVMTI_ERROR_NONE) error = env_->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr);
  }
  if (error != JVMTI_ERROR_NONE) return Status::Error("JVMTI refuses the agent's events");
  return {};
}

// The thread that reads the old space of sync points and asks the VM for collections.
Status Agent::StartBackground() {
  JNIEnv* jni = nullptr;
  if (java_vm_->GetEnv(reinterpret_cast<void**>(&jni), JNI_VERSION_10) != JNI_OK) {
    return Status::Error("no JNI in this thread");
  }
  const jclass type = jni->FindClass("java/lang/Thread");
  const jmethodID make = type == nullptr ? nullptr : jni->GetMethodID(type, "<init>", "(Ljava/lang/String;)V");
  const jstring name = make == nullptr ? nullptr : jni->NewStringUTF("AntTracks");
  const jobject thread = name == nullptr ? nullptr : jni->NewObject(type, make, name);
  if (thread == nullptr) {
    jni->ExceptionClear();
    return Status::Error("cannot make the agent's thread");
  }
  const auto run = [](jvmtiEnv*, JNIEnv*, void* agent) {
    Agent& self = *static_cast<Agent*>(agent);
    self.session_->background().Loop(*self.vm_);
  };
  if (env_->RunAgentThread(thread, run, this, JVMTI_THREAD_NORM_PRIORITY) != JVMTI_ERROR_NONE) {
    return Status::Error("JVMTI refuses the agent's thread");
  }
  return {};
}

Status Agent::BeginSampling() {
  JNIEnv* jni = nullptr;
  if (java_vm_->GetEnv(reinterpret_cast<void**>(&jni), JNI_VERSION_10) != JNI_OK) {
    return Status::Error("no JNI in this thread");
  }
  Status status =
      writer_->Start(SampleMetaJson(env_, options_.interval, options_.depth, option_text_.c_str()));
  if (!status.ok()) return status;
  sample_session_->Begin();
  state_ = State::kRunning;
  status = sampler_->Start(jni);
  if (status.ok()) {
    core::LogInfo("samples go to " + path_);
    return {};
  }
  sampler_->Stop();
  NeverBegan("the JVM refuses to be sampled");
  return status;
}

Status Agent::BeginLocked(trace::SyncReason reason) {
  if (samples_) return BeginSampling();
  // At load the heap did not exist yet: fetch its place and the number of GC workers.
  const Status found = FindVm();
  if (!found.ok()) return found;
  if (vm_->gc_workers == 0 || vm_->heap_end == 0) {
    return Status::Error(
        "the patched JVM does not tell where its heap is: build JDK and agent from the same sources "
        "(scripts/build)");
  }
  const Status started = writer_->Start(MetaJson(env_, *vm_, option_text_.c_str()));
  if (!started.ok()) return started;
  session_->Begin(reason);
  if (sink_->rotates()) {
    const Status background = StartBackground();
    if (!background.ok()) {
      NeverBegan("the agent's thread could not be started");
      return background;
    }
  }
  const AntTracksCallbacks callbacks = core::MakeCallbacks(session_.get());
  state_ = State::kRunning;
  const int32_t error = vm_->start(&callbacks);
  if (error == 0) {
    core::LogInfo("tracing to " + path_);
    return {};
  }
  NeverBegan(error == -1 ? "the JVM is being traced already" : "the JVM refuses to be traced");
  return Status::Error("tracing could not be started (" + std::to_string(error) + ")");
}

// The writer runs already.
void Agent::NeverBegan(std::string_view why) {
  state_ = State::kEnded;
  source_->failure().Fail(std::string(why));
  source_->Abandon("never started");
  (void)writer_->Wait(kEndWithoutProgress);
  ForgetFile();
}

void Agent::VmInit() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kLoaded) return;
    const Status status = BeginLocked(trace::SyncReason::kStart);
    if (status.ok()) return;
    core::LogError(status.message());
    if (state_ == State::kLoaded) ForgetFile();
    state_ = State::kEnded;
  } catch (...) {
    core::LogError("internal error: tracing could not be started");
    state_ = State::kEnded;
  }
}

void Agent::VmDeath() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kRunning) EndLocked(true, "the JVM ended");
  } catch (...) {
    core::LogError("internal error: the trace could not be completed");
  }
}

// Asked for by the user: jcmd PID JVMTI.data_dump, or SIGQUIT.
void Agent::DataDump() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kRunning) WriteStats(source_->failure().failed() ? "failed" : "running");
  } catch (...) {
    core::LogError("internal error: the counters could not be written");
  }
}

void Agent::Unload() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kRunning) EndLocked(false, "the agent was unloaded");
    if (state_ == State::kLoaded) {
      ForgetFile();
      state_ = State::kEnded;
    }
  } catch (...) {
    core::LogError("internal error: the trace could not be completed");
  }
}

void Agent::ProcessExit() noexcept {
  try {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    if (state_ == State::kLoaded) ForgetFile();
    if (state_ == State::kRunning) EndLocked(false, "the process exited without the end of the JVM");
    state_ = State::kEnded;
  } catch (...) {
    core::LogError("internal error: the trace could not be completed");
  }
}

void Agent::EndLocked(bool vm_is_alive, std::string_view reason) {
  state_ = State::kEnded;
  if (!vm_is_alive) {
    source_->Abandon(reason);
  } else if (samples_) {
    sampler_->Stop();
    source_->Finish(reason);
  } else {
    session_->StopSyncPoints();
    vm_->stop();
    session_->Finish(reason);
    session_->background().Stop();
  }
  const bool written = writer_->Wait(kEndWithoutProgress);
  WriteStats(!written || source_->failure().failed() ? "failed" : "ended");
  if (!written) {
    core::LogError("the end of the trace could not be written: no progress for 30 s on " + path_);
    return;
  }
  if (source_->queue().lost_segments() != 0) {
    core::LogWarn(
        "the trace " + path_ + " has losses: " + std::to_string(source_->queue().lost_segments()) +
        " segments were dropped because the file could not be written fast enough; give a larger queue=");
  }
  if (const uint64_t dropped = source_->output().dropped_bytes; dropped != 0) {
    core::LogWarn("the trace " + path_ + " has losses: " + std::to_string(dropped) +
                  " bytes of events were dropped because maxsize was reached; give a larger maxsize=");
  }
  if (!source_->failure().failed()) core::LogInfo("trace written: " + source_->CountersJson());
}

void Agent::ForgetFile() {
  if (sink_) sink_->Remove();
  if (stats_) stats_->Remove();
}

// Only what is async-signal-safe: another thread may have held any lock.
void Agent::ForkedChild() {
  Agent& agent = Get();
  if (agent.source_ != nullptr) agent.source_->failure().Deactivate();
  if (agent.sink_) agent.sink_->CloseInForkedChild();
  agent.state_ = State::kEnded;
}

}  // namespace anttracks::jvmti
