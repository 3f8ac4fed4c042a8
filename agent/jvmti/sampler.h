// SPDX-License-Identifier: Apache-2.0
// Samples allocations by JVM TI (JEP 331), on any JVM that offers it: asks the VM about each sample, and hands what it
// says to the session.
//
// A sampled object is tagged with its number, and ObjectFree tells its death: the VM keeps the objects apart, no
// reference to them exists, and nobody has to look whether they still live (docs/decisions/0008-sampling.md).
//
// Thread safety: Prepare, Start and Stop from one thread at a time. The events come in threads that allocate, in the VM's
// service thread (ObjectFree) and in the VM thread within a pause (collections), where neither JNI nor JVM TI may be
// used. No lock of the agent is held while the VM is asked. One Sampler at a time samples; it may be destroyed when it is idle.
#pragma once

#include <jvmti.h>

#include <span>
#include <string>

#include "agent/core/sample_session.h"
#include "trace/status.h"

namespace anttracks::jvmti {

class Sampler {
 public:
  struct Config {
    uint64_t interval = 512 << 10;
    unsigned depth = 16;
  };

  Sampler(jvmtiEnv* env, core::SampleSession& session, const Config& config)
      : env_(env), session_(session), config_(config) {}
  Sampler(const Sampler&) = delete;

  // When the agent is loaded; threads that begin later have their first sample after this interval.
  static trace::Status Prepare(jvmtiEnv* env, const Config& config);
  static void SetCallbacks(jvmtiEventCallbacks* callbacks);

  // In the live phase. The session must have begun.
  trace::Status Start(JNIEnv* jni);
  // What died before is told meanwhile. A thread that is about to hand over a sample finds the session closed.
  void Stop() noexcept;
  // After Stop: no thread is in it any more, and none will be.
  bool Idle() const;

  // The event: an object was allocated by this thread.
  void Sample(JNIEnv* jni, jthread thread, jobject object, jclass type, jlong bytes);
  core::SampleSession& session() { return session_; }

 private:
  static constexpr size_t kMostFrames = 256;

  uint32_t ThreadId(JNIEnv* jni, jthread thread);
  uint32_t DefineThread(JNIEnv* jni, jthread thread);
  uint32_t Kind(JNIEnv* jni, std::span<const core::SampleFrame> stack, jclass type);
  void Describe(JNIEnv* jni, const core::SampleFrame& frame);
  int64_t Line(const core::SampleFrame& frame);
  trace::Status Enable(jvmtiEventMode mode);

  jvmtiEnv* const env_;
  core::SampleSession& session_;
  const Config config_;
  jfieldID thread_id_ = nullptr;  // Thread.tid
};

}  // namespace anttracks::jvmti
