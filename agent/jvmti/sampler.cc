// SPDX-License-Identifier: Apache-2.0
#include "agent/jvmti/sampler.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>

#include "agent/jvmti/meta.h"

namespace anttracks::jvmti {
namespace {

using core::SampleFrame;
using trace::Status;

// How long the end waits for a thread that looks which samples live.
constexpr std::chrono::milliseconds kStopWithin{1000};

std::atomic<Sampler*> current{nullptr};
// Threads that may have a sampler from current. Counted before it is read and after they are done with it, so
// that a sampler that is current no more has nobody in it once this was 0. Sequentially consistent, as current
// is.
std::atomic<unsigned> inside{0};

// What the agent does in an event may allocate, too.
thread_local bool in_event = false;

class InEvent {
 public:
  InEvent() { in_event = true; }
  ~InEvent() { in_event = false; }
  InEvent(const InEvent&) = delete;
};

// Memory of JVM TI's.
template <class T>
class Owned {
 public:
  explicit Owned(jvmtiEnv* env) : env_(env) {}
  ~Owned() { env_->Deallocate(reinterpret_cast<unsigned char*>(value_)); }
  Owned(const Owned&) = delete;
  T** out() { return &value_; }
  T* get() const { return value_; }

 private:
  jvmtiEnv* const env_;
  T* value_ = nullptr;
};

std::string_view Text(const Owned<char>& text) {
  return text.get() == nullptr ? std::string_view() : std::string_view(text.get());
}

// Calls with the sampler, if there is one; nothing escapes.
template <class Call>
void WithSampler(Call&& call) noexcept {
  inside.fetch_add(1);
  Sampler* const sampler = current.load();
  if (sampler != nullptr) {
    try {
      call(*sampler);
    } catch (const std::exception& e) {
      sampler->session().failure().Fail(e.what());
    } catch (...) {
      sampler->session().failure().Fail("internal error: unknown exception");
    }
  }
  inside.fetch_sub(1);
}

// While it samples.
template <class Call>
void Guarded(Call&& call) noexcept {
  WithSampler([&](Sampler& s) {
    if (s.session().failure().active()) call(s);
  });
}

void JNICALL OnSample(jvmtiEnv*, JNIEnv* jni, jthread thread, jobject object, jclass type, jlong bytes) {
  if (in_event) return;
  const InEvent guard;
  Guarded([&](Sampler& s) { s.Sample(jni, thread, object, type, bytes); });
}
void JNICALL OnThreadStart(jvmtiEnv*, JNIEnv* jni, jthread thread) {
  Guarded([&](Sampler& s) { s.ThreadBegins(jni, thread); });
}
void JNICALL OnCollectionStart(jvmtiEnv*) {
  WithSampler([](Sampler& s) { s.session().exit_gate().CollectionBegins(); });
  Guarded([](Sampler& s) { s.session().CollectionBegin(); });
}
void JNICALL OnCollectionFinish(jvmtiEnv*) {
  Guarded([](Sampler& s) { s.CollectionEnd(); });
  WithSampler([](Sampler& s) { s.session().exit_gate().CollectionEnds(); });
}

Status TellInterval(jvmtiEnv* env, uint64_t bytes) {
  const jvmtiError error = env->SetHeapSamplingInterval(static_cast<jint>(bytes));
  if (error == JVMTI_ERROR_NONE) return {};
  return Status::Error("the JVM refuses interval=" + std::to_string(bytes) + " (JVM TI error " +
                       std::to_string(error) + ")");
}

}  // namespace

Status Sampler::Prepare(jvmtiEnv* env, const core::Options& options) {
  jvmtiCapabilities wanted{};
  wanted.can_generate_sampled_object_alloc_events = 1;
  wanted.can_generate_garbage_collection_events = 1;
  wanted.can_get_line_numbers = 1;
  wanted.can_get_source_file_name = 1;
  jvmtiError error = env->AddCapabilities(&wanted);
  if (error != JVMTI_ERROR_NONE) {
    return Status::Error("this JVM does not let the agent sample allocations (JVM TI error " +
                         std::to_string(error) +
                         "): JDK 11 or newer is needed, and only one agent at a time may sample");
  }
  return TellInterval(env, options.interval);
}

void Sampler::SetCallbacks(jvmtiEventCallbacks* callbacks) {
  callbacks->SampledObjectAlloc = OnSample;
  callbacks->ThreadStart = OnThreadStart;
  callbacks->GarbageCollectionStart = OnCollectionStart;
  callbacks->GarbageCollectionFinish = OnCollectionFinish;
}

Sampler::Sampler(jvmtiEnv* env, const core::Options& options)
    : env_(env),
      session_({.queue_bytes = options.queue_bytes, .when_full = options.when_full}),
      first_interval_(options.interval),
      depth_(options.depth),
      interval_(options.interval) {}

Status Sampler::Begin(JNIEnv* jni, trace::SyncReason, io::Writer& writer, const std::string& options,
                      const std::atomic<bool>&) {
  Status status = writer.Start(SampleMetaJson(env_, first_interval_, depth_, options.c_str()));
  if (!status.ok()) return status;
  session_.Begin();
  status = Start(jni);
  if (!status.ok()) Stop(jni);
  return status;
}

void Sampler::End(JNIEnv* jni, std::string_view reason) {
  Stop(jni);
  session_.Finish(reason);
}

Status Sampler::Set(const core::Change& change) {
  if (change.interval) return SetInterval(*change.interval);
  return Status::Error("a trace of samples has no budget; change its interval, such as interval=64K");
}

void Sampler::Describe(nlohmann::ordered_json* json) const {
  (*json)["mode"] = "sample";
  (*json)["interval"] = interval_.load();
}

Status Sampler::Enable(jvmtiEventMode mode) {
  // Collections first: deaths count them.
  for (const jvmtiEvent event : {JVMTI_EVENT_GARBAGE_COLLECTION_START, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
                                 JVMTI_EVENT_SAMPLED_OBJECT_ALLOC}) {
    const jvmtiError error = env_->SetEventNotificationMode(mode, event, nullptr);
    if (error != JVMTI_ERROR_NONE)
      return Status::Error("JVM TI refuses the agent's events (error " + std::to_string(error) + ")");
  }
  return {};
}

Status Sampler::Start(JNIEnv* jni) {
  const jclass type = jni->FindClass("java/lang/Thread");
  thread_id_ = type == nullptr ? nullptr : jni->GetFieldID(type, "tid", "J");
  if (thread_id_ == nullptr) jni->ExceptionClear();
  if (type != nullptr) jni->DeleteLocalRef(type);
  virtual_threads_.Begin(jni);
  current.store(this);
  return Enable(JVMTI_ENABLE);
}

// Threads that begin meanwhile are told apart first.
Status Sampler::SetInterval(uint64_t bytes) {
  const jvmtiError error = env_->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_THREAD_START, nullptr);
  if (error != JVMTI_ERROR_NONE)
    return Status::Error("JVM TI refuses the agent's events (error " + std::to_string(error) + ")");
  Status status = TellInterval(env_, bytes);
  if (status.ok()) interval_.store(bytes);
  return status;
}

