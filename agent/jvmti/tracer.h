// SPDX-License-Identifier: Apache-2.0
// Traces every object, or makes censuses, through the interface of the patched JVM (vmpatch/abi). For a trace
// that rotates, one that began with an attach, and for censuses it starts a Java thread, which reads the heap
// and asks for collections (full/background.h).
//
// Thread safety: one thread at a time; session.h says what the JVM's threads do.
#pragma once

#include "agent/full/session.h"
#include "agent/jvmti/source.h"
#include "vmpatch/abi/anttracks_abi.h"

namespace anttracks::jvmti {

class Tracer final : public Source {
 public:
  static bool IsPatched(jvmtiEnv* env);
  // Error: this JVM is not patched, or cannot be traced. mode: what was asked for.
  static trace::Result<const AntTracksVM*> FindVm(jvmtiEnv* env, core::Mode mode);

  Tracer(jvmtiEnv* env, const AntTracksVM& vm, const core::Options& options);

  core::EventSource& events() override { return session_; }
  core::SyncPointSource* rotating() override { return rotates_ ? &session_ : nullptr; }
  trace::Status Begin(JNIEnv* jni, trace::SyncReason reason, io::Writer& writer, const std::string& options,
                      const std::atomic<bool>& cancelled) override;
  void End(JNIEnv* jni, std::string_view reason) override;
  bool Idle() const override;
  void Release(JNIEnv* jni) override;
  trace::Status Set(const core::Change& change) override;
  trace::Status TakeCensus(const std::atomic<bool>& cancelled) override;
  void Describe(nlohmann::ordered_json* json) const override;

 private:
  trace::Status StartBackground(JNIEnv* jni);
  trace::Status StartVm();
  void RequestCensus();
  void AwaitFirst(const std::atomic<bool>& cancelled);

  jvmtiEnv* const env_;
  const AntTracksVM& vm_;
  const core::Mode mode_;
  const bool rotates_;
  core::Session session_;
  jobject background_ = nullptr;  // global reference of the agent's Java thread
};

}  // namespace anttracks::jvmti
