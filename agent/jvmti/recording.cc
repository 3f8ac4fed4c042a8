// SPDX-License-Identifier: Apache-2.0
#include "agent/jvmti/recording.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include "agent/core/callbacks.h"
#include "agent/core/log.h"
#include "agent/io/rotation/rotating_trace.h"
#include "agent/io/trace_file.h"
#include "agent/jvmti/meta.h"
#include "trace/file_writer.h"

namespace anttracks::jvmti {
namespace {

using std::chrono::milliseconds;
using trace::Status;

constexpr milliseconds kPause{1};
// A collection that was asked for and made no file begin is asked for again; until that is given up.
constexpr milliseconds kAskAgainAfter{500};
constexpr std::chrono::seconds kRotateWithin{10};

using GetVm = jvmtiError(JNICALL*)(jvmtiEnv*, jint, const AntTracksVM**);

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

// Of this thread; nullptr: the VM does not know it.
JNIEnv* Jni(JavaVM* vm) {
  JNIEnv* jni = nullptr;
  return vm->GetEnv(reinterpret_cast<void**>(&jni), JNI_VERSION_10) == JNI_OK ? jni : nullptr;
}

// Waits until done() or for that long; whether it is done.
template <class Done>
bool Await(milliseconds wait, Done&& done) {
  const auto until = std::chrono::steady_clock::now() + wait;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace

trace::Result<std::unique_ptr<Recording>> Recording::Create(JavaVM* vm, RecordingPlan plan,
                                                            const jvmtiEventCallbacks& callbacks) {
  std::unique_ptr<Recording> made(new Recording(vm, std::move(plan)));
  const Status status = made->Prepare(callbacks);
  if (status.ok()) return made;
  made->Forget();
  return status;
}

Recording::~Recording() {
  writer_.reset();
  if (env_ == nullptr) return;
  JNIEnv* const jni = Jni(java_vm_);
  if (background_ != nullptr && jni != nullptr) jni->DeleteGlobalRef(background_);
  if (sampler_ && jni != nullptr) sampler_->Release(jni);
  env_->DisposeEnvironment();
}

Status Recording::Prepare(const jvmtiEventCallbacks& callbacks) {
  if (java_vm_->GetEnv(reinterpret_cast<void**>(&env_), JVMTI_VERSION_11) != JNI_OK) {
    env_ = nullptr;
    return Status::Error("this JVM has no JVMTI 11, or it is about to end");
  }
  Status status = ChooseMode();
  if (status.ok()) status = OpenFile();
  if (!status.ok()) return status;
  if (!plan_.stats.empty()) {
    auto stats = io::StatsFile::Create(plan_.stats, options().overwrite);
    if (!stats.ok()) return stats.status();
    stats_ = std::move(*stats);
  }
  MakeSession();
  const io::WriterConfig config{.compression = options().compression,
                                .threshold = options().threshold,
                                .compressors = options().compressors};
  writer_ = rotating_ != nullptr ? std::make_unique<io::Writer>(*session_, *rotating_, config)
                                 : std::make_unique<io::Writer>(*source_, *sink_, config);
  return Subscribe(callbacks);
}

void Recording::MakeSession() {
  if (samples_) {
    sample_session_ = std::make_unique<core::SampleSession>(
        core::SampleConfig{.queue_bytes = options().queue_bytes, .when_full = options().when_full});
    sampler_ = std::make_unique<Sampler>(env_, *sample_session_, SamplerConfig());
    source_ = sample_session_.get();
    return;
  }
  session_ = std::make_unique<core::Session>(
      *vm_, core::SessionConfig{.buffer_bytes = options().buffer_bytes,
                                 .queue_bytes = options().queue_bytes,
                                 .wait_bytes = WaitBytes(),
                                 .fuzz = options().fuzz,
                                 .when_full = options().when_full,
                                 .stretch_bytes = options().stretch_bytes,
                                 .budget_percent = options().budget_percent,
                                 .share = static_cast<uint32_t>(options().share * trace::kWholeShare),
                                 .readers = std::thread::hardware_concurrency() > 1 ? options().readers : 0});
  source_ = session_.get();
}

size_t Recording::WaitBytes() const {
  if (options().max_bytes == 0) return 0;
  const io::RotationLimits limits{.max_bytes = options().max_bytes, .deviation = options().deviation};
  return std::clamp<size_t>(limits.backlog(), 4 * options().buffer_bytes, options().queue_bytes);
}

jvmtiExtensionFunction Recording::FindExtension(jvmtiEnv* env) {
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

Sampler::Config Recording::SamplerConfig() const {
  return {.interval = options().interval, .depth = options().depth};
}

Status Recording::ChooseMode() {
  fallback_ = options().mode == core::Mode::kAuto && FindExtension(env_) == nullptr;
  samples_ = fallback_ || options().mode == core::Mode::kSample;
  if (!samples_) return FindVm();
  // Of the options that are ignored: one file, and nothing to keep.
  plan_.options.max_bytes = 0;
  plan_.options.keep = false;
  return Sampler::Prepare(env_, SamplerConfig());
}

std::string Recording::FallbackNote() const {
  if (!fallback_) return "";
  const uint64_t interval = options().interval;
  std::string text = "this JVM is not patched for AntTracks: samples (";
  text += interval == 0 ? "every object that JVM TI reports" : "one in " + std::to_string(interval) + " bytes";
  text +=
      ") instead of every object, so estimates instead of exact numbers, and no addresses or moves; for all of that run "
      "build/jdk/bin/java, which scripts/quickstart builds (mode=full insists on that, mode=sample is silent)";
  std::string ignored;
  for (const std::string& name : options().full_only) ignored += (ignored.empty() ? "; ignored: " : ", ") + name;
  return text + ignored;
}

Status Recording::FindVm() {
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

Status Recording::OpenFile() {
  trace::FileHeader header;
  header.wall_clock_ns = core::Clock::Wall();
  header.trace_id = RandomId();
  header.process_id = static_cast<uint64_t>(getpid());
  if (options().max_bytes != 0) {
    const auto program = FoldProgram();
    if (!program.ok()) return program.status();
    auto rotating = io::RotatingTrace::Create(
        plan_.file, options().overwrite, header,
        {.max_bytes = options().max_bytes, .deviation = options().deviation, .fold_program = *program});
    if (!rotating.ok()) return rotating.status();
    rotating_ = rotating->get();
    sink_ = std::move(*rotating);
    return {};
  }
  auto file = io::TraceFile::Create(plan_.file, options().overwrite);
  if (!file.ok()) return file.status();
  sink_ = std::move(*file);
  return sink_->Write(trace::EncodeFileHeader(header));
}

// The analyzer is built beside the agent.
trace::Result<std::string> Recording::FoldProgram() const {
  if (!options().keep) return std::string();
  Dl_info info{};
  static const char here = 0;
  if (dladdr(&here, &info) == 0 || info.dli_fname == nullptr) {
    return Status::Error("keep=yes: the system does not tell where the agent's library is");
  }
  const std::string library = core::AbsolutePath(info.dli_fname);
  const size_t slash = library.rfind('/');
  const std::string program = (slash == std::string::npos ? "./" : library.substr(0, slash + 1)) + "anttracks";
  if (access(program.c_str(), X_OK) == 0) return program;
  return Status::Error("keep=yes needs the program anttracks beside the agent, but there is no " + program +
                       "; copy or link it there");
}

Status Recording::Subscribe(jvmtiEventCallbacks callbacks) {
  if (samples_) Sampler::SetCallbacks(&callbacks);
  jvmtiError error = env_->SetEventCallbacks(&callbacks, sizeof callbacks);
  for (const jvmtiEvent event : {JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_DATA_DUMP_REQUEST}) {
    if (error == JVMTI_ERROR_NONE) error = env_->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr);
  }
  if (error != JVMTI_ERROR_NONE) return Status::Error("JVMTI refuses the agent's events");
  return {};
}

// The thread that reads the old space of sync points and asks the VM for collections.
Status Recording::StartBackground(JNIEnv* jni) {
  if (jni->PushLocalFrame(8) != JNI_OK) return Status::Error("no memory for the agent's thread");
  const jclass type = jni->FindClass("java/lang/Thread");
  const jmethodID make = type == nullptr ? nullptr : jni->GetMethodID(type, "<init>", "(Ljava/lang/String;)V");
  const jstring name = make == nullptr ? nullptr : jni->NewStringUTF("AntTracks");
  const jobject thread = name == nullptr ? nullptr : jni->NewObject(type, make, name);
  background_ = thread == nullptr ? nullptr : jni->NewGlobalRef(thread);
  jni->ExceptionClear();
  jni->PopLocalFrame(nullptr);
  if (background_ == nullptr) return Status::Error("cannot make the agent's thread");
  const auto run = [](jvmtiEnv*, JNIEnv*, void* recording) {
    Recording& self = *static_cast<Recording*>(recording);
    self.session_->background().Loop(*self.vm_);
  };
  if (env_->RunAgentThread(background_, run, this, JVMTI_THREAD_NORM_PRIORITY) == JVMTI_ERROR_NONE) return {};
  jni->DeleteGlobalRef(background_);
  background_ = nullptr;
  return Status::Error("JVMTI refuses the agent's thread");
}

Status Recording::Begin(trace::SyncReason reason) { return samples_ ? BeginSampling() : BeginTracing(reason); }

Status Recording::BeginSampling() {
  JNIEnv* const jni = Jni(java_vm_);
  Status status = jni == nullptr ? Status::Error("no JNI in this thread") : Status();
  if (status.ok()) {
    status = writer_->Start(SampleMetaJson(env_, options().interval, options().depth, plan_.text.c_str()));
  }
  if (status.ok()) {
    sample_session_->Begin();
    status = sampler_->Start(jni);
    if (status.ok()) return {};
    sampler_->Stop(jni);
  }
  NeverBegan("the JVM refuses to be sampled");
  return status;
}

Status Recording::BeginTracing(trace::SyncReason reason) {
  JNIEnv* const jni = Jni(java_vm_);
  Status status = jni == nullptr ? Status::Error("no JNI in this thread") : Status();
  // At load the heap did not exist yet: fetch its place and the number of GC workers.
  if (status.ok()) status = FindVm();
  if (status.ok() && (vm_->gc_workers == 0 || vm_->heap_end == 0)) {
    status = Status::Error(
        "the patched JVM does not tell where its heap is: build JDK and agent from the same sources "
        "(scripts/build)");
  }
  if (status.ok() && rotating_ != nullptr) rotating_->HeapKnown(vm_->heap_end - vm_->heap_start);
  if (status.ok()) status = writer_->Start(MetaJson(env_, *vm_, plan_.text.c_str()));
  if (status.ok()) {
    session_->Begin(reason);
    if (rotating_ != nullptr) status = StartBackground(jni);
  }
  if (status.ok()) {
    const AntTracksCallbacks callbacks = core::MakeCallbacks(session_.get());
    const int32_t error = vm_->start(&callbacks);
    if (error == 0) return {};
    status = error == -1 ? Status::Error("this JVM is being traced already, by another copy of the agent")
                         : Status::Error("tracing could not be started (" + std::to_string(error) + ")");
  }
  NeverBegan(status.message());
  return status;
}

// The writer may run already.
void Recording::NeverBegan(std::string_view why) {
  source_->failure().Deactivate();
  source_->Abandon(why);
  if (session_) session_->background().Stop();
  const bool ended = writer_->Wait(core::limits::kEndWithoutProgress, core::limits::kEnd);
  ended_ns_ = source_->clock().Now();
  if (ended) Forget();  // else the writer still has the files, and their disk hangs
}

Status Recording::End(bool vm_is_alive, std::string_view reason, milliseconds within, std::vector<std::string>* notes) {
  if (!vm_is_alive) {
    source_->Abandon(reason);
  } else if (samples_) {
    sampler_->Stop(Jni(java_vm_));
    source_->Finish(reason);
  } else {
    session_->PrepareStop();
    vm_->stop();
    session_->Finish(reason);
    session_->background().Stop();
  }
  ended_ns_ = source_->clock().Now();
  const milliseconds for_trace = stats_ ? within - core::limits::kStats : within;
  const bool written = writer_->Wait(core::limits::kEndWithoutProgress, for_trace);
  WriteStats(!written || failed() ? "failed" : "ended");
  if (!written) {
    return Status::Error("the end of the trace could not be written, as the disk does not keep up (no progress for 30 s, or "
                         "60 s in all): " + plan_.file);
  }
  AddLosses(notes);
  return {};
}

void Recording::HoldCollections() {
  source_->exit_gate().ProcessExits({});
}

void Recording::AddLosses(std::vector<std::string>* notes) const {
  if (source_->queue().lost_segments() != 0) {
    notes->push_back("the trace " + plan_.file + " has losses: " + std::to_string(source_->queue().lost_segments()) +
                     " segments were dropped because the file could not be written fast enough; give a larger queue=");
  }
  if (const uint64_t dropped = source_->output().dropped_bytes; dropped != 0) {
    notes->push_back("the trace " + plan_.file + " has losses: " + std::to_string(dropped) +
                     " bytes of events were dropped because maxsize was reached; give a larger maxsize=");
  }
}

bool Recording::BackgroundIsGone() {
  if (background_ == nullptr) return true;
  jint state = 0;
  return env_->GetThreadState(background_, &state) == JVMTI_ERROR_NONE && (state & JVMTI_THREAD_STATE_ALIVE) == 0;
}

bool Recording::Settle(milliseconds wait) {
  return Await(wait, [this] { return !sampler_ || sampler_->Idle(); }) &&
         Await(wait, [this] { return BackgroundIsGone(); }) && writer_->Wait(wait);
}

Status Recording::Rotate(const std::atomic<bool>& cancelled) {
  if (rotating_ == nullptr) {
    return Status::Error("the trace " + plan_.file +
                         " is one file without bound, so there is nothing to rotate; begin it with maxsize=");
  }
  const uint64_t files = source_->output().files;
  const auto done = [&] { return source_->output().files != files || failed() || cancelled; };
  for (auto waited = milliseconds(0); waited < kRotateWithin; waited += kAskAgainAfter) {
    session_->WantSyncPoint();
    session_->RequestCollection();
    if (Await(kAskAgainAfter, done)) break;
  }
  if (failed()) return Status::Error("tracing has stopped: " + source_->failure().reason());
  if (source_->output().files != files) return {};
  if (cancelled) return Status::Error("the JVM is ending");
  return Status::Error("no collection began the next file within 10 s; the next one that the program needs will");
}

Status Recording::Set(const std::string& change) {
  const auto parsed = core::ParseChange(change);
  if (!parsed.ok()) return parsed.status();
  if (sampler_) {
    if (parsed->interval) return sampler_->SetInterval(*parsed->interval);
    return Status::Error("a trace of samples has no budget; change its interval, such as interval=64K");
  }
  if (!parsed->budget_percent) return Status::Error("a trace of every object has no interval; give it a budget, such as budget=3%");
  if (session_->SetBudget(*parsed->budget_percent)) return {};
  return Status::Error("there is no memory for a budget");
}

nlohmann::ordered_json Recording::Counters(std::string_view state) const {
  nlohmann::ordered_json json;
  json["trace"] = plan_.file;
  json["state"] = state;
  json["duration_ns"] = source_->clock().Now();
  json["counters"] = nlohmann::ordered_json::parse(source_->CountersJson());
  return json;
}

void Recording::WriteStats(std::string_view state) noexcept {
  if (!stats_) return;
  try {
    std::string text = Counters(state).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    const Status status =
        aside_.Run("cannot write the counters to " + plan_.stats,
                   [stats = stats_, text = std::move(text)] { return stats->Write(text); }, core::limits::kStats);
    if (!status.ok()) core::LogWarn(status.message());
  } catch (const std::exception& e) {
    core::LogWarn(e.what());
  }
}

nlohmann::ordered_json Recording::Describe() const {
  nlohmann::ordered_json json;
  json["file"] = std::filesystem::path(plan_.file).lexically_normal().string();
  json["mode"] = samples_ ? "sample" : "full";
  if (sampler_) json["interval"] = sampler_->interval();
  json["rotates"] = rotating_ != nullptr;
  json["options"] = plan_.text;
  json["duration_ns"] = ended_ns_ != 0 ? ended_ns_ : source_->clock().Now();
  json["failure"] = source_->failure().reason();
  json["counters"] = nlohmann::ordered_json::parse(source_->CountersJson());
  return json;
}

void Recording::Forget() {
  if (sink_) sink_->Remove();
  if (stats_) stats_->Remove();
}

void Recording::ForkedChild() {
  if (source_ != nullptr) source_->failure().Deactivate();
  if (sink_) sink_->CloseInForkedChild();
}

}  // namespace anttracks::jvmti