void Sampler::Stop(JNIEnv* jni) noexcept {
  try {
    (void)env_->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_THREAD_START, nullptr);
    (void)Enable(JVMTI_DISABLE);
    if (jni != nullptr)
      living_.LookAtAll(kStopWithin, [&](const auto& watched) { return MarkIfDead(jni, watched); });
  } catch (...) {
    // The session closes all the same.
  }
  current.store(nullptr);
}

void Sampler::Release(JNIEnv* jni) {
  virtual_threads_.End(jni);
  for (const auto& watched : living_.TakeAll()) jni->DeleteWeakGlobalRef(static_cast<jweak>(watched.reference));
}

bool Sampler::Idle() const { return current.load() != this && inside.load() == 0; }

void Sampler::Sample(JNIEnv* jni, jthread thread, jobject object, jclass type, jlong bytes) {
  jvmtiFrameInfo frames[kMostFrames];
  jint count = 0;
  const jint depth = static_cast<jint>(std::min<size_t>(depth_, kMostFrames));
  // A thread without Java frames: the VM allocates for itself.
  if (env_->GetStackTrace(nullptr, 0, depth, frames, &count) != JVMTI_ERROR_NONE) count = 0;
  SampleFrame stack[kMostFrames];
  for (jint i = 0; i < count; i++)
    stack[i] = {reinterpret_cast<uint64_t>(frames[i].method), frames[i].location};
  const uint32_t site_class = SiteClass(jni, {stack, static_cast<size_t>(count)}, type);
  // The VM has one sampler for a carrier and all that runs on it.
  const bool carried = virtual_threads_.IsVirtual(jni, thread) || virtual_threads_.IsCarrier(jni, thread);
  const Known known = carried ? RecallCarrier() : Recall();
  Known next{known.id, interval_.load()};  // which the JVM has just drawn
  if (next.id == 0) next.id = carried ? DefineCarrier(jni) : DefineThread(jni, thread);
  if (next != known) carried ? RememberCarrier(next) : Remember(next);
  const uint64_t number = session_.Sample(known.interval, next.id, site_class, static_cast<uint64_t>(bytes));
  if (number != 0) Watch(jni, object, number);
  living_.Look(kLookAtOnce, [&](const auto& watched) { return MarkIfDead(jni, watched); });
}

