// SPDX-License-Identifier: Apache-2.0
#include "agent/jvmti/recording.h"

#include <unistd.h>

#include <filesystem>
#include <new>
#include <random>
#include <thread>

#include "agent/base/log.h"
#include "agent/io/rotation/rotating_trace.h"
#include "agent/io/trace_file.h"
#include "agent/jvmti/sampler.h"
#include "agent/jvmti/tracer.h"
#include "trace/file_writer.h"

namespace anttracks::jvmti {
namespace {

using std::chrono::milliseconds;
using trace::Status;

constexpr milliseconds kPause{1};
// A collection that was requested and began no file is requested again; until that is given up.
constexpr milliseconds kAskAgainAfter{500};
constexpr std::chrono::seconds kRotateWithin{10};

uint64_t RandomId() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// The JNI environment of this thread; nullptr: the VM does not know the thread.
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

core::IfExists IfTaken(const core::Options& options) {
  return options.overwrite ? core::IfExists::kReplace : core::IfExists::kRefuse;
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
  if (source_ && jni != nullptr) source_->Release(jni);
  env_->DisposeEnvironment();
}

Status Recording::Prepare(const jvmtiEventCallbacks& callbacks) {
  if (java_vm_->GetEnv(reinterpret_cast<void**>(&env_), JVMTI_VERSION_11) != JNI_OK) {
    env_ = nullptr;
    return Status::Error("this JVM does not offer JVM TI 11, or it is about to end");
  }
  Status status = ChooseMode();
  if (status.ok()) status = OpenFile();
  if (!status.ok()) return status;
  if (!plan_.stats.empty()) {
    auto stats = io::StatsFile::Create(plan_.stats, IfTaken(options()));
    if (!stats.ok()) return stats.status();
    stats_ = std::move(*stats);
  }
  if (vm_ != nullptr) {
    source_ = std::make_unique<Tracer>(env_, *vm_, options());
  } else {
    source_ = std::make_unique<Sampler>(env_, options());
  }
  const io::WriterConfig config{.compression = options().compression,
                                .threshold = options().threshold,
                                .compressors = options().compressors};
  writer_ = rotating_ != nullptr ? std::make_unique<io::Writer>(*source_->rotating(), *rotating_, config)
                                 : std::make_unique<io::Writer>(source_->events(), *sink_, config);
  return Subscribe(callbacks);
}

Status Recording::ChooseMode() {
  fallback_ = options().mode == core::Mode::kAuto && !Tracer::IsPatched(env_);
  if (!fallback_ && options().mode != core::Mode::kSample) {
    const auto vm = Tracer::FindVm(env_, options().mode);
    if (!vm.ok()) return vm.status();
    vm_ = *vm;
    return {};
  }
  // These options are ignored: a trace of samples is one file, without provenance.
  plan_.options.max_bytes = 0;
  plan_.options.keep_provenance = false;
  return Sampler::Prepare(env_, options());
}

std::vector<std::string> Recording::StartNotes() const {
  std::vector<std::string> notes = options().notes;
  if (fallback_) notes.push_back(FallbackNote());
  return notes;
}

std::string Recording::FallbackNote() const {
  const uint64_t interval = options().interval;
  std::string text = "this JVM is not patched for AntTracks, so samples are taken (";
  text += interval == 0 ? "every object that JVM TI reports" : "one in " + std::to_string(interval) + " bytes";
  text +=
      ") instead of every object: estimates instead of exact numbers, no addresses, no moves; for a full trace "
      "run the patched JDK (jdk/bin/java of a package, build/jdk/bin/java after scripts/quickstart); mode=full "
      "refuses other JVMs, mode=sample omits this message";
  std::string ignored;
  for (const std::string& name : options().not_of_samples)
    ignored += (ignored.empty() ? "; ignored: " : ", ") + name;
  return text + ignored;
}

Status Recording::OpenFile() {
  trace::FileHeader header;
  header.wall_clock_ns = core::Clock::Wall();
  header.trace_id = RandomId();
  header.process_id = static_cast<uint64_t>(getpid());
  if (options().max_bytes != 0) {
    auto rotating = io::RotatingTrace::Create(plan_.file, IfTaken(options()), header,
                                              {.max_bytes = options().max_bytes,
                                               .deviation = options().deviation,
                                               .keep_provenance = options().keep_provenance});
    if (!rotating.ok()) return rotating.status();
    rotating_ = rotating->get();
    sink_ = std::move(*rotating);
    return {};
  }
  auto file = io::TraceFile::Create(plan_.file, IfTaken(options()));
  if (!file.ok()) return file.status();
  sink_ = std::move(*file);
  return sink_->Write(trace::EncodeFileHeader(header));
}

Status Recording::Subscribe(jvmtiEventCallbacks callbacks) {
  if (vm_ == nullptr) Sampler::SetCallbacks(&callbacks);
  jvmtiError error = env_->SetEventCallbacks(&callbacks, sizeof callbacks);
  for (const jvmtiEvent event : {JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_DATA_DUMP_REQUEST}) {
    if (error == JVMTI_ERROR_NONE) error = env_->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr);
  }
  if (error != JVMTI_ERROR_NONE) return Status::Error("the JVM refuses the agent's JVM TI events");
  return {};
}

Status Recording::Begin(trace::SyncReason reason, const std::atomic<bool>& cancelled) {
  JNIEnv* const jni = Jni(java_vm_);
  Status status = Status::Error("the JVM does not offer JNI to this thread");
  try {
    if (jni != nullptr) status = source_->Begin(jni, reason, *writer_, plan_.text, cancelled);
  } catch (const std::bad_alloc&) {
    status = Status::Error("not enough memory");
  }
  if (!status.ok()) NeverBegan(status.message());
  return status;
}

// The writer may run already.
void Recording::NeverBegan(std::string_view why) {
  core::EventSource& events = source_->events();
  events.failure().Deactivate();
  events.Abandon(why);
  const bool ended = writer_->Wait(core::limits::kEndWithoutProgress, core::limits::kEnd);
  ended_ns_ = events.clock().Now();
  if (ended) Forget();  // else the writer still has the files, and their disk hangs
}

Status Recording::End(VmState vm, std::string_view reason, milliseconds within,
                      std::vector<std::string>* notes) {
  // The end of the source may wait for the first sync point, and that for the disk.
  const auto until = std::chrono::steady_clock::now() + (stats_ ? within - core::limits::kStats : within);
  if (vm == VmState::kAlive) {
    source_->End(Jni(java_vm_), reason);
  } else {
    source_->events().Abandon(reason);
  }
  ended_ns_ = source_->events().clock().Now();
  const auto left = std::chrono::floor<milliseconds>(until - std::chrono::steady_clock::now());
  const bool written = writer_->Wait(core::limits::kEndWithoutProgress, left);
  WriteStats(!written || failed() ? "failed" : "ended");
  if (!written) {
    return Status::Error(
        "the end of the trace could not be written, because the disk did not keep up (no progress for 30 s, "
        "or 60 s in all): " +
        plan_.file);
  }
  ReportCounters(notes);
  return {};
}

void Recording::HoldCollections() { source_->events().exit_gate().ProcessExits({}); }

// What could be better is for those who ask for it.
void Recording::ReportCounters(std::vector<std::string>* notes) const {
  for (const std::string& line : source_->events().CounterLines(core::Severity::kLoss)) {
    notes->push_back("the trace " + plan_.file + " is incomplete: " + line);
  }
  for (const std::string& line : source_->events().CounterLines(core::Severity::kNotice)) core::LogInfo(line);
}

bool Recording::Settle(milliseconds wait) {
  return Await(wait, [this] { return source_->Idle(); }) && writer_->Wait(wait);
}

Status Recording::Rotate(const std::atomic<bool>& cancelled) {
  core::SyncPointSource* const events = source_->rotating();
  if (events == nullptr) {
    return Status::Error("the trace " + plan_.file +
                         " is one file without bound, so there is nothing to rotate; start it with maxsize=");
  }
  const uint64_t files = events->output().files;
  const auto done = [&] { return events->output().files != files || failed() || cancelled; };
  for (auto waited = milliseconds(0); waited < kRotateWithin; waited += kAskAgainAfter) {
    events->WantSyncPoint();
    events->RequestCollection();
    if (Await(kAskAgainAfter, done)) break;
  }
  if (failed()) return Status::Error("tracing has stopped: " + events->failure().reason());
  if (events->output().files != files) return {};
  if (cancelled) return Status::Error("the JVM is ending");
  return Status::Error("no collection began the next file within 10 s; the program's next collection will");
}

Status Recording::TakeCensus(const std::atomic<bool>& cancelled) { return source_->TakeCensus(cancelled); }

Status Recording::Set(const std::string& change) {
  const auto parsed = core::ParseChange(change);
  return parsed.ok() ? source_->Set(*parsed) : parsed.status();
}

nlohmann::ordered_json Recording::Counters(std::string_view state) const {
  nlohmann::ordered_json json;
  json["trace"] = plan_.file;
  json["state"] = state;
  json["duration_ns"] = source_->events().clock().Now();
  json["counters"] = nlohmann::ordered_json::parse(source_->events().CountersJson());
  return json;
}

void Recording::WriteStats(std::string_view state) noexcept {
  if (!stats_) return;
  try {
    std::string text = Counters(state).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    const Status status = aside_.Run(
        "cannot write the counters to " + plan_.stats,
        [stats = stats_, text = std::move(text)] { return stats->Write(text); }, core::limits::kStats);
    if (!status.ok()) core::LogWarn(status.message());
  } catch (const std::exception& e) {
    core::LogWarn(e.what());
  }
}

nlohmann::ordered_json Recording::Describe() const {
  nlohmann::ordered_json json;
  json["file"] = std::filesystem::path(plan_.file).lexically_normal().string();
  source_->Describe(&json);
  json["rotates"] = rotating_ != nullptr;
  json["options"] = plan_.text;
  core::EventSource& events = source_->events();
  json["duration_ns"] = ended_ns_ != 0 ? ended_ns_ : events.clock().Now();
  json["failure"] = events.failure().reason();
  json["counters"] = nlohmann::ordered_json::parse(events.CountersJson());
  return json;
}

void Recording::Forget() {
  if (sink_) sink_->Remove();
  if (stats_) stats_->Remove();
}

void Recording::ForkedChild() {
  if (source_) source_->events().failure().Deactivate();
  if (sink_) sink_->CloseInForkedChild();
}

}  // namespace anttracks::jvmti
