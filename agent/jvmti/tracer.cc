// SPDX-License-Identifier: Apache-2.0
#include "agent/jvmti/tracer.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

#include "agent/full/callbacks.h"
#include "agent/jvmti/meta.h"

namespace anttracks::jvmti {
namespace {

using trace::Status;

using GetVm = jvmtiError(JNICALL*)(jvmtiEnv*, jint, const AntTracksVM**);

void FreeExtension(jvmtiEnv* env, jvmtiExtensionFunctionInfo& info) {
  const auto free = [env](void* memory) { env->Deallocate(static_cast<unsigned char*>(memory)); };
  for (jint i = 0; i < info.param_count; i++) free(info.params[i].name);
  free(info.id);
  free(info.short_description);
  free(info.params);
  free(info.errors);
}

// nullptr: the JVM is not patched.
jvmtiExtensionFunction FindExtension(jvmtiEnv* env) {
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

// How much may be queued before threads wait; 0: as much as queue= says.
size_t WaitBytes(const core::Options& options) {
  if (options.max_bytes == 0) return 0;
  const io::RotationLimits limits{.max_bytes = options.max_bytes, .deviation = options.deviation};
  return std::clamp<size_t>(limits.backlog(), 4 * options.buffer_bytes, options.queue_bytes);
}

// With stacks=auto.
constexpr uint32_t kStackBytes = 512 << 10;
constexpr double kStackPercent = 0.5;

// How long whoever asks for a census waits for it; after that time it asks for another collection.
constexpr std::chrono::seconds kCensusWithin{60};
constexpr std::chrono::milliseconds kAskAgainAfter{500}, kPause{1};

core::SessionConfig ConfigOf(const core::Options& options) {
  if (options.mode == core::Mode::kCensus)
    return {.queue_bytes = options.queue_bytes, .when_full = options.when_full, .census = options.every};
  const bool automatic = options.stack_bytes == core::Options::kAutomatic;
  return {.buffer_bytes = options.buffer_bytes,
          .queue_bytes = options.queue_bytes,
          .wait_bytes = WaitBytes(options),
          .fuzz = options.fuzz,
          .when_full = options.when_full,
          .stretch_bytes = static_cast<uint32_t>(options.stretch_bytes),
          .stack_bytes = automatic ? kStackBytes : static_cast<uint32_t>(options.stack_bytes),
          .stack_percent = automatic ? kStackPercent : 0,
          .most_stacks = core::StackTable::MostFor(options.max_bytes),
          .budget_percent = options.budget_percent,
          .share = static_cast<uint32_t>(options.share * trace::kWholeShare),
          .walkers = std::thread::hardware_concurrency() > 1 ? options.walkers : 0,
          .keeps_provenance = options.keep_provenance};
}

}  // namespace

bool Tracer::IsPatched(jvmtiEnv* env) { return FindExtension(env) != nullptr; }

trace::Result<const AntTracksVM*> Tracer::FindVm(jvmtiEnv* env, core::Mode mode) {
  const auto function = reinterpret_cast<GetVm>(reinterpret_cast<void*>(FindExtension(env)));
  if (function == nullptr) {
    return Status::Error(
        "this JVM is not patched for AntTracks: run the patched JDK instead (jdk/bin/java of a package, "
        "build/jdk/bin/java after scripts/quickstart), or leave out mode=" +
        std::string(mode == core::Mode::kCensus ? "census" : "full") + " to take samples");
  }
  const AntTracksVM* vm = nullptr;
  const jvmtiError error = function(env, ANTTRACKS_ABI_VERSION, &vm);
  if (error != JVMTI_ERROR_NONE || vm == nullptr || vm->version != ANTTRACKS_ABI_VERSION ||
      vm->size < sizeof(AntTracksVM)) {
    return Status::Error(
        "the patched JVM and this agent have different versions of their interface: build both from the same "
        "sources (scripts/build)");
  }
  if (vm->unsupported != nullptr) {
    return Status::Error("this JVM cannot be traced as it is set up: " + std::string(vm->unsupported) +
                         "; mode=sample works as it is");
  }
  return vm;
}

Tracer::Tracer(jvmtiEnv* env, const AntTracksVM& vm, const core::Options& options)
    : env_(env),
      vm_(vm),
      mode_(options.mode),
      rotates_(options.max_bytes != 0),
      session_(vm, ConfigOf(options)) {}

Status Tracer::Begin(JNIEnv* jni, trace::SyncReason reason, io::Writer& writer, const std::string& options,
                     const std::atomic<bool>& cancelled) {
  // At load the heap did not exist yet: fetch its place and the number of GC workers.
  const auto vm = FindVm(env_, mode_);
  if (!vm.ok()) return vm.status();
  if (vm_.gc_workers == 0 || vm_.heap_end == 0) {
    return Status::Error(
        "the patched JVM does not report where its heap is: build JDK and agent from the same sources "
        "(scripts/build)");
  }
  const bool census = session_.census() != nullptr;
  Status status = writer.Start(MetaJson(env_, vm_, census, options.c_str()));
  if (!status.ok()) return status;
  session_.Begin(reason);
  const bool attached = reason == trace::SyncReason::kAttach;
  if (rotates_ || attached || census) status = StartBackground(jni);
  if (status.ok()) status = StartVm();
  if (status.ok() && attached && census) RequestCensus();
  if (status.ok() && attached) AwaitFirst(cancelled);
  if (!status.ok()) session_.background().Stop();
  return status;
}

// A large heap is listed beside the program. Whoever asked for the trace hears of it when that is done, or soon
// after.
void Tracer::AwaitFirst(const std::atomic<bool>& cancelled) {
  const auto until = std::chrono::steady_clock::now() + 3 * core::limits::kFirstSyncPoint;
  while (!cancelled && std::chrono::steady_clock::now() < until) {
    if (session_.sync_points().WaitForFirst(kPause)) return;
  }
}

// A census of what was there before.
void Tracer::RequestCensus() {
  session_.census()->Want();
  session_.RequestCollection();
}

Status Tracer::StartVm() {
  const AntTracksCallbacks callbacks = core::MakeCallbacks(&session_);
  const int32_t error = vm_.start(&callbacks);
  if (error == 0) return {};
  if (error == -1) return Status::Error("this JVM is being traced already, by another copy of the agent");
  return Status::Error("tracing could not be started (" + std::to_string(error) + ")");
}

// The thread that reads the old space of sync points and asks the VM for collections.
Status Tracer::StartBackground(JNIEnv* jni) {
  if (jni->PushLocalFrame(8) != JNI_OK) return Status::Error("not enough memory for the agent's thread");
  const jclass type = jni->FindClass("java/lang/Thread");
  const jmethodID make = type == nullptr ? nullptr : jni->GetMethodID(type, "<init>", "(Ljava/lang/String;)V");
  const jstring name = make == nullptr ? nullptr : jni->NewStringUTF("AntTracks");
  const jobject thread = name == nullptr ? nullptr : jni->NewObject(type, make, name);
  background_ = thread == nullptr ? nullptr : jni->NewGlobalRef(thread);
  jni->ExceptionClear();
  jni->PopLocalFrame(nullptr);
  if (background_ == nullptr) return Status::Error("cannot create the agent's thread");
  const auto run = [](jvmtiEnv*, JNIEnv*, void* tracer) {
    Tracer& self = *static_cast<Tracer*>(tracer);
    self.session_.background().Loop(self.vm_);
  };
  if (env_->RunAgentThread(background_, run, this, JVMTI_THREAD_NORM_PRIORITY) == JVMTI_ERROR_NONE) return {};
  Release(jni);
  return Status::Error("the JVM refuses the agent's thread");
}

void Tracer::End(JNIEnv*, std::string_view reason) {
  session_.PrepareStop();
  vm_.stop();
  session_.Finish(reason);
  session_.background().Stop();
}

bool Tracer::Idle() const {
  if (background_ == nullptr) return true;
  jint state = 0;
  return env_->GetThreadState(background_, &state) == JVMTI_ERROR_NONE &&
         (state & JVMTI_THREAD_STATE_ALIVE) == 0;
}

void Tracer::Release(JNIEnv* jni) {
  if (background_ != nullptr) jni->DeleteGlobalRef(background_);
  background_ = nullptr;
}

Status Tracer::TakeCensus(const std::atomic<bool>& cancelled) {
  if (session_.census() == nullptr) return Source::TakeCensus(cancelled);
  std::optional<uint64_t> completed;  // before the one that is wanted: it is to begin after this call
  const auto until = std::chrono::steady_clock::now() + kCensusWithin;
  auto ask = std::chrono::steady_clock::now();
  while (!completed || session_.sync_points().completed() == *completed) {
    const auto now = std::chrono::steady_clock::now();
    if (session_.failure().failed())
      return Status::Error("tracing has stopped: " + session_.failure().reason());
    if (cancelled) return Status::Error("the JVM is ending");
    if (now > until) return Status::Error("no census within 60 s; one follows the program's next collection");
    if (now >= ask && !session_.background().busy()) {
      if (!completed) completed = session_.sync_points().completed();
      RequestCensus();
      ask = now + kAskAgainAfter;
    }
    std::this_thread::sleep_for(kPause);
  }
  return {};
}

void Tracer::Describe(nlohmann::ordered_json* json) const {
  const core::Census* const census = session_.census();
  (*json)["mode"] = census != nullptr ? "census" : "full";
  if (census != nullptr) (*json)["every_s"] = census->every().count();
}

Status Tracer::Set(const core::Change& change) {
  if (session_.census() != nullptr) {
    if (!change.every) return Status::Error("of censuses only every= can be changed, such as every=1m");
    session_.census()->SetEvery(*change.every);
    return {};
  }
  if (change.every) return Status::Error("this trace has no censuses; give it a budget, such as budget=3%");
  if (!change.budget_percent) {
    return Status::Error("a trace of every object has no interval; give it a budget, such as budget=3%");
  }
  if (session_.cost().SetBudget(*change.budget_percent)) return {};
  return Status::Error("not enough memory for a budget");
}

}  // namespace anttracks::jvmti