// The event holds the object: it cannot die before this.
void Sampler::Watch(JNIEnv* jni, jobject object, uint64_t number) {
  const jweak reference = jni->NewWeakGlobalRef(object);
  if (reference != nullptr) {
    living_.Add({number, reference});
    return;
  }
  jni->ExceptionClear();  // no memory
  session_.Untracked();
}

bool Sampler::MarkIfDead(JNIEnv* jni, const core::WatchList::Watched& watched) {
  const auto reference = static_cast<jweak>(watched.reference);
  if (!jni->IsSameObject(reference, nullptr)) return false;
  session_.Died(watched.number);
  jni->DeleteWeakGlobalRef(reference);
  return true;
}

void Sampler::CollectionEnd() {
  session_.CollectionEnd();
  living_.CollectionEnded();
}

uint32_t Sampler::SiteClass(JNIEnv* jni, std::span<const SampleFrame> stack, jclass type) {
  Owned<char> signature(env_);
  (void)env_->GetClassSignature(type, signature.out(), nullptr);  // without it the class is <unknown>
  size_t unknown = 0;
  // Each round makes one frame known, unless others make the table forget.
  for (size_t round = 0; round < 4 * kMostFrames; round++) {
    const uint32_t site_class = session_.definitions().SiteClass(stack, Text(signature), &unknown);
    if (site_class != 0) return site_class;
    Describe(jni, stack[unknown]);
  }
  return session_.definitions().SiteClass({}, Text(signature), &unknown);
}

// The method is on the stack of this thread, so its class is not unloaded meanwhile.
void Sampler::Describe(JNIEnv* jni, const SampleFrame& frame) {
  const auto method = reinterpret_cast<jmethodID>(frame.method);
  Owned<char> name(env_), signature(env_), class_signature(env_), source(env_);
  jclass owner = nullptr;
  const bool known = env_->GetMethodName(method, name.out(), signature.out(), nullptr) == JVMTI_ERROR_NONE &&
                     env_->GetMethodDeclaringClass(method, &owner) == JVMTI_ERROR_NONE &&
                     env_->GetClassSignature(owner, class_signature.out(), nullptr) == JVMTI_ERROR_NONE;
  if (known) {
    (void)env_->GetSourceFileName(owner, source.out());  // not every class has one
    const core::SampleFrameText text{Text(class_signature), Text(name), Text(signature), Text(source),
                                     Line(frame)};
    session_.definitions().Define(frame, &text);
  } else {
    session_.definitions().Define(frame, nullptr);
  }
  if (owner != nullptr) jni->DeleteLocalRef(owner);
}

int64_t Sampler::Line(const SampleFrame& frame) {
  if (frame.bci < 0) return -1;
  Owned<jvmtiLineNumberEntry> table(env_);
  jint count = 0;
  const auto method = reinterpret_cast<jmethodID>(frame.method);
  if (env_->GetLineNumberTable(method, &count, table.out()) != JVMTI_ERROR_NONE) return -1;
  int64_t line = -1, start = -1;
  for (const jvmtiLineNumberEntry& entry : std::span(table.get(), static_cast<size_t>(count))) {
    if (entry.start_location > frame.bci || entry.start_location < start) continue;
    start = entry.start_location;
    line = entry.line_number;
  }
  return line;
}

// The id in the lower half, the interval and 1 in the upper one. A thread without either began before the first
// change.
Sampler::Known Sampler::Recall() {
  void* stored = nullptr;
  const jvmtiError error = env_->GetThreadLocalStorage(nullptr, &stored);
  if (error != JVMTI_ERROR_NONE || stored == nullptr) return {0, first_interval_};
  const auto value = reinterpret_cast<uintptr_t>(stored);
  return {static_cast<uint32_t>(value), (value >> 32) - 1};
}

void Sampler::Remember(const Known& known) {
  (void)env_->SetThreadLocalStorage(nullptr, reinterpret_cast<void*>((known.interval + 1) << 32 | known.id));
}

Sampler::Known Sampler::RecallCarrier() {
  const std::lock_guard lock(carriers_mutex_);
  const auto known = carriers_.find(gettid());
  return known == carriers_.end() ? Known{0, first_interval_} : known->second;
}

void Sampler::RememberCarrier(const Known& known) {
  const std::lock_guard lock(carriers_mutex_);
  carriers_.insert_or_assign(gettid(), known);
}

void Sampler::ThreadBegins(JNIEnv* jni, jthread thread) {
  if (Recall().id == 0) Remember({0, interval_.load()});
  // The system may have given its number to another one before.
  if (virtual_threads_.IsCarrier(jni, thread)) RememberCarrier({0, interval_.load()});
}

uint32_t Sampler::DefineThread(JNIEnv* jni, jthread thread, std::string_view what) {
  jvmtiThreadInfo info{};
  const bool known = env_->GetThreadInfo(thread, &info) == JVMTI_ERROR_NONE;
  const uint64_t java_id =
      thread_id_ == nullptr ? 0 : static_cast<uint64_t>(jni->GetLongField(thread, thread_id_));
  std::string name = known && info.name != nullptr ? info.name : "";
  name += what;
  const uint32_t id = session_.definitions().DefineThread(name, java_id, static_cast<uint64_t>(gettid()));
  env_->Deallocate(reinterpret_cast<unsigned char*>(info.name));
  for (const jobject reference : {info.thread_group, info.context_class_loader}) {
    if (reference != nullptr) jni->DeleteLocalRef(reference);
  }
  return id;
}

// As the patched VM names it.
uint32_t Sampler::DefineCarrier(JNIEnv* jni) {
  const jthread carrier = virtual_threads_.Carrier(jni);
  if (carrier == nullptr)
    return session_.definitions().DefineThread("(carries virtual threads)", 0, static_cast<uint64_t>(gettid()));
  const uint32_t id = DefineThread(jni, carrier, " (carries virtual threads)");
  jni->DeleteLocalRef(carrier);
  return id;
}

}  // namespace anttracks::jvmti
